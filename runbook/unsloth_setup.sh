#!/usr/bin/env bash
# Makes the environment of plan B (runtime.backend: unsloth); without a GPU, one that can run its tests.
# Usage: runbook/unsloth_setup.sh [FOLDER]   (default .venv-unsloth; about 7 GB). Run it again after a change: what is done stays done.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-.venv-unsloth}
stamp=$folder/made-from
wanted=$(cat requirements-unsloth.txt pyproject.toml runbook/unsloth_cpu_shim.py | sha256sum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    echo "$folder is up to date"
    exit 0
fi

python=${VIRTUAL_ENV:-/none}/bin/python   # the pod's Python may be one that uv has brought
[ -x "$python" ] || python=python3.11
"${PYTHON:-$python}" -m venv "$folder"
pip=("$folder/bin/pip" --disable-pip-version-check)
"${pip[@]}" install --quiet -r requirements-unsloth.txt
"${pip[@]}" install --quiet --no-deps -e .
packages=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
if [ -e /dev/nvidiactl ]; then
    rm -f "$packages/unsloth_cpu_shim.pth"
else
    cp runbook/unsloth_cpu_shim.py "$packages/"
    echo "import unsloth_cpu_shim" > "$packages/unsloth_cpu_shim.pth"
    echo "no GPU: unsloth is set up to be tested, not to be used"
fi
echo "$wanted" > "$stamp"
