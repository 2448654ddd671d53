"""Small training curves, and how a reward that changes on the way moved: weights and levels over the steps.

The weights are those that the trainer logged, so a resumed run shows whether it went on in the middle of a
stage. What it leaves out: rewards that stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geo_assets.report.blocks import Figure
from geo_assets.report.curves import Plot, Point, Series, line_chart, smooth
from geo_assets.report.figures import CELL_PX, both
from geo_assets.task.hierarchy import COARSE, FINE, LEVELS, TAU_KM
from geo_assets.task.rewards import CURRICULUM

WINDOW_STEPS = 9
Points = Callable[[str], Sequence[Point]]
"""The logged (step, value) of a key of the trainer's log."""


def small_curve(name: str, title: str, points: Sequence[Point]) -> Figure:
    """One curve over the steps, smoothed above its raw line."""
    smoothed = smooth(points, WINDOW_STEPS)
    shown = f"{smoothed[0][1]:.3f} → {smoothed[-1][1]:.3f}"
    alt = f"{title} over {points[-1][0]:.0f} steps: {shown}."
    wide = line_chart([Series(smoothed, raw=tuple(points))], Plot("step", ""), CELL_PX, 170, alt)
    return Figure(name, title, alt, f"{shown}, n = {len(points):,} steps", wide)


def weights_figure(points: Points, prefix: str = "") -> Figure | None:
    """The weights of the levels as they were in each step, with the levels' kernels; None without any."""
    logged = {level: tuple(points(f"{CURRICULUM}/{level}_weight")) for level in LEVELS}
    if not all(len(found) > 1 for found in logged.values()):
        return None
    finest = LEVELS[-1]
    series = [
        Series(found, "after" if level == finest else "before", level) for level, found in logged.items()
    ]
    steps = len(logged[finest])
    kernels = ", ".join(f"{level} exp(-d/{tau:,.0f} km)" for level, tau in zip(LEVELS, TAU_KM, strict=True))
    alt = f"Weights of {', '.join(LEVELS)} in each of {steps} optimizer steps."
    caption = (
        f"As logged by the trainer, n = {steps:,} optimizer steps; they move from {_shares(COARSE)} to "
        f"{_shares(FINE)}. Kernels: {kernels}; a level that is right counts whole."
    )
    plot = Plot("optimizer step", "weight", y_domain=(0.0, 0.5))
    draw = lambda width: line_chart(series, plot, width, 240, alt)  # noqa: E731
    return Figure(f"{prefix}weights", "Weights of the reward's levels", alt, caption, *both(draw))


def _shares(weights: Sequence[float]) -> str:
    return " : ".join(f"{weight:.1f}" for weight in weights)


def level_curves(points: Points, prefix: str = "") -> tuple[Figure, ...]:
    """The mean value of each level, before its weight."""
    found = ((level, points(f"{CURRICULUM}/{level}_level")) for level in LEVELS)
    return tuple(
        small_curve(f"{prefix}level-{level}", f"Level: {level}", logged)
        for level, logged in found
        if len(logged) > 1
    )
