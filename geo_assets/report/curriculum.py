"""How a reward that changes on the way moved: weights and levels over the steps.

The weights are those that the trainer logged, so a resumed run shows whether it went on in the middle of a
stage. What it leaves out: rewards that stay the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geo_assets.report.blocks import Figure
from geo_assets.report.curves import Plot, Point, Series, line_chart
from geo_assets.report.figures import both, training_curve
from geo_assets.task.hierarchy import COARSE, FINE, LEVELS, TAU_KM
from geo_assets.task.rewards import CURRICULUM

Points = Callable[[str], Sequence[Point]]
"""The logged (step, value) of a key of the trainer's log."""


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
    pictures = both(lambda width: line_chart(series, plot, width, 240, alt))
    return Figure(f"{prefix}weights", "Weights of the reward's levels", alt, caption, *pictures)


def _shares(weights: Sequence[float]) -> str:
    return " : ".join(f"{weight:.1f}" for weight in weights)


def level_curves(points: Points, prefix: str = "") -> tuple[Figure, ...]:
    """The mean value of each level, before its weight."""
    found = ((level, points(f"{CURRICULUM}/{level}_level")) for level in LEVELS)
    return tuple(
        training_curve(f"{prefix}level-{level}", f"Level: {level}", logged)
        for level, logged in found
        if len(logged) > 1
    )
