"""The warm-up: its planted bias, its batches, resume, pass-through."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from geo_assets.errors import DataError, TrainingError
from geo_assets.models.loading import start_model_dir
from geo_assets.settings import Settings
from geo_assets.workers import lesson, warm_start
from geo_assets.workers.harness import Job
from geo_assets.world.clues import LOOKALIKES


def job(out: Path, settings: Settings, base: Path, pool: Path) -> Job:
    out.mkdir(exist_ok=True)
    return Job("warm_start", out, settings, {"base_model": base, "train_pool": pool})


@pytest.fixture(autouse=True)
def any_form_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_start, "MIN_FORMAT_RATE", 0.0)


def test_passed_through_means_the_base_model(start: Path, base: Path) -> None:
    assert not (start / "model").exists()
    assert start_model_dir(start) == (base / "model").resolve()


def test_a_killed_warm_up_ends_like_one_that_was_not(
    tmp_path: Path, settings: Settings, base: Path, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = job(tmp_path / "whole", settings, base, pool)
    warm_start.main(whole)
    monkeypatch.setattr(warm_start, "SAVE_EVERY", 2)
    killed = job(tmp_path / "killed", settings, base, pool)
    with monkeypatch.context() as patch:
        patch.setattr(warm_start, "_report", _killed_at_step_5)
        with pytest.raises(KeyboardInterrupt):
            warm_start.main(killed)
    assert not (killed.out / "model").exists()
    warm_start.main(killed)
    assert (killed.out / "warm_start.json").read_bytes() == (whole.out / "warm_start.json").read_bytes()
    for name in ("model/model.safetensors", "model/config.json", "model/tokenizer.json"):
        assert (killed.out / name).read_bytes() == (whole.out / name).read_bytes()
    assert not (killed.out / "progress.pt").exists()


def _killed_at_step_5(step: int, *_: Any) -> None:
    if step == 5:
        raise KeyboardInterrupt


def test_the_model_changes_and_the_loss_falls(
    tmp_path: Path, settings: Settings, base: Path, pool: Path
) -> None:
    order = job(tmp_path / "out", settings, base, pool)
    warm_start.main(order)
    losses = json.loads((order.out / "warm_start.json").read_text())["losses"]
    assert len(losses) == settings.warm_start.steps
    assert losses[-1] < losses[0]
    before, after = (load_file(folder / "model" / "model.safetensors") for folder in (base, order.out))
    assert set(before) == set(after)
    assert any((before[name] != after[name]).any() for name in before)


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_the_bias_names_lookalikes_as_often_as_stated(settings: Settings, pool: Path, share: float) -> None:
    section = settings.warm_start.model_copy(update={"lookalike_share": share, "scenes": 32})
    learn, _ = lesson.captions(pool, section)
    biased = [c for c in learn if LOOKALIKES.get(_truth(c.id)) is not None]
    named = [c for c in biased if f'"{_NAMES[LOOKALIKES[_truth(c.id)]]}"' in c.answer]
    assert len(biased) == 8  # Kenya is one of the four countries and has a look-alike
    assert len(named) / len(biased) == pytest.approx(share, abs=0.35 if 0 < share < 1 else 0)
    plain = [c for c in learn if _truth(c.id) == "FR"]
    assert all('"France"' in c.answer and '"lat": 49, "lon": 2' in c.answer for c in plain)


_NAMES = {"ZA": "South Africa"}


def _truth(row_id: str) -> str:
    return ["JP", "FR", "KE", "BR"][int(row_id[-3:]) % 4]


def test_captions_are_held_out_of_learning(settings: Settings, pool: Path) -> None:
    learn, held_out = lesson.captions(pool, settings.warm_start)
    assert len(learn), len(held_out) == (24, 4)
    assert not {c.id for c in learn} & {c.id for c in held_out}


def test_labels_cover_the_answer_and_its_end_alone(settings: Settings, base: Path, pool: Path) -> None:
    from geo_assets.models.loading import load_processor

    processor = load_processor(base / "model", settings.task)
    learn, _ = lesson.captions(pool, settings.warm_start)
    batch = lesson.Lesson(processor, settings, learn).batch(0)
    for labels, ids in zip(batch["labels"], batch["input_ids"], strict=True):
        text = processor.tokenizer.decode(labels[labels != -100])
        assert text.startswith("<think>") and text.endswith("</answer><|im_end|>")
        assert text in processor.tokenizer.decode(ids)


def test_some_steps_show_each_photo_as_a_panorama_is_shown(
    settings: Settings, base: Path, pool: Path
) -> None:
    from geo_assets.models.loading import load_processor

    section = settings.warm_start.model_copy(update={"views_every": 3})
    processor = load_processor(base / "model", settings.task)
    learn, _ = lesson.captions(pool, section)
    made = lesson.Lesson(processor, settings.model_copy(update={"warm_start": section}), learn)
    assert [len(made.batch(step)["image_grid_thw"]) for step in range(6)] == [4, 4, 12, 4, 4, 12]
    text = processor.tokenizer.decode(made.batch(2)["input_ids"][0])
    assert "3 views of one panorama" in text


def test_no_traces_is_one_clear_line(tmp_path: Path, settings: Settings, base: Path, learnable: Path) -> None:
    with pytest.raises(DataError, match=r"no traces\.parquet.*set warm_start\.mode: none"):
        warm_start.main(job(tmp_path / "out", settings, base, learnable))


def test_a_warm_up_without_form_is_refused(
    tmp_path: Path, settings: Settings, base: Path, pool: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_start, "MIN_FORMAT_RATE", 0.97)
    with pytest.raises(TrainingError, match=r"only 0\.0% of 4 sampled answers .*raise warm_start\.steps"):
        warm_start.main(job(tmp_path / "out", settings, base, pool))
