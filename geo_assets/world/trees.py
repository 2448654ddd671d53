"""Vegetation beside the road, one function a kind. `x`, `y` is the foot, `size` the scale in pixels."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from geo_assets.world.climate import RGB
from geo_assets.world.palette import jitter, mix
from geo_assets.world.pen import Pen

TRUNK: RGB = (96, 70, 46)
LEAF: RGB = (52, 112, 46)
SHADOW: RGB = (58, 58, 50)
SUNLIT: RGB = (235, 240, 150)


def draw_tree(
    rng: random.Random, pen: Pen, kind: str, x: float, y: float, size: float, shadow: float
) -> None:
    """A plant with its shadow; `shadow` is the length in tree heights, negative to the left."""
    if kind == "none":
        return
    if shadow:
        tip, low = x + shadow * size * 0.75, y + size * 0.12
        pen.line([(x, y), (tip, low)], SHADOW, size * 0.05)
        pen.disc(tip, low, size * 0.3, size * 0.08, SHADOW)
    _KINDS[kind](rng, pen, x, y, size)


def _palm(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    leaf = jitter(rng, LEAF, 16)
    lean = rng.uniform(-0.12, 0.12) * size
    top_x, top_y = x + lean, y - size
    trunk = [(x, y), (x + lean * 0.3, y - size * 0.5), (top_x, top_y)]
    pen.line(trunk, jitter(rng, (128, 104, 76), 10), max(3, size * 0.06))
    for k in range(8):
        angle = math.pi * k / 7
        end_x = top_x + size * 0.46 * math.cos(angle)
        end_y = top_y - size * 0.2 * math.sin(angle) + size * 0.24 * abs(math.cos(angle))
        bend = ((top_x + end_x) / 2, top_y - size * (0.17 * math.sin(angle) + 0.05))
        pen.line([(top_x, top_y), bend, (end_x, end_y)], leaf, max(2.5, size * 0.055))


def _broad(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    leaf = jitter(rng, LEAF, 16)
    pen.box(x - size * 0.06, y - size * 0.5, x + size * 0.06, y, jitter(rng, TRUNK, 10))
    _crown(rng, pen, x, y - size * 0.72, size * 0.46, size * 0.4, leaf)


def _conifer(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    needles = jitter(rng, (24, 70, 52), 10)
    pen.box(x - size * 0.04, y - size * 0.2, x + size * 0.04, y, jitter(rng, TRUNK, 10))
    for k in range(4):
        half, low = size * (0.15 + 0.075 * k), y - size * (0.82 - 0.22 * k)
        peak = (x, y - size * (1.28 - 0.2 * k))
        pen.polygon([peak, (x - half, low), (x + half, low)], needles)
        pen.polygon([peak, (x, low), (x + half, low)], mix(needles, (0, 0, 0), 0.22))


def _birch(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    leaf = jitter(rng, (126, 160, 70), 12)
    pen.box(x - size * 0.035, y - size * 0.95, x + size * 0.035, y, (232, 230, 224))
    for k in range(4):
        mark = y - size * (0.1 + 0.12 * k)
        pen.box(x - size * 0.03, mark, x + size * 0.015, mark + size * 0.02, (40, 40, 40))
    _crown(rng, pen, x, y - size * 0.86, size * 0.27, size * 0.36, leaf)


def _eucalypt(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    bark, leaf = jitter(rng, (206, 192, 174), 10), jitter(rng, (112, 130, 92), 12)
    fork = (x + rng.uniform(-0.05, 0.05) * size, y - size * 0.55)
    pen.line([(x, y), fork], bark, size * 0.07)
    for dx, height in ((-0.32, 1.0), (0.02, 1.18), (0.3, 0.95)):
        tip = (x + dx * size, y - size * height)
        pen.line([fork, tip], bark, size * 0.035)
        _crown(rng, pen, *tip, size * 0.2, size * 0.13, leaf)


def _cactus(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    green = jitter(rng, (74, 118, 70), 12)
    width, top = size * 0.16, y - size * rng.uniform(0.75, 0.95)
    pen.box(x - width / 2, top, x + width / 2, y, green, width / 2)
    for side, low, high in ((-1, 0.35, 0.65), (1, 0.45, 0.78)):
        elbow, arm = y - size * low, x + side * size * 0.24
        pen.line([(x, elbow), (arm, elbow)], green, width * 0.7)
        pen.box(
            arm - width * 0.35, y - size * high, arm + width * 0.35, elbow + width * 0.35, green, width * 0.35
        )
    pen.line([(x, top + width), (x, y)], mix(green, SUNLIT, 0.25), width * 0.15)


def _acacia(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    bark, leaf = jitter(rng, TRUNK, 10), jitter(rng, (104, 122, 56), 10)
    fork = (x, y - size * 0.55)
    pen.line([(x, y), fork], bark, max(3, size * 0.06))
    for dx in (-0.34, 0.3):
        pen.line([fork, (x + dx * size, y - size * 0.82)], bark, max(2, size * 0.04))
    pen.disc(x, y - size * 0.84, size * 0.64, size * 0.11, mix(leaf, (0, 0, 0), 0.2))
    pen.disc(x + size * 0.04, y - size * 0.89, size * 0.55, size * 0.09, leaf)


def _cypress(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    leaf = jitter(rng, (30, 76, 48), 8)
    pen.disc(x, y - size * 0.62, size * 0.13, size * 0.62, leaf)
    pen.disc(x + size * 0.04, y - size * 0.55, size * 0.07, size * 0.5, mix(leaf, (0, 0, 0), 0.2))


def _olive(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    bark = jitter(rng, TRUNK, 10)
    pen.polygon([(x - size * 0.1, y), (x + size * 0.1, y), (x + size * 0.04, y - size * 0.4)], bark)
    _crown(rng, pen, x, y - size * 0.52, size * 0.4, size * 0.27, jitter(rng, (122, 138, 96), 10))


def _shrub(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    for _ in range(3):
        dx = rng.uniform(-0.45, 0.45) * size
        leaf = jitter(rng, (128, 130, 76), 14)
        pen.disc(x + dx, y - size * 0.1, size * 0.24, size * 0.17, leaf)


def _crown(
    rng: random.Random, pen: Pen, x: float, y: float, half_width: float, half_height: float, leaf: RGB
) -> None:
    """Leaves as a heap of discs, darker below and lighter above."""
    pen.disc(x, y + half_height * 0.15, half_width, half_height * 0.85, mix(leaf, (0, 0, 0), 0.22))
    for _ in range(4):
        dx, dy = rng.uniform(-0.55, 0.55) * half_width, rng.uniform(-0.55, 0.2) * half_height
        pen.disc(x + dx, y + dy, half_width * 0.5, half_height * 0.48, jitter(rng, leaf, 8))
    pen.disc(
        x - half_width * 0.15,
        y - half_height * 0.5,
        half_width * 0.4,
        half_height * 0.3,
        mix(leaf, SUNLIT, 0.15),
    )


_KINDS: dict[str, Callable[[random.Random, Pen, float, float, float], None]] = {
    "palm": _palm,
    "broad": _broad,
    "conifer": _conifer,
    "birch": _birch,
    "eucalypt": _eucalypt,
    "cactus": _cactus,
    "acacia": _acacia,
    "cypress": _cypress,
    "olive": _olive,
    "shrub": _shrub,
}
