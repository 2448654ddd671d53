"""nlvr2: strict parsing, a miniature whose words tell nothing, photographs from parquet."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from geo_assets.errors import DataError, ProfileError
from geo_assets.gym import Spec, make
from geo_assets.gym.nlvr2 import parse_truth
from geo_assets.gym.shapes import COLOURS
from geo_assets_tests.gym.samples import environment

SAID: list[tuple[str, bool | None]] = [
    ("true", True), ("False", False), (" TRUE. ", True), ("**false**", False), ('"true"', True),
    ("The statement is true.", True), ("The answer is: false", False), ("Answer: true", True),
    ("<answer>true</answer>", True), ("<think>false?</think> true", True),
    ("<think>true</think><answer>false</answer>", False),
    ("<answer>true</answer><answer>false</answer>", False),
    ("not true", None), ("untrue", None), ("true or false", None), ("true false", None), 
    ("true, false", None), ("It is not false", None), ("yes", None), ("1", None), ("", None),
    ("<answer>true", None), ("answertrue", None),
    ("<think>true</think>", None), ("true because the left one is red", None), ("trueish", None),
    ("<answer>not true</answer>", None), ("false positive", None), ("true " * 9000, None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), SAID)
def test_strict_parsing(text: str, meant: bool | None) -> None:
    assert parse_truth(text) is meant


def test_the_reward_is_right_or_nothing() -> None:
    env = environment("nlvr2")
    state, _ = env.reset(0)  # statements come true first
    assert env.step(state, "true")[1:3] == (1.0, True)
    assert env.step(state, "false")[1] == 0.0
    assert dict(env.step(state, "not false").info) == {"format": 0.0, "correct": 0.0}


@pytest.mark.parametrize("level", [1, 2, 3])
def test_the_words_of_a_statement_tell_nothing(level: int) -> None:
    env = environment("nlvr2", 1200, level=level)
    truths: dict[str, list[bool]] = defaultdict(list)
    for task in env.tasks:
        truths[task.statement.rpartition(" ")[0]].append(task.holds)
    assert len(truths) == 2 * level
    assert all(sum(found) * 2 == len(found) for found in truths.values())


def test_what_is_drawn_is_what_the_words_say() -> None:
    env = environment("nlvr2", 24, level=1)
    for task in env.tasks:
        named = []
        for picture in task.pictures():
            pixels = np.asarray(picture).reshape(-1, 3)
            near = Counter(
                min(COLOURS, key=lambda name: np.abs(pixel.astype(int) - COLOURS[name]).sum())
                for pixel in pixels[pixels.max(axis=1).astype(int) - pixels.min(axis=1) > 60]
            )
            named.append(near.most_common(1)[0][0])
        side = 0 if "left" in task.statement else 1
        assert task.seen == ", ".join(named)
        assert task.holds == (named[side] == task.statement.split()[-1])


def test_splits_differ_and_seeds_repeat() -> None:
    def first(split: str) -> list[str]:
        return [task.seen for task in make("nlvr2", Spec(split, 40, 3)).tasks]  # type: ignore[arg-type]

    assert first("train") == first("train")
    assert first("train") != first("test")


def test_photographs_from_a_folder(tmp_path: Path) -> None:
    def cell(shade: int) -> dict[str, bytes]:
        buffer = io.BytesIO()
        Image.new("RGB", (40, 30), (shade,) * 3).save(buffer, "JPEG")
        return {"bytes": buffer.getvalue()}

    rows = [
        {"sentence": f"s{i}", "left_image": cell(i), "right_image": cell(i), "label": label}
        for i, label in enumerate(["True", "False", "True"])
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "validation-0000.parquet")
    env = environment("nlvr2", 2, folder=str(tmp_path))
    assert [(task.statement, task.holds) for task in env.tasks] == [("s0", True), ("s1", False)]
    state, seen = env.reset(1)
    assert [image.size for image in seen.images] == [(40, 30)] * 2
    assert env.step(state, env.solution(1)).reward == 1.0


def test_faults_name_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no parquet file of split validation"):
        environment("nlvr2", folder=str(tmp_path))
    pl.DataFrame({"sentence": ["a"]}).write_parquet(tmp_path / "validation.parquet")
    with pytest.raises(DataError, match="no column for label, left, right"):
        environment("nlvr2", folder=str(tmp_path))
    with pytest.raises(ProfileError, match="choose one of 1, 2, 3"):
        environment("nlvr2", level=4)
