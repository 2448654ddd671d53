#!/usr/bin/env bash
# Sets a rented GPU machine up for a run: uv, a virtual environment on the volume, the locked packages, and the variables that
# every shell needs. Run it again whenever you like: what is done stays done.
#
#   runbook/runpod_setup.sh            set up, then run doctor
#   FLASH_ATTN=0 runbook/runpod_setup.sh   without the attempt to install flash-attn
#
# VOLUME (default /workspace where it exists, else $HOME) is the disk that outlives the machine.
set -euo pipefail
cd "$(dirname "$0")/.."
repository=$PWD

if [ -z "${VOLUME:-}" ]; then
    if [ -d /workspace ]; then VOLUME=/workspace; else VOLUME=$HOME; fi
fi
root=$VOLUME/geo
environment=$root/environment.sh
python=${PYTHON_VERSION:-3.11}
say() { printf '== %s\n' "$*"; }

mkdir -p "$root/dagster_home" "$root/artifacts" "$root/huggingface"

if ! command -v uv >/dev/null; then
    say "installing uv"
    python3 -m pip install --quiet --user uv 2>/dev/null || python3 -m pip install --quiet --break-system-packages uv
    export PATH="$HOME/.local/bin:$PATH"
fi

if [ ! -x "$root/venv/bin/python" ]; then
    say "creating $root/venv with Python $python"
    uv venv --quiet --python "$python" "$root/venv"
fi
export VIRTUAL_ENV=$root/venv UV_CACHE_DIR=${UV_CACHE_DIR:-$root/uv-cache} UV_LINK_MODE=${UV_LINK_MODE:-hardlink}

say "installing the locked packages (nothing to do the second time)"
uv pip install --quiet -r requirements.lock
uv pip install --quiet --no-deps -e .

if [ "${FLASH_ATTN:-1}" = 1 ] && ! "$root/venv/bin/python" -c 'import flash_attn' 2>/dev/null; then
    say "trying flash-attn as a ready-made wheel; without it attention falls back to sdpa"
    uv pip install --quiet --no-deps --only-binary :all: flash-attn || say "no wheel of flash-attn fits: going on with sdpa"
fi

# Dagster keeps its history on the volume; paths in its configuration are relative to where it starts, so they are made absolute.
sed "s#base_dir: \.dagster#base_dir: $root/dagster_home#" dagster.yaml > "$root/dagster_home/dagster.yaml"

cat > "$environment" <<EOF
# Written by runbook/runpod_setup.sh. Every shell of a run starts with: source $environment
export VIRTUAL_ENV=$root/venv
export PATH=$root/venv/bin:\$HOME/.local/bin:\$PATH
export GEO_PROFILE=\${GEO_PROFILE:-pod}
export GEO_HOME=\${GEO_HOME:-$root/artifacts}
export DAGSTER_HOME=$root/dagster_home
export DAGSTER_MODULE_NAME=geo_assets.definitions
export DAGSTER_DISABLE_TELEMETRY=yes
export HF_HOME=$root/huggingface
# Processes that vLLM starts must not inherit a CUDA context.
export VLLM_WORKER_MULTIPROCESSING_METHOD=spawn
export VLLM_NO_USAGE_STATS=1
export TOKENIZERS_PARALLELISM=false
cd $repository
EOF
say "wrote $environment"

# shellcheck disable=SC1090
source "$environment"
say "versions"
python - <<'EOF'
from importlib.metadata import PackageNotFoundError, version

for package in ("geo_assets", "torch", "transformers", "trl", "peft", "vllm", "flash_attn", "dagster"):
    try:
        print(f"{package:<14}{version(package)}")
    except PackageNotFoundError:
        print(f"{package:<14}not installed")
EOF
say "doctor"
python -m geo_assets doctor
say "ready: source $environment"
