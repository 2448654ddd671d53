"""Choosing a checkpoint: the criterion, ties, resume; and merging the chosen one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, get_peft_model

from geo_assets.backends import make
from geo_assets.errors import TrainingError
from geo_assets.models.loading import load_model, start_model_dir
from geo_assets.settings import Settings
from geo_assets.workers import checkpoints
from geo_assets.workers.harness import Job


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, settings: Settings, start: Path) -> Path:
    """lora_checkpoints with two random adapters."""
    out = tmp_path_factory.mktemp("lora_checkpoints")
    for step in (8, 16):
        lora = LoraConfig(
            r=2, lora_alpha=8, target_modules=["q_proj", "v_proj"], exclude_modules=".*visual.*"
        )
        model = get_peft_model(load_model(start_model_dir(start), settings.runtime), lora)
        generator = torch.Generator().manual_seed(step)
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.data = torch.randn(parameter.shape, generator=generator)
        model.save_pretrained(out / f"checkpoint-{step}")
    return out


def order(out: Path, settings: Settings, run: Path, start: Path, quick: Path, learnable: Path) -> Job:
    out.mkdir(exist_ok=True)
    upstream = {
        "lora_checkpoints": run,
        "warm_start": start,
        "eval_quick": quick,
        "train_learnable": learnable,
    }
    return Job("checkpoint_metrics", out, settings, upstream)


@pytest.fixture(scope="module")
def quick(make_set: Callable[[str, int], Path]) -> Path:
    return make_set("eval_quick", 4)


def test_a_tie_goes_to_the_earlier_checkpoint(
    tmp_path: Path, settings: Settings, run: Path, start: Path, quick: Path, learnable: Path
) -> None:
    checkpoints.main(order(tmp_path, settings, run, start, quick, learnable))
    best = json.loads((tmp_path / "best.json").read_text())
    assert (best["step"], best["checkpoint"], best["n"]) == (8, "checkpoint-8", 4)
    assert best["why"] == "highest mean_reward on eval_quick (greedy): 0.0000 at step 8; 0.0000 at step 16"
    table = json.loads((tmp_path / "checkpoints.json").read_text())
    assert [entry["step"] for entry in table] == [8, 16]


def test_a_killed_choice_asks_for_the_missing_checkpoint_alone(
    tmp_path: Path, settings: Settings, run: Path, start: Path, quick: Path, learnable: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    job = order(tmp_path, settings, run, start, quick, learnable)
    checkpoints.main(job)
    (tmp_path / "checkpoint-16" / "metrics.json").unlink()
    made: list[Path] = []
    monkeypatch.setattr(
        "geo_assets.backends.make",
        lambda runtime, task, model, adapter: made.append(adapter) or make(runtime, task, model, adapter),
    )
    checkpoints.main(job)
    assert [adapter.name for adapter in made] == ["checkpoint-16"]


def test_the_criterion_decides() -> None:
    table = [
        {"step": 8, "criterion": "country_acc", "criterion_value": 0.5},
        {"step": 16, "criterion": "country_acc", "criterion_value": 0.6},
    ]
    found = checkpoints.choice(table, table[1], "greedy")
    assert found["checkpoint"] == "checkpoint-16" and "0.5000 at step 8" in found["why"]
    assert checkpoints.criterion_value("country_acc", [], {"country_acc": 0.25}) == 0.25


def test_a_run_without_checkpoint_is_one_clear_line(
    tmp_path: Path, settings: Settings, start: Path, quick: Path, learnable: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(TrainingError, match="holds no checkpoint; materialize lora_checkpoints with force"):
        checkpoints.main(order(tmp_path / "out", settings, empty, start, quick, learnable))
