"""The page about an environment of the gym: verdict, curves of the reward's parts, metrics, attacks.

Same rules as the report: "improved" only where the paired 95% interval excludes zero, every figure with its
n, the same bytes for the same inputs. The curriculum, where the reward has one, is drawn over optimizer
steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from geo_assets.report.blocks import Block, Cell, Figure, Grid, Section, Table, Text, Tone
from geo_assets.report.curves import Plot, Series, line_chart, smooth
from geo_assets.report.figures import CELL_PX, both
from geo_assets.report.render import render_page
from geo_assets.report.verdict import Tile, Verdict, judge
from geo_assets.task.hierarchy import LEVELS, TAU_KM, weights

Json = Mapping[str, Any]
WINDOW_STEPS = 9
WHO = (("start", "before"), ("policy", "after"))


def gym_page(
    summary: Json,
    log: Sequence[Json],
    attacks: Sequence[Json],
    parts: Sequence[str],
    curriculum: bool,
    note: str,
) -> str:
    """The HTML page.

    Args:
        summary: `summary.json` of gym_metrics.
        log: TRL's records of the run.
        attacks: rows of the environment's attack table.
        parts: names of the reward's parts.
        curriculum: whether the reward moves from coarse to fine.
        note: one sentence on where the start model comes from.
    """
    steps = max((int(record["step"]) for record in log if "reward" in record), default=0)
    training: list[Block] = [Grid(tuple(_curves(log, parts)))]
    if curriculum and steps:
        training.append(_stages(steps))
    sections = [
        Section("metrics", "Before and after", (_metrics(summary), Text(note, aside=True))),
        Section("training", "Training", tuple(training)),
        Section("attacks", "What does not pay", (_attacks(attacks),)),
    ]
    title = f"Environment {summary['environment']}"
    eyebrow = f"gym · GRPO, {steps} steps · {summary['checkpoint']}"
    return render_page(title, eyebrow, _verdict(summary), sections, "Made by geo_assets.")


def _verdict(summary: Json) -> Verdict:
    change = {name: values for name, values in summary["change"].items() if name != "blank"}
    verdicts = [_judged(values) for values in change.values()]
    told = "; ".join(
        f"{name} reward went from {v['before']:.3f} to {v['after']:.3f} ({v['difference']:+.3f}, 95% "
        f"interval {v['low']:+.3f} to {v['high']:+.3f})"
        for name, v in change.items()
    )
    n = next(iter(change.values()))["n"]
    word = judge(verdicts)
    tones = {"Improved": "good", "Partly improved": "caution", "No change shown": "unknown", "Worse": "bad"}
    blank = summary["change"]["blank"]
    caveat = f"On grey images the policy earns {blank['after']:.3f} (start {blank['before']:.3f})."
    tiles = tuple(
        Tile(f"{name} reward", f"{v['after']:.3f}", (f"before {v['before']:.3f}",))
        for name, v in change.items()
    )
    sentence = f"On {n:,} test tasks the {told}."
    return Verdict(word, tones[word], sentence, (caveat,), tiles, {})  # type: ignore[arg-type]


def _judged(values: Json) -> str:
    if not values["excludes_zero"]:
        return "unclear"
    return "better" if values["difference"] > 0 else "worse"


def _metrics(summary: Json) -> Table:
    rows: list[tuple[Cell | str, ...]] = []
    for name, values in summary["change"].items():
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


def _curves(log: Sequence[Json], parts: Sequence[str]) -> Iterator[Figure]:
    names = [("reward", "Reward"), *((f"rewards/{part}_reward/mean", part) for part in parts)]
    names += [("entropy", "Entropy"), ("frac_reward_zero_std", "Groups without spread")]
    for key, title in names:
        points = [(float(r["step"]), float(r[key])) for r in log if r.get(key) is not None]
        if len(points) < 2:
            continue
        smoothed = smooth(points, WINDOW_STEPS)
        shown = f"{smoothed[0][1]:.3f} → {smoothed[-1][1]:.3f}"
        alt = f"{title} over {points[-1][0]:.0f} steps: {shown}."
        plot = Plot("step", "")
        wide = line_chart([Series(smoothed, raw=tuple(points))], plot, CELL_PX, 170, alt)
        name = f"gym-{key.replace('/', '-')}"
        yield Figure(name, title, alt, f"{shown}, n = {len(points):,} steps", wide)


def _stages(steps: int) -> Figure:
    """The weights of the hierarchical reward's levels over the optimizer steps."""
    marks = [step * steps / 20 for step in range(21)]
    series = []
    for place, level in enumerate(LEVELS):
        points = tuple((step, weights(step / steps)[place]) for step in marks)
        series.append(Series(points, "after" if place == len(LEVELS) - 1 else "before", level))
    kernels = ", ".join(f"{level} exp(-d/{tau:,.0f} km)" for level, tau in zip(LEVELS, TAU_KM, strict=True))
    alt = f"Weights of the levels from coarse to fine over {steps} optimizer steps."
    caption = f"n = {steps:,} optimizer steps. Kernels: {kernels}. A resumed run goes on where it stopped."
    plot = Plot("optimizer step", "weight", y_domain=(0.0, 0.5))
    draw = lambda width: line_chart(series, plot, width, 240, alt)  # noqa: E731
    return Figure("gym-stages", "Weights of the reward's levels", alt, caption, *both(draw))


def _attacks(rows: Sequence[Json]) -> Table:
    shown = tuple(
        (
            str(row["attack"]),
            f"{row['score']:.3f}",
            f"{row['honest']:.3f}",
            Cell("holds" if row["passed"] else "BROKEN", "" if row["passed"] else "bad"),
        )
        for row in rows
    )
    columns = ("canned policy", "mean reward", "at most", "")
    return Table(
        "Attacks on the reward", columns, shown, "At most: what the same knowledge is honestly worth."
    )
