"""The GRPO run: resume equals an uninterrupted run, controls, refusals, the smoke test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from geo_assets.errors import TrainingError
from geo_assets.settings import Settings
from geo_assets.workers import checkpoint_files, smoke, train, train_setup
from geo_assets.workers.harness import Job
from geo_assets_tests.workers.conftest import Killed, killed_at


def job(asset: str, out: Path, settings: Settings, learnable: Path, start: Path) -> Job:
    out.mkdir(parents=True, exist_ok=True)
    return Job(asset, out, settings, {"train_learnable": learnable, "warm_start": start})


def with_train(settings: Settings, **values: Any) -> Settings:
    return settings.model_copy(update={"train": settings.train.model_copy(update=values)})


def losses(out: Path) -> list[tuple[int, float]]:
    records = [json.loads(line) for line in (out / "log_history.jsonl").read_text().splitlines()]
    return [(record["step"], record["loss"]) for record in records if "loss" in record]


def contents(out: Path) -> dict[str, bytes]:
    """Every file whose bytes are part of the artifact's content."""
    skip = ("log_history.jsonl", "timings.json")
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name not in skip
    }


@pytest.fixture(scope="module", autouse=True)
def reward_of_any_text() -> Iterator[None]:
    """A random model never answers in form, so the total here is a number that any text has."""

    def named(name: str, value: Callable[[str], float]) -> Callable[..., list[float]]:
        def score(completions: list[Any], **columns: Any) -> list[float]:
            return [value(completion[0]["content"]) for completion in completions]

        score.__name__ = name
        return score

    names = ("total_reward", "format_reward", "country_reward", "dist_reward", "geoscore")
    functions = [named(name, lambda text: 0.0) for name in names]
    functions[0] = named("total_reward", lambda text: len(text) % 7 / 7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "geo_assets.task.rewards.trl_reward_functions", lambda name: (functions, [1.0] + [0.0] * 4)
        )
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, settings: Settings, learnable: Path, start: Path) -> Path:
    """An uninterrupted run."""
    out = tmp_path_factory.mktemp("whole")
    order = job("lora_checkpoints", out, settings, learnable, start)
    train.main(order)
    assert order.collected["losses_finite"]
    return out


def test_a_run_leaves_what_the_artifact_promises(whole: Path) -> None:
    names = set(contents(whole))
    assert names == {
        "checkpoint-4/adapter_config.json", "checkpoint-4/adapter_model.safetensors",
        "checkpoint-6/adapter_config.json", "checkpoint-6/adapter_model.safetensors",
        "samples.jsonl", "train_stats.json",
    }  # fmt: skip
    samples = [json.loads(line) for line in (whole / "samples.jsonl").read_text().splitlines()]
    assert [sample["step"] for sample in samples] == [step for step in range(1, 7) for _ in range(4)]
    assert set(samples[0]) == {
        "step", "id", "completion", "total", "format", "country_reward", "dist", "geoscore",
    }  # fmt: skip
    record = json.loads((whole / "log_history.jsonl").read_text().splitlines()[0])
    assert {"step", "reward", "rewards/total_reward/mean", "rewards/format_reward/mean"} <= set(record)


def test_the_adapter_moves_and_touches_the_language_model_alone(whole: Path) -> None:
    tensors = load_file(whole / "checkpoint-6" / "adapter_model.safetensors")
    assert all("language_model" in name and "visual" not in name for name in tensors)
    assert any(name.endswith("lora_B.weight") and tensor.abs().max() > 0 for name, tensor in tensors.items())


def test_generation_with_the_adapter_merged_leaves_the_weights_as_they_were(
    whole: Path, settings: Settings, start: Path
) -> None:
    from geo_assets.models.loading import attach_adapter, load_model, merged_for_generation, start_model_dir

    model = attach_adapter(load_model(start_model_dir(start), settings.runtime), whole / "checkpoint-6")
    ids = torch.arange(12)[None]
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with torch.no_grad():
        apart = model(input_ids=ids).logits
        with model.disable_adapter():
            base_logits = model(input_ids=ids).logits
        with merged_for_generation(model):
            merged = model(input_ids=ids).logits
        again = model(input_ids=ids).logits
    assert torch.allclose(apart, merged, atol=1e-5) and not torch.allclose(apart, base_logits, atol=1e-4)
    assert torch.equal(apart, again)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_killed_run_resumes_and_ends_like_one_that_was_not(
    tmp_path: Path,
    settings: Settings,
    learnable: Path,
    start: Path,
    whole: Path,
) -> None:
    order = job("lora_checkpoints", tmp_path, settings, learnable, start)
    with killed_at(4):
        train.main(order)
    # It died while it saved the next one: that checkpoint has no marker.
    (tmp_path / "checkpoint-5").mkdir()
    (tmp_path / "checkpoint-5" / "adapter_model.safetensors").write_bytes(b"half")
    assert checkpoint_files.is_complete(tmp_path / "checkpoint-4")
    torch.manual_seed(99)  # whatever the new process draws before must not matter
    train.main(order)
    assert losses(tmp_path) == losses(whole)
    assert contents(tmp_path) == contents(whole)


def test_a_run_killed_in_its_second_epoch_resumes_exactly(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path
) -> None:
    # 12 rows and 2 prompts a step: an epoch is 6 steps.
    longer = with_train(settings, max_steps=10)
    train.main(job("lora_checkpoints", tmp_path / "whole", longer, learnable, start))
    killed = job("lora_checkpoints", tmp_path / "killed", longer, learnable, start)
    with killed_at(9):
        train.main(killed)
    train.main(killed)
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


def test_a_run_killed_after_its_last_step_only_finishes(
    tmp_path: Path,
    settings: Settings,
    learnable: Path,
    start: Path,
    whole: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = job("lora_checkpoints", tmp_path, settings, learnable, start)
    with monkeypatch.context() as patch:
        patch.setattr(train, "finish", _killed)
        with pytest.raises(Killed):
            train.main(order)
    train.main(order)
    assert losses(tmp_path) == losses(whole)
    assert contents(tmp_path) == contents(whole)


def _killed(*_: Any) -> None:
    raise Killed


def test_shuffled_rewards_change_the_run_but_not_its_samples_of_step_one(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path, whole: Path
) -> None:
    control = with_train(settings, shuffle_rewards=True, max_steps=3, save_steps=2)
    train.main(job("lora_checkpoints", tmp_path, control, learnable, start))
    first = [json.loads(line) for line in (tmp_path / "samples.jsonl").read_text().splitlines()][:4]
    real = [json.loads(line) for line in (whole / "samples.jsonl").read_text().splitlines()][:4]
    assert first == real
    assert json.loads((tmp_path / "train_stats.json").read_text())["shuffled_rewards"] is True
    # Step 3 is no save step, but it is the last.
    assert [folder.name for folder in checkpoint_files.checkpoints(tmp_path)] == [
        "checkpoint-2",
        "checkpoint-3",
    ]


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (torch.OutOfMemoryError("CUDA"), r"out of GPU memory; set train\.per_device_train_batch_size: 4"),
        (ValueError("Target modules {'x'} not found"), r"LoRA was rejected .*train\.lora\.targets"),
    ],
)
def test_known_failures_come_with_their_remedy(error: Exception, remedy: str) -> None:
    with pytest.raises(TrainingError, match=remedy), train_setup.remedies():
        raise error


def test_other_failures_pass_as_they_are() -> None:
    with pytest.raises(ValueError, match="something else"), train_setup.remedies():
        raise ValueError("something else")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"generation_batch_size": 16, "save_steps": 3},
            r"train\.save_steps \(3\) must be a multiple of 2.*set it to 4",
        ),
        ({"generation_batch_size": 12}, "must divide one another"),
        ({"num_generations": 3}, r"must be a multiple of train\.num_generations \(3\)"),
    ],
)
def test_settings_that_cannot_be_resumed_exactly_are_refused(
    settings: Settings, values: dict[str, int], message: str
) -> None:
    with pytest.raises(TrainingError, match=message):
        train_setup.rollout_cycle(with_train(settings, **values).train)


def test_the_pod_serves_two_steps_per_rollout() -> None:
    assert train_setup.rollout_cycle(Settings(name="pod").train) == 2


def test_an_adapter_in_the_vision_tower_is_refused(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path
) -> None:
    from geo_assets.errors import ModelError

    lora = settings.train.lora.model_copy(update={"targets": ("qkv",), "exclude": "nothing"})
    with pytest.raises(ModelError, match=r"vision tower, such as .*visual.*set train\.lora\.exclude"):
        train.main(job("lora_checkpoints", tmp_path, with_train(settings, lora=lora), learnable, start))


def test_the_smoke_test_measures_pace_form_and_agreement(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path
) -> None:
    order = job("smoke_test", tmp_path, settings, learnable, start)
    train.main(order)
    figures = json.loads((tmp_path / "smoke.json").read_text())
    assert figures["steps"] == 3
    # A random model gives each token about 1/448, the suppressed image placeholder too: that is the gap.
    assert figures["logprob"]["mean_abs_gap"] == pytest.approx(1 / 448, rel=0.2)
    assert figures["visual_lora_modules"] == []
    assert figures["lora_modules"] == 7 * settings.base_model.layers
    timings = json.loads((tmp_path / "timings.json").read_text())
    hours = settings.runtime.budget_hours
    assert timings["recommended_max_steps"] == smoke.recommended_max_steps(hours, timings["seconds_per_step"])
    assert not list(tmp_path.glob("checkpoint-*"))


def test_a_smoke_test_without_form_is_an_error(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path
) -> None:
    strict = settings.model_copy(update={"smoke": settings.smoke.model_copy(update={"min_format_rate": 0.5})})
    with pytest.raises(
        TrainingError, match=r"only 0% of the answers after step 1 .*lower train\.learning_rate"
    ):
        train.main(job("smoke_test", tmp_path, strict, learnable, start))


def test_eight_hours_at_twenty_seconds() -> None:
    assert smoke.recommended_max_steps(8, 20) == 1440
