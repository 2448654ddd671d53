"""GRPO on environments with the real trainer: one turn, and tools whose images reach the model."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from geo_assets.gym import registry, tasks
from geo_assets.gym.tool_use import call_text
from geo_assets.settings import Gym, Settings
from geo_assets.workers import gym_metrics, gym_train, smoke, train
from geo_assets.workers.harness import Job
from geo_assets_tests.gym.test_docs import installed  # noqa: F401 - a fixture

pytestmark = pytest.mark.slow


def gym_of(settings: Settings, **values: Any) -> Settings:
    run = settings.train.model_copy(update={"max_steps": 4, "save_steps": 2})
    few = {"environment": "nlvr2", "train": run, "train_tasks": 12, "test_tasks": 6, "samples": 2}
    return settings.model_copy(update={"gym": Gym().model_copy(update={**few, **values})})


@pytest.fixture(scope="module")
def make_tasks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Settings], Path]:
    def make(settings: Settings) -> Path:
        out = tmp_path_factory.mktemp("gym_tasks")
        tasks.write_tasks(settings.gym, settings.task, out)
        return out

    return make


def job(asset: str, out: Path, settings: Settings, **upstream: Path) -> Job:
    out.mkdir(parents=True, exist_ok=True)
    return Job(asset, out, settings, dict(upstream))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def run(
    settings: Settings,
    start: Path,
    make_tasks: Callable[[Settings], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Settings, Path, Path]:
    """A short run on nlvr2 after a short warm-up: settings, tasks, checkpoints."""
    warm = Gym().warm_up.model_copy(update={"steps": 3, "batch_size": 4})
    chosen = gym_of(settings, options={"level": 1}, warm_up=warm)
    folder, out = make_tasks(chosen), tmp_path_factory.mktemp("gym_checkpoints")
    gym_train.main(job("gym_checkpoints", out, chosen, gym_tasks=folder, warm_start=start))
    return chosen, folder, out


def test_a_run_is_finite_and_logs_every_part(run: tuple[Settings, Path, Path]) -> None:
    _, _, out = run
    records = [record for record in lines(out / "log_history.jsonl") if "reward" in record]
    assert [record["step"] for record in records] == [1, 2, 3, 4]
    assert {"rewards/total_reward/mean", "rewards/format_reward/mean", "rewards/correct_reward/mean"} <= set(
        records[0]
    )
    assert json.loads((out / "train_stats.json").read_text())["losses_finite"]
    assert sorted(path.name for path in out.glob("checkpoint-*")) == ["checkpoint-2", "checkpoint-4"]
    assert json.loads((out / "start" / "warm_up.json").read_text())["steps"] == 3
    assert {"step", "id", "completion", "total", "format", "correct"} == set(lines(out / "samples.jsonl")[0])


class Stop(BaseException):
    """A kill right after a checkpoint."""


def killed_after_step(order: Job, step: int) -> None:
    """Run gym_train until the checkpoint of a step is whole."""
    from geo_assets.workers import callbacks

    original = callbacks.WholeCheckpoints.on_save

    def stop_after_save(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        original(self, args, state, control, **kwargs)
        if state.global_step == step:
            raise Stop

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Stop):
        patch.setattr(callbacks.WholeCheckpoints, "on_save", stop_after_save)
        gym_train.main(order)


def test_a_killed_run_goes_on_where_it_was(
    run: tuple[Settings, Path, Path], start: Path, tmp_path: Path
) -> None:
    """The second half after a stop equals the second half of the whole run."""
    settings, folder, whole = run
    order = job("gym_checkpoints", tmp_path, settings, gym_tasks=folder, warm_start=start)
    killed_after_step(order, 2)
    gym_train.main(order)
    again, before = (lines(path / "log_history.jsonl") for path in (tmp_path, whole))
    assert [r["loss"] for r in again if "loss" in r] == [r["loss"] for r in before if "loss" in r]


def test_a_curriculum_goes_on_in_the_middle_of_its_stage(
    settings: Settings,
    start: Path,
    make_tasks: Callable[[Settings], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights of four steps by hand, of which two come after a kill; TensorBoard has them as well."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setattr(gym_train, "require_sound", lambda environment: environment)  # too few places
    moving = settings.model_copy(
        update={
            "task": settings.task.model_copy(update={"reward": "hierarchical"}),
            "runtime": settings.runtime.model_copy(update={"tracker": "tensorboard"}),
        }
    )
    chosen = gym_of(moving, environment="geospot")
    order = job("gym_checkpoints", tmp_path, chosen, gym_tasks=make_tasks(chosen), warm_start=start)
    killed_after_step(order, 2)
    gym_train.main(order)
    by_hand = {"country": [0.4, 0.325, 0.25, 0.175], "coordinates": [0.1, 0.175, 0.25, 0.325]}
    records = [r for r in lines(tmp_path / "log_history.jsonl") if "reward" in r]
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    for level, weights in by_hand.items():
        key = f"curriculum/{level}_weight"
        assert [r[key] for r in records] == pytest.approx(weights)
        shown = {event.step: event.value for event in events.Scalars(f"train/{key}")}
        assert [shown[step] for step in (1, 2, 3, 4)] == pytest.approx(weights)
    assert {"train/curriculum/city_level", "train/rewards/dist_reward/mean"} <= set(events.Tags()["scalars"])
    assert set(gym_metrics.curves(tmp_path / "log_history.jsonl")) >= {"reward", "curriculum/city_level"}


def test_metrics_compare_start_and_policy(
    run: tuple[Settings, Path, Path], start: Path, tmp_path: Path
) -> None:
    settings, folder, checkpoints = run
    order = job(
        "gym_metrics", tmp_path, settings, gym_tasks=folder, gym_checkpoints=checkpoints, warm_start=start
    )
    gym_metrics.main(order)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["checkpoint"] == "checkpoint-4"
    assert set(summary["change"]) == {"greedy", "sampled", "blank"}
    assert all(values["n"] == 6 for values in summary["change"].values())
    assert len(lines(tmp_path / "policy" / "sampled" / "episodes.jsonl")) == 12
    page = (tmp_path / "gym.html").read_text()
    assert "always true" in page and "<script" not in page and "after 3 supervised steps" in page
    assert "<img" in (tmp_path / "policy" / "greedy" / "gallery.html").read_text()
    played_again: list[Path] = []

    def counted(environment: Any, episodes: Any, out: Path) -> None:
        played_again.append(out.relative_to(tmp_path))
        leave(environment, episodes, out)

    leave = gym_metrics._leave
    (tmp_path / "policy" / "sampled" / "metrics.json").unlink()  # as a kill in that cell would leave it
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gym_metrics, "_leave", counted)
        gym_metrics.main(order)
    assert played_again == [Path("policy/sampled")]
    assert json.loads((tmp_path / "summary.json").read_text()) == summary


def test_an_environment_of_another_package_is_trained_and_measured(
    settings: Settings,
    start: Path,
    installed: Path,  # noqa: F811 - the fixture
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page's package, installed apart, goes through all three programs by its name alone."""
    monkeypatch.syspath_prepend(str(installed))
    chosen = gym_of(settings, environment="brighter")
    folders = {name: tmp_path / name for name in ("gym_tasks", "gym_checkpoints", "gym_metrics")}
    for folder in folders.values():
        folder.mkdir()
    tasks.write_tasks(chosen.gym, chosen.task, folders["gym_tasks"])
    upstream = {**folders, "warm_start": start}
    gym_train.main(job("gym_checkpoints", folders["gym_checkpoints"], chosen, **upstream))
    gym_metrics.main(job("gym_metrics", folders["gym_metrics"], chosen, **upstream))
    records = [r for r in lines(folders["gym_checkpoints"] / "log_history.jsonl") if "reward" in r]
    assert "rewards/margin_reward/mean" in records[0]
    assert json.loads((folders["gym_metrics"] / "summary.json").read_text())["environment"] == "brighter"


@pytest.mark.parametrize("name", sorted(registry.BUILT_IN))
def test_every_environment_trains_on_policy_and_finite(
    name: str, settings: Settings, start: Path, make_tasks: Callable[[Settings], Path], tmp_path: Path
) -> None:
    """Rollout and trainer agree before and after two steps, no ratio is clipped, and all is finite."""
    two = settings.train.model_copy(update={"max_steps": 2})
    chosen = gym_of(settings, environment=name, train=two, train_tasks=48)
    order = job("gym_checkpoints", tmp_path, chosen, gym_tasks=make_tasks(chosen), warm_start=start)
    trainer, environment = trainer_of(order)
    trainer.train()
    gap = smoke.audit(trainer, 4)
    assert gap["max_abs_gap"] < 0.05 and gap["mean_abs_gap"] < smoke.GAP_LIMITS["float32"] * 10
    records = [record for record in trainer.state.log_history if "reward" in record]
    assert [record["step"] for record in records] == [1, 2]
    for record in records:
        assert {f"rewards/{part}_reward/mean" for part in environment.parts} <= set(record)
        assert 0.0 <= record["reward"] <= 1.0
        assert record["clip_ratio/region_mean"] == 0.0
        assert all(math.isfinite(record[key]) for key in ("loss", "grad_norm", "entropy"))


def trainer_of(order: Job) -> tuple[Any, Any]:
    environment = tasks.environment_of(order.settings.gym, order.settings.task, "train")
    folder, _ = gym_train.start_of(order, environment)
    settings = gym_train.training_settings(order.settings, environment)
    subject = gym_train.subject(order, settings, environment, folder)
    trainer, _ = train.build_trainer(order, settings, train.rollout_cycle(settings.train), subject)
    return trainer, environment


@torch.no_grad()
def as_rolled_out(
    model: Any, processor: Any, prompt_ids: list[list[int]], images: list[Any], answer: list[int]
) -> torch.Tensor:
    """Log-probabilities of an answer's tokens after the prompts and images that generation was given."""
    ids = torch.tensor([prompt + answer for prompt in prompt_ids])
    inputs = dict(processor.image_processor(images=images, return_tensors="pt"))
    types = (ids == processor.image_token_id).int()
    logits = model(input_ids=ids, mm_token_type_ids=types, **inputs).logits[:, -len(answer) - 1 : -1]
    return logits.log_softmax(-1).gather(-1, ids[:, -len(answer) :, None]).squeeze(-1)


def test_images_of_a_tool_reach_the_model_in_training(
    settings: Settings, start: Path, make_tasks: Callable[[Settings], Path], tmp_path: Path
) -> None:
    """Every rollout zooms once and then answers; the trainer's forward pass sees two photos an episode."""
    roomy = settings.task.model_copy(update={"max_completion_length": 160})
    chosen = gym_of(settings.model_copy(update={"task": roomy}), environment="geospot-zoom")
    order = job("gym_checkpoints", tmp_path, chosen, gym_tasks=make_tasks(chosen), warm_start=start)
    trainer, environment = trainer_of(order)
    tokenizer = trainer.processing_class.tokenizer
    scripts = [
        tokenizer(text + tokenizer.eos_token, add_special_tokens=False)["input_ids"]
        for text in (call_text("zoom", x=0, y=0, width=500, height=500), environment.solution(0))
    ]
    turns: list[tuple[list[list[int]], list[Any]]] = []

    def scripted(
        prompt_ids: list[list[int]], images: Any, *args: Any, **kwargs: Any
    ) -> tuple[list[list[int]], None]:
        ids = scripts[min(len(turns), 1)]
        turns.append((prompt_ids, [image for group in images for image in group]))
        return [list(ids) for _ in prompt_ids], None

    seen: list[tuple[int, int]] = []
    gaps: list[float] = []
    forward = trainer._get_per_token_logps_and_entropies

    def counted(model: Any, input_ids: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        pads = int((input_ids == model.config.image_token_id).sum())
        seen.append((pads, len(kwargs["image_grid_thw"])))
        found = forward(model, input_ids, *args, **kwargs)
        expected = as_rolled_out(model, trainer.processing_class, *turns[1], scripts[1])
        answers = found[0][:, -len(scripts[1]) :].detach()
        # TRL shuffles the episodes of a rollout, so each is held against the one of its photo.
        distances = (answers[:, None] - expected[None]).abs().amax(-1)
        gaps.append(float(distances.min(dim=1).values.max()))
        return found

    trainer._generate_single_turn = scripted
    trainer._get_per_token_logps_and_entropies = counted
    trainer.args.max_steps = 1
    trainer.train()
    assert [len(images) for _, images in turns] == [8, 16]  # eight episodes: one photo each, then one more
    cells = 16 * 4  # a photo of 683 x 512 px has 2 x 2 cells under a budget of 6
    assert seen and seen[-1] == (cells, 16)
    assert max(gaps) < 1e-4  # the answer after the zoom has the probability that the rollout saw
    record = next(r for r in trainer.state.log_history if "reward" in r)
    assert record["tools/call_frequency"] == 1.0 and record["tools/failure_frequency"] == 0.0
    assert record["rewards/format_reward/mean"] == 1.0
    assert torch.isfinite(torch.tensor(record["loss"]))
    said = lines(tmp_path / "samples.jsonl")[0]["completion"]
    assert "zoom" in said and "[image]" in said and "<answer>" in said
