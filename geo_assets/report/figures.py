"""The charts of the report, from numbers to `Figure` blocks: gains, landscape, curves, errors.

Each figure states its n in the caption, carries an alternative text that tells its message, and comes
in a wide and a narrow drawing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from geo_assets.report import wording
from geo_assets.report.blocks import Figure
from geo_assets.report.comparison import Difference
from geo_assets.report.curves import Plot, Point, Series, line_chart, smooth
from geo_assets.report.rows import Axis, Mark, Row, dot_rows
from geo_assets.report.run import Answers, Json, Run

WIDE_PX, NARROW_PX, CELL_PX, RAW_POINTS = 800, 360, 250, 120
LANDSCAPE: tuple[tuple[str, float], ...] = (
    ("Random guess", 328),
    ("Human annotators", 1009),
    ("Average player", 2109),
    ("Claude 3.5 Sonnet", 2269),
    ("OSV-5M's classifier", 3361),
    ("PLONK", 3767),
    ("Chipoint", 4174),
    ("Expert player", 4579),
)


def both(draw: Callable[[int], str]) -> tuple[str, str]:
    """The wide and the narrow drawing of a chart."""
    return draw(WIDE_PX), draw(NARROW_PX)


@dataclass(frozen=True)
class Gain:
    """One line of the forest of gains."""

    label: str
    difference: Difference
    group: str


def _tone(difference: Difference) -> str:
    return (
        "loss" if difference.verdict == "worse" else "after" if difference.verdict == "better" else "before"
    )


def forest(gains: Sequence[Gain], name: str = "gains") -> Figure:
    """Differences of the mean score with their intervals; zero is no change."""
    rows: list[Row] = []
    for group in dict.fromkeys(gain.group for gain in gains):
        rows.append(Row(group, heading=True))
        for gain in (g for g in gains if g.group == group):
            d, kind = gain.difference, _tone(gain.difference)
            note = f"{wording.change(d.difference, 'points')} {wording.interval(d.low, d.high, 'points')}"
            mark = Mark(d.difference, kind, d.low, d.high, hollow=kind == "before")
            rows.append(Row(gain.label, (mark,), note))
    axis = change_axis([gain.difference for gain in gains])
    told = "; ".join(
        f"{gain.group}, {gain.label}: {wording.change(gain.difference.difference, 'points')}"
        for gain in gains
    )
    sizes = ", ".join(dict.fromkeys(f"{g.group} n = {g.difference.n:,}" for g in gains))
    caption = (
        "Dot: mean difference over the same photos. Line: paired 95% interval. A filled dot's interval "
        f"excludes zero; a hollow one's does not. {sizes} photos."
    )
    alt = f"Change of the mean score. {told}."
    return Figure(
        name, "Change of the mean score", alt, caption, *both(lambda w: dot_rows(rows, axis, w, alt))
    )


def change_axis(differences: Sequence[Difference]) -> Axis:
    """An axis of changes of the mean score that holds zero and every interval."""
    ends = [0.0]
    ends += [v for d in differences for v in (d.low, d.high, d.difference) if v is not None]
    pad = 0.06 * (max(ends) - min(ends)) or 10.0
    return Axis(
        min(ends) - pad, max(ends) + pad, "change of the mean score, points per photo",
        lambda v: wording.change(v, "points"), zero=True,
    )  # fmt: skip


def landscape(
    runs: Sequence[tuple[str, str, float, float | None, float | None]], n: int, demo: bool
) -> Figure:
    """Published mean scores on OSV-5M test photos with this run's models among them.

    `runs` holds (label, kind, mean score, low, high). On a drawn world the run stands apart, hollow: it
    answers another, much smaller test.
    """
    own = [
        Row(label, (Mark(score, kind, low, high, hollow=demo),), f"{score:,.0f}", strong=True)
        for label, kind, score, low, high in runs
    ]
    known = [Row(label, (Mark(score, "reference"),), f"{score:,.0f}", "muted") for label, score in LANDSCAPE]
    if demo:
        rows = [Row("Published results on OSV-5M test photos", heading=True), *known]
        rows += [Row("This run, on drawn scenes: another test, do not compare", heading=True), *own]
    else:
        rows = sorted([*known, *own], key=lambda row: row.marks[0].value)
    axis = Axis(0, 5000, "mean score on the test set (5,000 is perfect)")
    told = "; ".join(f"{row.label} {row.note}" for row in rows if not row.heading)
    alt = f"Mean scores. {told}."
    caption = (
        f"n = {n:,} drawn scenes of a few countries. They are not OSV-5M photos, so these scores say "
        "nothing about where this model would stand on the scale above."
        if demo
        else f"This run: n = {n:,} photos, up to ten per country first, greedy; bars are 95% intervals. The "
        "published figures come from the OSV-5M test set or from played rounds, sampled in other ways: read "
        "distances of less than about 100 points as equal."
    )
    return Figure(
        "landscape",
        "Mean score among published results",
        alt,
        caption,
        *both(lambda w: dot_rows(rows, axis, w, alt)),
    )


CURVES: tuple[tuple[str, str, str], ...] = (
    ("reward", "Reward", "share"),
    ("rewards/country_reward/mean", "Country named right", "share"),
    ("rewards/dist_reward/mean", "Distance reward", "share"),
    ("rewards/format_reward/mean", "Right form", "share"),
    ("reward_std", "Spread of the reward", "share"),
    ("frac_reward_zero_std", "Groups without a signal", "share"),
    ("completions/mean_length", "Answer length, tokens", "tokens"),
    ("completions/clipped_ratio", "Answers cut off", "share"),
    ("guesses/effective_countries", "Countries named, effective", "tokens"),
    ("entropy", "Entropy, nats per token", "plain"),
    ("grad_norm", "Gradient norm", "plain"),
)


def log_points(log: Iterable[Json], key: str) -> tuple[tuple[float, float], ...]:
    """(step, value) of one curve; records without it are skipped."""
    return tuple(
        (float(record["step"]), float(record[key]))
        for record in log
        if "step" in record and isinstance(record.get(key), int | float) and math.isfinite(record[key])
    )


def binned(points: Sequence[tuple[float, float]], most: int) -> tuple[tuple[float, float], ...]:
    """At most `most` points, each the mean of its neighbours.

    >>> binned([(1, 2.0), (2, 4.0), (3, 6.0)], 2)
    ((1.5, 3.0), (3.0, 6.0))
    """
    size = math.ceil(len(points) / most)
    groups = [points[i : i + size] for i in range(0, len(points), size)]
    return tuple((sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups)


def training_curves(run: Run) -> tuple[Figure, ...]:
    """One small figure per curve of the trainer's log that this run has."""
    found = ((key, title, unit, log_points(run.log, key)) for key, title, unit in CURVES)
    return tuple(
        training_curve(f"curve-{key.replace('/', '-')}", title, points, unit)
        for key, title, unit, points in found
        if len(points) > 1
    )


def training_curve(name: str, title: str, points: Sequence[Point], unit: str = "") -> Figure:
    """One small curve over the steps, smoothed above its raw line."""
    smoothed = smooth(points, max(3, len(points) // 12))
    first, last = smoothed[0][1], smoothed[-1][1]
    spread = max(y for _, y in points) - min(y for _, y in points)
    shown = f"{{:.{0 if unit == 'tokens' else 2 if spread > 0.04 else 3}f}}".format
    plot = Plot("step", "", y_format=shown)
    series = Series(smoothed, raw=binned(points, RAW_POINTS))
    alt = f"{title} over {points[-1][0]:.0f} steps: from about {shown(first)} to about {shown(last)}."
    caption = f"{shown(first)} → {shown(last)}, n = {len(points):,} steps"
    return Figure(name, title, alt, caption, line_chart([series], plot, CELL_PX, 170, alt))


def checkpoint_curve(run: Run, start: float | None) -> Figure | None:
    """The choosing criterion of every checkpoint, the start's level, and the chosen one ringed."""
    criterion = run.settings.checkpoint_metrics.criterion
    metric = wording.BY_KEY[criterion]
    points = []
    for row in run.checkpoints:
        found = wording.lookup(row, criterion)
        if found is not None:
            points.append((float(row["step"]), found))
    if not points:
        return None
    points.sort()
    best = next((p for p in points if p[0] == run.best.get("step")), None)
    n = int(wording.lookup(run.checkpoints[0], "n_photos") or 0)
    shown = lambda v: wording.value(v, metric.unit)  # noqa: E731
    plot = Plot(
        "training step",
        metric.label,
        y_format=shown,
        rules=((start, f"before training {shown(start)}"),) if start is not None else (),
        callouts=((*best, f"chosen: step {best[0]:.0f}, {shown(best[1])}"),) if best else (),
    )
    series = [Series(tuple(points), dots=True)]
    told = ", ".join(f"step {step:.0f}: {shown(level)}" for step, level in points)
    alt = f"{metric.label} by checkpoint. {told}."
    caption = (
        f"{metric.label} on the quick set, n = {n:,} photos, {run.settings.checkpoint_metrics.decoding}."
    )
    if why := run.best.get("why"):
        caption += f" Chosen: {why}."
    draw = lambda w: line_chart(series, plot, w, 280, alt)  # noqa: E731
    return Figure("checkpoints", "Which checkpoint", alt, caption, *both(draw))


def error_curves(pairs: Sequence[tuple[str, str, Answers]], name: str = "errors") -> Figure:
    """Share of photos within a distance, as a curve over distance, for (label, kind, answers)."""
    grid = np.geomspace(1, 20_000, 90)
    series = []
    for label, kind, answers in pairs:
        errors = np.array([math.inf if p.d_km is None else p.d_km for p in answers.predictions])
        shares = (errors[None, :] <= grid[:, None]).mean(axis=1)
        series.append(Series(tuple(zip(grid.tolist(), shares.tolist(), strict=True)), kind, label))
    plot = Plot(
        "distance from the truth, km (log scale)",
        "share of photos within",
        x_log=True,
        x_domain=(1, 20_000),
        y_domain=(0, 1),
        x_ticks=(1, 25, 200, 750, 2500, 20_000),
        y_format="{:.0%}".format,
        x_format=lambda v: f"{v / 1000:g}k" if v >= 10_000 else f"{v:,.0f}",
    )
    at_750 = ", ".join(
        f"{label} {np.mean([(p.d_km is not None and p.d_km <= 750) for p in a.predictions]):.0%}"
        for label, _, a in pairs
    )
    alt = f"Share of photos within a distance; within 750 km: {at_750}."
    n = pairs[0][2].n_photos
    caption = (
        f"Greedy answers, n = {n:,} photos. Answers without coordinates never count as within. Within 750 "
        f"km: {at_750}."
    )
    draw = lambda w: line_chart(series, plot, w, 320, alt)  # noqa: E731
    return Figure(name, "Share of photos within a distance", alt, caption, *both(draw))
