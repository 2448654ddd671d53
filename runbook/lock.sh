#!/usr/bin/env bash
# Remakes requirements.lock: the exact packages of the pod (Linux x86_64, CUDA, Python 3.11 and 3.12), resolved by uv from
# the pod and wandb extras of pyproject.toml. No index line enters the file. Usage: runbook/lock.sh [--check]
# --check resolves the file that is there for both Python versions and changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

UV=${UV:-uv}
command -v "$UV" >/dev/null || { echo "uv is not installed; pip install uv, or set UV to its path" >&2; exit 1; }
resolve=("$UV" pip compile --quiet --python-platform x86_64-manylinux_2_28 --no-header --no-annotate --no-emit-index-url)

if [ "${1:-}" = "--check" ]; then
    for version in 3.11 3.12; do
        "${resolve[@]}" --python-version "$version" requirements.lock -o /dev/null
        echo "requirements.lock resolves for Python $version"
    done
    exit 0
fi

new=$(mktemp)
trap 'rm -f "$new" "$new.limits"' EXIT
# vllm caps setuptools on Python 3.12 only; one file must serve both versions.
echo 'setuptools<81' > "$new.limits"
"${resolve[@]}" --python-version 3.11 --extra pod --extra wandb --constraint "$new.limits" pyproject.toml -o "$new"
{
    echo "# Made by runbook/lock.sh from the pod and wandb extras of pyproject.toml. Linux x86_64, CUDA 13, Python 3.11 and 3.12."
    echo "# made-from: $(python3 runbook/lock_digest.py)"
    grep -v -E '^(--|#|$)' "$new"
} > requirements.lock
echo "requirements.lock: $(grep -c == requirements.lock) packages"
"$0" --check
