"""An environment of the gym as blocks and a section of the report; `gym_page.py` is its own page.

Same rules as the report: "improved" only where the paired 95% interval excludes zero, every figure with its
n, the same bytes for the same inputs. All that is shown comes from `summary.json` of gym_metrics.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geo_assets.report import curriculum
from geo_assets.report.blocks import Block, Cell, Figure, Grid, Section, Table, Text, Tone
from geo_assets.report.curves import Point
from geo_assets.report.figures import training_curve
from geo_assets.report.verdict import TONES, Tile, Verdict, judge

Json = Mapping[str, Any]
SUMMARY = "summary.json"
DECODINGS = ("greedy", "sampled", "blank")
CONTROL = (
    "This is a control run: every reward went to a random row, so a gain here would mean a fault in the "
    "pipeline."
)


def gym_sections(folder: Path | None) -> tuple[Section, ...]:
    """The section of the report about gym_metrics in `folder`; none where the run has none."""
    if folder is None or not (folder / SUMMARY).is_file():
        return ()
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    judged = verdict(summary)
    lead = (
        f"Beside the main line the same trainer ran {summary['steps']} GRPO steps on the environment "
        f"{summary['environment']} ({summary['about']}). {judged.word}. {judged.sentence}"
    )
    notes = " ".join((summary["start_note"], *judged.caveats))
    blocks = (Text(lead), Text(notes, aside=True), metrics(summary), *training(summary), attacks(summary))
    return (Section("gym", f"The gym: {summary['environment']}", blocks),)


def training(summary: Json) -> Iterator[Block]:
    """Curves of the reward and its parts, and of the curriculum where the reward has one."""

    def points(key: str) -> list[Point]:
        return [(float(step), float(value)) for step, value in summary["curves"].get(key, ())]

    yield Grid((*_curves(summary, points), *curriculum.level_curves(points, "gym-")))
    if stages := curriculum.weights_figure(points, "gym-"):
        yield stages


def verdict(summary: Json) -> Verdict:
    """What may be said of the change: greedy and sampled, with the control on grey images beside it."""
    change = {name: summary["change"][name] for name in DECODINGS if name != "blank"}
    word = judge([_judged(values) for values in change.values()])
    told = "; ".join(
        f"{name} reward went from {v['before']:.3f} to {v['after']:.3f} ({v['difference']:+.3f}, 95% "
        f"interval {v['low']:+.3f} to {v['high']:+.3f})"
        for name, v in change.items()
    )
    n = next(iter(change.values()))["n"]
    blank = summary["change"]["blank"]
    caveats = [f"On grey images the policy earns {blank['after']:.3f} (start {blank['before']:.3f})."]
    if summary["shuffled_rewards"]:
        caveats.append(CONTROL)
    tiles = tuple(
        Tile(f"{name} reward", f"{v['after']:.3f}", (f"before {v['before']:.3f}",))
        for name, v in change.items()
    )
    sentence = f"On {n:,} test tasks the {told}."
    return Verdict(word, TONES[word], sentence, tuple(caveats), tiles, {})


def _judged(values: Json) -> str:
    if not values["excludes_zero"]:
        return "unclear"
    return "better" if values["difference"] > 0 else "worse"


def metrics(summary: Json) -> Table:
    """Rewards before and after by decoding, each change with its paired interval."""
    rows: list[tuple[Cell | str, ...]] = []
    for name in DECODINGS:
        values = summary["change"][name]
        before, after = summary["start"][name], summary["policy"][name]
        tones: dict[str, Tone] = {"better": "good", "worse": "bad", "unclear": ""}
        cells = [
            f"{name}, {before['samples']} a task",
            f"{before['mean_reward']:.3f}",
            f"{after['mean_reward']:.3f}",
        ]
        change = f"{values['difference']:+.3f} [{values['low']:+.3f}, {values['high']:+.3f}]"
        formats = f"{before['format_rate']:.3f} → {after['format_rate']:.3f}"
        lengths = f"{before['mean_completion_tokens']:.1f} → {after['mean_completion_tokens']:.1f}"
        rows.append((*cells, Cell(change, tones[_judged(values)]), formats, lengths))
    n = summary["policy"]["greedy"]["n"]
    return Table(
        f"Mean reward of {n:,} test tasks",
        ("decoding", "before", "after", "change [95% interval]", "format", "tokens"),
        tuple(rows),
        "Blank is a control: the same questions about grey images.",
    )


def _curves(summary: Json, points: curriculum.Points) -> Iterator[Figure]:
    names = [("reward", "Reward")]
    names += [(f"rewards/{part}_reward/mean", f"Part: {part}") for part in summary["parts"]]
    names += [("entropy", "Entropy"), ("frac_reward_zero_std", "Groups without spread")]
    for key, title in names:
        if len(found := points(key)) > 1:
            yield training_curve(f"gym-{key.replace('/', '-')}", title, found)


def attacks(summary: Json) -> Table:
    """What each canned policy earns, beside the most that it may."""
    shown = tuple(
        (
            str(row["attack"]),
            f"{row['score']:.3f}",
            f"{row['honest']:.3f}",
            Cell("holds" if row["passed"] else "BROKEN", "" if row["passed"] else "bad"),
        )
        for row in summary["attacks"]
    )
    columns = ("canned policy", "mean reward", "at most", "")
    return Table(
        "Attacks on the reward", columns, shown, "At most: what the same knowledge is honestly worth."
    )
