"""The pod's settings on one GPU, where there is one; the measuring script itself on a CPU, where vLLM is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from geo_assets_tests.conftest import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.vllm]


def measure(folder: Path, *arguments: str) -> dict:
    command = [sys.executable, "-m", "geo_assets_tests.gpu.measure", "--folder", str(folder), *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "figures.json").read_text(encoding="utf-8"))


def test_the_pods_settings_fit_one_gpu(tmp_path: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU: memory and seconds a step at the pod's settings stay unmeasured")
    figures = measure(tmp_path, "--profile", "pod", "--steps", "6")
    assert figures["training"]["gpu_memory_used_gib"] < 79
    assert figures["training"]["logprob"]["warnings"] == 0
    assert abs(figures["training"]["logprob"]["mean_sequence_ratio"] - 1) < 0.3
    assert figures["generation"]["tokens_per_second"] > 500


@pytest.mark.parametrize("base", ["demo", "pod-qwen35"])
def test_the_script_runs_on_a_small_model(base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of either family; a small Qwen3.5 has the layers, the LoRA targets and the sync of the profile's."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    profile = tmp_path / "mine.yaml"
    profile.write_text(
        f"extends: {base}\n"
        "task: {max_completion_length: 24, min_cells: 1, max_cells: 22, prompt: short}\n"
        "train: {per_device_train_batch_size: 16, gradient_accumulation_steps: 1, generation_batch_size: 16, "
        "rollout_engine: vllm, mask_truncated_completions: false}\n"
        "runtime: {backend: vllm, device: cpu, eval_batch_size: 8}\n"
    )
    figures = measure(
        tmp_path, "--profile", str(profile), "--tiny", "--steps", "4", "--requests", "16", "--tokens", "16"
    )
    audit = figures["training"]["logprob"]
    assert (audit["rollouts"], audit["warnings"], audit["engine_weight_gap"]) == (4, 0, 0)
    assert audit["mean_abs_gap"] < (1e-5 if base == "demo" else 5e-3)
    assert figures["training"]["seconds_per_step"] > 0
    assert figures["generation"]["answers"] == 16
    assert figures["generation"]["tokens_per_second"] > 0
