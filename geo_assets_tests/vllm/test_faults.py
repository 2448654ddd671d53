"""Training with vLLM inside: healthy runs agree, and every planted fault is caught with its remedy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from geo_assets.settings import Settings
from geo_assets_tests.conftest import REPOSITORY
from geo_assets_tests.small_demo import Demo, job_of

pytestmark = [pytest.mark.slow, pytest.mark.vllm]
# fault: (check that must catch it, part of the remedy). None: refused before the engine starts.
CAUGHT = {
    "double_expansion": ("prompt tokens", "requirements.lock"),
    "other_pixel_budget": ("visual tokens", "rebuild base_model"),
    "top_p": (None, "set train.top_p: 1.0"),
    "top_p_in_the_engine": ("distribution", "set train.top_p: 1.0"),
    "dropout": (None, "set train.lora.dropout: 0.0"),
    "visual_lora": (None, "set train.lora.exclude: '.*visual.*'"),
    "stale_adapter": ("engine weights", "set train.rollout_sync"),
    "fixed_seed": ("identical group", "remove `seed`"),
    "fixed_seed_in_the_engine": ("identical group", "remove `seed`"),
    "logit_bias": ("sampling", "no other generation arguments"),
    "logit_bias_in_the_engine": ("log-probabilities", "train.top_p: 1.0"),
    "stock_sync": ("frozen weights", "use train.rollout_sync"),
    "other_dtype": ("dtype", "set train.dtype"),
    "placeholder_not_suppressed": ("completion placeholder", "never sampled"),
}
HEALTHY = {"healthy": 20, "healthy_merge": 6, "healthy_bfloat16": 6}


def settings_of(name: str, demo: Demo) -> Settings:
    """The demo's settings with what the case is about."""
    train = demo.settings.train.model_copy(update={"rollout_engine": "vllm", "attention": "sdpa"})
    lora = train.lora
    changes: dict[str, Any] = {}
    if name == "top_p":
        changes["top_p"] = 0.95
    if name == "dropout":
        changes["lora"] = lora.model_copy(update={"dropout": 0.1})
    if name == "visual_lora":
        targets = (*lora.targets, "linear_fc1")
        changes["lora"] = lora.model_copy(update={"exclude": "nothing", "targets": targets})
    if name == "stale_adapter":
        changes["learning_rate"] = 1e-5
    if name in ("healthy_merge", "stock_sync"):
        changes["rollout_sync"] = "merge"
    if name in ("healthy_bfloat16", "stock_sync"):
        changes["dtype"] = "bfloat16"
    smoke = demo.settings.smoke.model_copy(update={"steps": HEALTHY.get(name, 10)})
    return demo.settings.model_copy(update={"train": train.model_copy(update=changes), "smoke": smoke})


@pytest.fixture(scope="module")
def results(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What each run ended with. One process plants them all, one after the other."""
    folder = tmp_path_factory.mktemp("faults")
    jobs = {}
    for name in (*HEALTHY, *CAUGHT):
        jobs[name] = str(folder / f"{name}.json")
        job = job_of("smoke_test", folder / name, settings_of(name, demo), demo.folders)
        Path(jobs[name]).write_text(job.to_json(), encoding="utf-8")
    (folder / "jobs.json").write_text(json.dumps(jobs), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "geo_assets_tests.vllm.faults",
        str(folder / "jobs.json"),
        str(folder / "results.json"),
    ]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", CAUGHT)
def test_a_planted_fault_is_caught_within_ten_steps(results: dict[str, Any], name: str) -> None:
    result, (check, remedy) = results[name], CAUGHT[name]
    assert "crash" not in result, result["crash"]
    assert "error" in result, f"{name} went unnoticed: {result}"
    assert result["check"] == check
    assert result["steps"] <= 10
    assert remedy in result["error"] and "\n" not in result["error"]


@pytest.mark.parametrize(("name", "steps"), HEALTHY.items())
def test_a_healthy_run_samples_the_policy_it_trains(results: dict[str, Any], name: str, steps: int) -> None:
    result = results[name]
    assert "figures" in result, result
    audit = result["figures"]["logprob"]
    tolerance = 0.02 if name != "healthy_bfloat16" else 0.3
    assert audit["rollouts"] == steps
    assert abs(audit["least_sequence_ratio"] - 1) < tolerance
    assert abs(audit["most_sequence_ratio"] - 1) < tolerance
    assert audit["mean_abs_gap"] < (1e-4 if name != "healthy_bfloat16" else 3e-2)
    assert audit["engine_weight_gap"] <= 1e-6
    assert audit["warnings"] == 0


@pytest.mark.parametrize("name", HEALTHY)
def test_the_saved_adapter_reproduces_the_live_policy(results: dict[str, Any], name: str) -> None:
    assert results[name]["moved"] > 1e-3, "the run learned nothing, so this test would prove nothing"
    assert results[name]["reproduced"] == 0.0
