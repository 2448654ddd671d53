"""The gym in the report: what it is, its start, gain, controls and curves; and its own page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from geo_assets.report.gym import gym_sections, verdict
from geo_assets.report.gym_page import gym_page
from geo_assets.report.render import render
from geo_assets.report.run import Run
from geo_assets.report.sections import training_section

STEPS = 20
LEVELS = ("country", "region", "city", "coordinates")


def change(before: float, after: float, half: float) -> dict[str, Any]:
    difference = after - before
    low, high = difference - half, difference + half
    return {
        "n": 300, "before": before, "after": after, "difference": difference, "low": low, "high": high,
        "excludes_zero": low > 0 or high < 0,
    }  # fmt: skip


def curriculum_log() -> dict[str, list[tuple[int, float]]]:
    """A schedule from 0.4 to 0.1 for the country, and flat levels."""
    steps = range(1, STEPS + 1)
    found = {f"curriculum/{level}_level": [(step, 0.25) for step in steps] for level in LEVELS}
    for place, level in enumerate(LEVELS):
        moves = [(1 - s / STEPS) * (0.4 - place / 10) + s / STEPS * (0.1 + place / 10) for s in steps]
        found[f"curriculum/{level}_weight"] = list(zip(steps, moves, strict=True))
    return found


def summary(**values: Any) -> dict[str, Any]:
    cell = {"n": 300, "samples": 2, "mean_reward": 0.5, "format_rate": 1.0, "mean_completion_tokens": 9.0}
    cells = dict.fromkeys(("greedy", "sampled", "blank"), cell)
    return {
        "environment": "nlvr2", "about": "true or <false>?", "parts": ["format", "correct"],
        "start_note": "The start is warm_start as it is.", "steps": STEPS, "shuffled_rewards": False,
        "checkpoint": "checkpoint-20", "start": cells, "policy": cells,
        "curves": {"reward": [(step, step / 40) for step in range(1, STEPS + 1)]},
        "attacks": [{"attack": "always true", "score": 0.5, "honest": 0.5, "passed": True}],
        "change": {
            "greedy": change(0.5, 0.6, 0.05), "sampled": change(0.5, 0.7, 0.05),
            "blank": change(0.5, 0.51, 0.05),
        },
        **values,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("greedy", "word"), [(0.6, "Improved"), (0.52, "Partly improved"), (0.4, "Partly improved")]
)
def test_improved_is_said_of_what_excludes_zero(greedy: float, word: str) -> None:
    made = summary()
    made["change"] = {**made["change"], "greedy": change(0.5, greedy, 0.05)}
    found = verdict(made)
    assert found.word == word
    assert f"{greedy - 0.5:+.3f}" in found.sentence and "300 test tasks" in found.sentence


def test_a_control_run_says_so() -> None:
    assert not any("control run" in caveat for caveat in verdict(summary()).caveats)
    assert any("control run" in caveat for caveat in verdict(summary(shuffled_rewards=True)).caveats)


def test_the_report_has_a_section_where_the_run_has_a_gym(demo_run: Run, tmp_path: Path) -> None:
    assert gym_sections(None) == gym_sections(tmp_path) == ()
    folder = tmp_path / "gym_metrics"
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(summary(), sort_keys=True))
    run = replace(demo_run, upstream={**demo_run.upstream, "gym_metrics": folder})
    render(run, tmp_path / "report")
    text = (tmp_path / "report" / "report.md").read_text()
    section = text.partition("## The gym: nlvr2")[2].partition("\n## ")[0]
    told = ("20 GRPO steps", "as it is", "+0.200", "grey images the policy earns 0.510", "always true")
    assert all(words in section for words in told)
    assert "figures/gym-reward.svg" in section
    assert re.findall(r"^\| (\w+), 2 a task", section, re.MULTILINE) == ["greedy", "sampled", "blank"]
    page = (tmp_path / "report" / "report.html").read_text()
    assert "&lt;false&gt;" in page and "<false>" not in page


def test_a_curriculum_is_drawn_as_it_was_logged(demo_run: Run) -> None:
    page = gym_page(summary(curves=curriculum_log()))
    assert "Weights of the reward" in page and "country exp(-d/2,000 km)" in page
    assert page.count("Level: ") >= len(LEVELS) and "<script" not in page
    assert "Weights of the reward" not in gym_page(summary())
    log = [
        {"step": step, **{key: dict(points)[step] for key, points in curriculum_log().items()}}
        for step in range(1, STEPS + 1)
    ]
    run = replace(demo_run, log=tuple(log))
    names = [
        f.name
        for block in training_section(run).blocks
        for f in getattr(block, "figures", (block,))
        if hasattr(f, "name")
    ]
    assert "weights" in names and {f"level-{level}" for level in LEVELS} <= set(names)
