"""The warm-up from the model's own best answers: which are kept, where they come from, what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geo_assets.errors import DataError, ProfileError
from geo_assets.settings import Settings
from geo_assets.task.attacks import answer_text
from geo_assets.task.predictions import Prediction
from geo_assets.workers import warm_start
from geo_assets.workers.harness import Job
from geo_assets.workers.own_answers import best_answers, own_captions, require_finished
from geo_assets_tests.task.samples import right, unparsed
from geo_assets_tests.workers.conftest import PLACES

NAMES = {"JP": "Japan", "FR": "France", "KE": "Kenya", "BR": "Brazil"}


def earning(photo: str, k: int, total: float, iso2: str = "FR") -> Prediction:
    return replace(right(0), id=photo, k=k, total=total, true_country_iso2=iso2)


def test_the_best_of_each_photo_above_the_floor() -> None:
    given = [
        earning("a", 0, 0.6), earning("a", 1, 0.9), earning("a", 2, 0.9),
        earning("b", 0, 0.2), earning("b", 1, 0.49),
        earning("c", 0, 0.5),
        replace(unparsed(0), id="d", total=0.9),
    ]  # fmt: skip
    kept, dropped = best_answers(given, 0.5, 9)
    assert [(p.id, p.k) for p in kept] == [("a", 1), ("c", 0)]
    assert dropped == {"below_the_floor": 2, "above_the_cap": 0}


def test_an_answer_without_form_is_never_learned_whatever_the_floor() -> None:
    assert best_answers([unparsed(0)], 0.0, 9)[0] == []


def test_countries_are_capped_at_their_highest_rewards() -> None:
    french = [earning(f"f{i}", 0, 0.5 + i / 10, "FR") for i in range(5)]
    kept, dropped = best_answers([*french, earning("j", 0, 0.5, "JP")], 0.5, 2)
    assert [p.id for p in kept] == ["f3", "f4", "j"]
    assert dropped == {"below_the_floor": 0, "above_the_cap": 3}


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """A finished train_learnable: of two answers a photo the second is right, in Kenya none is."""
    folder = tmp_path / "train_learnable" / "0123456789abcdef"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"asset": "train_learnable", "content": "c0"}))
    with (folder / "completions.jsonl").open("w") as file:
        for index in range(16):
            iso2 = list(PLACES)[index % 4]
            row_id = f"train_pool{index:03d}" if index < 12 else f"gone{index}"
            good = "no idea" if iso2 == "KE" else answer_text(NAMES[iso2], *PLACES[iso2])
            for k, text in enumerate((answer_text("Chile", -33.4, -70.6), good)):
                record = {"id": row_id, "k": k, "text": text, "n_tokens": 9, "finish_reason": "stop"}
                file.write(json.dumps(record) + "\n")
    return folder


def own(settings: Settings, answers: Path, **values: Any) -> Settings:
    section = {**settings.warm_start.model_dump(), "mode": "own", "answers": answers, **values}
    return settings.model_copy(update={"warm_start": type(settings.warm_start)(**section)})


def test_captions_of_the_right_photos_and_figures_of_the_rest(
    settings: Settings, pool: Path, answers: Path
) -> None:
    section = own(settings, answers, cap_per_country=2).warm_start
    learn, held_out, figures = own_captions(pool, section, "geoguessr")
    assert sorted(caption.id for caption in learn) == [
        "train_pool000", "train_pool001", "train_pool003", "train_pool004", "train_pool005", "train_pool007",
    ]  # fmt: skip
    assert all(caption.photo.is_file() for caption in learn)
    assert next(c for c in learn if c.id == "train_pool001").answer == answer_text("France", *PLACES["FR"])
    assert len(held_out) == section.check_rows and not {c.id for c in held_out} & {c.id for c in learn}
    dropped = figures["dropped"]
    assert dropped == {"not_in_train_pool": 4, "below_the_floor": 3, "above_the_cap": 3}
    assert (figures["answered_photos"], figures["learned_photos"], figures["countries"]) == (16, 6, 3)
    assert figures["mean_reward_of_learned"] == 1.0 > figures["mean_reward_of_answers"]
    assert own_captions(pool, section, "geoguessr")[0] == learn


def test_a_floor_that_nothing_reaches_is_one_clear_line(
    settings: Settings, make_set: Any, answers: Path
) -> None:
    section = own(settings, answers).warm_start
    with pytest.raises(DataError, match=r"about 0 photos .* lower warm_start\.reward_floor"):
        own_captions(make_set("eval_osv", 4), section, "geoguessr")


def test_what_is_no_finished_artifact_is_refused(tmp_path: Path, answers: Path) -> None:
    assert require_finished(answers) == answers
    latest = answers.parent / "latest"
    latest.symlink_to(answers.name)
    with pytest.raises(ProfileError, match=f"a link that moves .*{answers.name}"):
        require_finished(latest)
    (answers / "completions.jsonl").unlink()
    for folder in (answers, tmp_path):
        with pytest.raises(ProfileError, match=r"is no finished train_learnable; name a folder"):
            require_finished(folder)


def test_the_mode_needs_answers(settings: Settings) -> None:
    with pytest.raises(ValueError, match="mode own needs answers"):
        type(settings.warm_start)(mode="own")


def test_the_model_learns_from_them(
    tmp_path: Path,
    settings: Settings,
    base: Path,
    pool: Path,
    answers: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warm_start, "MIN_FORMAT_RATE", 0.0)
    out = tmp_path / "out"
    out.mkdir()
    order = Job("warm_start", out, own(settings, answers), {"base_model": base, "train_pool": pool})
    warm_start.main(order)
    found = json.loads((out / "warm_start.json").read_text())
    assert found["learned_photos"] == 9 and "lookalike_share" not in found
    assert found["losses"][-1] < found["losses"][0]
    assert (out / "model" / "model.safetensors").is_file()
