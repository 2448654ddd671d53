"""A model patched by the real unsloth answers and learns as the plain one does.

Unsloth changes transformers for the whole process, so what it is compared with is made first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from geo_assets import backends
from geo_assets.backends.base import Sampling
from geo_assets.errors import ModelError
from geo_assets.settings import Settings
from geo_assets.workers import train
from geo_assets_tests.small_demo import GREEDY, Demo, job_of, requests_of
from geo_assets_tests.workers.conftest import killed_at

pytestmark = [pytest.mark.slow, pytest.mark.unsloth]
ASKED = [(GREEDY, 1), (GREEDY, 3), (Sampling(1.0, 1.0, 2, 40, seed=7), 1)]
"""How questions are answered, and with how many photos."""
STEPS = 6


def settings_of(demo: Demo, backend: str) -> Settings:
    values = {"rollout_engine": "transformers", "max_steps": STEPS, "save_steps": 2, "learning_rate": 1e-3}
    return demo.settings.model_copy(
        update={
            "train": demo.settings.train.model_copy(update=values),
            "runtime": demo.settings.runtime.model_copy(update={"backend": backend}),
            "smoke": demo.settings.smoke.model_copy(update={"steps": 3, "format_after_step": 1}),
        }
    )


def answers(demo: Demo, settings: Settings, adapter: Path | None) -> list[Any]:
    backend = backends.make(settings.runtime, settings.task, demo.model, adapter)
    given = [backend.generate(requests_of(demo, 12, sampling, photos)) for sampling, photos in ASKED]
    backend.close()
    return given


def trained(demo: Demo, settings: Settings, out: Path) -> Path:
    train.main(job_of("lora_checkpoints", out, settings, demo.folders))
    return out


def records(out: Path) -> list[tuple[int, float, float]]:
    lines = [json.loads(line) for line in (out / "log_history.jsonl").read_text().splitlines()]
    return [(line["step"], line["reward"], line["loss"]) for line in lines if "reward" in line]


@pytest.fixture(scope="module")
def plain(demo: Demo, adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What transformers and PEFT do without unsloth."""
    assert "unsloth" not in sys.modules
    settings = settings_of(demo, "transformers")
    return {
        "bare": answers(demo, settings, None),
        "adapted": answers(demo, settings, adapter),
        "run": trained(demo, settings, tmp_path_factory.mktemp("plain")),
    }


@pytest.fixture(scope="module")
def run(demo: Demo, plain: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted run with unsloth."""
    return trained(demo, settings_of(demo, "unsloth"), tmp_path_factory.mktemp("unsloth"))


def test_answers_are_the_same(demo: Demo, plain: dict[str, Any], adapter: Path) -> None:
    settings = settings_of(demo, "unsloth")
    assert answers(demo, settings, None) == plain["bare"]
    assert answers(demo, settings, adapter) == plain["adapted"]
    assert plain["bare"] != plain["adapted"], "the adapter must have an effect, or parity proves nothing"


def test_training_is_the_same(plain: dict[str, Any], run: Path) -> None:
    from safetensors.torch import load_file

    assert (run / "samples.jsonl").read_bytes() == (plain["run"] / "samples.jsonl").read_bytes()
    for mine, theirs in zip(records(run), records(plain["run"]), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-5)
    adapter, reference = (
        load_file(out / f"checkpoint-{STEPS}" / "adapter_model.safetensors") for out in (run, plain["run"])
    )
    assert adapter.keys() == reference.keys()
    assert not any("visual" in name for name in adapter)
    gaps = [float((weight - reference[name]).abs().max()) for name, weight in adapter.items()]
    moved = max(float(weight.abs().max()) for name, weight in adapter.items() if "lora_B" in name)
    assert max(gaps) < 1e-5 < 1e-3 < moved


def test_a_killed_run_resumes_and_ends_like_one_that_was_not(demo: Demo, run: Path, tmp_path: Path) -> None:
    settings = settings_of(demo, "unsloth")
    with killed_at(4):
        trained(demo, settings, tmp_path)
    trained(demo, settings, tmp_path)
    assert records(tmp_path) == records(run)
    for name in (f"checkpoint-{STEPS}/adapter_model.safetensors", "samples.jsonl"):
        assert (tmp_path / name).read_bytes() == (run / name).read_bytes()


def test_the_smoke_test_passes(demo: Demo, plain: dict[str, Any], tmp_path: Path) -> None:
    order = job_of("smoke_test", tmp_path, settings_of(demo, "unsloth"), demo.folders)
    train.main(order)
    figures = json.loads((tmp_path / "smoke.json").read_text())
    assert figures["logprob"]["mean_abs_gap"] < 1e-5
    assert figures["lora_modules"] > 0 and figures["visual_lora_modules"] == []


def test_a_dtype_that_the_gpu_lacks_is_refused(demo: Demo, plain: dict[str, Any], tmp_path: Path) -> None:
    """Unsloth would train in float16, in which the pod's learning rate diverges, with one line of its log."""
    import torch

    if torch.cuda.is_available() and torch.cuda.is_bf16_supported():
        pytest.skip("this GPU has bfloat16")
    settings = settings_of(demo, "unsloth")
    settings = settings.model_copy(update={"train": settings.train.model_copy(update={"dtype": "bfloat16"})})
    with pytest.raises(ModelError, match=r"float16 where torch\.bfloat16 was asked for"):
        trained(demo, settings, tmp_path)


def test_without_a_gpu_one_line_says_so(demo: Demo) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    code = "from geo_assets.backends.unsloth import fast_model; fast_model()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "UNSLOTH_ALLOW_CPU": "0"},
        capture_output=True,
        text=True,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "ModelError: runtime.backend is unsloth, which cannot be imported" in last
    assert "or set runtime.backend: vllm" in last
