"""Vegetation beside the road, one function a kind. `x`, `y` is the foot, `size` the scale in pixels."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

from PIL import ImageDraw

from geo_assets.world.climate import RGB
from geo_assets.world.palette import jitter

Pen = ImageDraw.ImageDraw
TRUNK: RGB = (96, 70, 46)
LEAF: RGB = (52, 112, 46)


def draw_tree(
    rng: random.Random, pen: Pen, kind: str, x: float, y: float, size: float, shadow: float
) -> None:
    """A plant with its shadow; `shadow` is the length in tree heights, negative to the left."""
    if kind == "none":
        return
    tip = x + shadow * size
    pen.polygon(
        [
            (x - 0.1 * size, y),
            (x + 0.1 * size, y),
            (tip, y + 0.12 * size),
            (x + shadow * size * 0.9, y + 0.22 * size),
        ],
        fill=(60, 60, 50),
    )
    _KINDS[kind](rng, pen, x, y, size)


def _palm(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    leaf = jitter(rng, LEAF, 16)
    top_x, top_y = x + size * 0.08, y - size
    pen.line([x, y, top_x, top_y], fill=jitter(rng, TRUNK, 10), width=max(3, int(size * 0.07)))
    for k in range(7):
        angle = math.pi * k / 6
        end_x = top_x + size * 0.45 * math.cos(angle)
        end_y = top_y - size * 0.2 * math.sin(angle) + size * 0.22 * abs(math.cos(angle))
        bend = ((top_x + end_x) / 2, top_y - size * (0.17 * math.sin(angle) + 0.04))
        pen.line([(top_x, top_y), bend, (end_x, end_y)], fill=leaf, width=max(3, int(size * 0.06)))


def _broad(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    leaf = jitter(rng, LEAF, 16)
    pen.rectangle([x - size * 0.06, y - size * 0.5, x + size * 0.06, y], fill=jitter(rng, TRUNK, 10))
    for dx, dy, radius in ((0, -0.75, 0.36), (-0.25, -0.6, 0.28), (0.25, -0.62, 0.28)):
        _disc(pen, x + dx * size, y + dy * size, radius * size, radius * size, jitter(rng, leaf, 8))


def _conifer(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    needles = jitter(rng, (24, 70, 52), 10)
    pen.rectangle([x - size * 0.04, y - size * 0.2, x + size * 0.04, y], fill=jitter(rng, TRUNK, 10))
    for k in range(3):
        half, low, high = size * (0.16 + 0.1 * k), y - size * (0.75 - 0.28 * k), y - size * (1.25 - 0.05 * k)
        pen.polygon([(x, high), (x - half, low), (x + half, low)], fill=needles)


def _birch(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    pen.rectangle([x - size * 0.035, y - size * 0.9, x + size * 0.035, y], fill=(232, 230, 224))
    for k in range(4):
        mark = y - size * (0.15 + 0.18 * k)
        pen.line([x - size * 0.03, mark, x + size * 0.02, mark], fill=(40, 40, 40), width=2)
    _disc(pen, x, y - size * 0.82, size * 0.26, size * 0.38, jitter(rng, (126, 160, 70), 12))


def _acacia(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    bark, width = jitter(rng, TRUNK, 10), max(3, int(size * 0.05))
    pen.line([x, y, x, y - size * 0.6, x - size * 0.3, y - size * 0.8], fill=bark, width=width)
    pen.line([x, y - size * 0.6, x + size * 0.3, y - size * 0.8], fill=bark, width=width)
    _disc(pen, x, y - size * 0.85, size * 0.62, size * 0.13, jitter(rng, (104, 122, 56), 10))


def _cypress(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    _disc(pen, x, y - size * 0.62, size * 0.13, size * 0.62, jitter(rng, (30, 76, 48), 8))


def _olive(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    pen.rectangle([x - size * 0.06, y - size * 0.35, x + size * 0.06, y], fill=jitter(rng, TRUNK, 10))
    _disc(pen, x, y - size * 0.52, size * 0.38, size * 0.28, jitter(rng, (122, 138, 96), 10))


def _shrub(rng: random.Random, pen: Pen, x: float, y: float, size: float) -> None:
    for _ in range(2):
        dx = rng.uniform(-0.4, 0.4) * size
        _disc(pen, x + dx, y - size * 0.12, size * 0.3, size * 0.18, jitter(rng, (128, 130, 76), 14))


def _disc(pen: Pen, x: float, y: float, half_width: float, half_height: float, colour: RGB) -> None:
    pen.ellipse([x - half_width, y - half_height, x + half_width, y + half_height], fill=colour)


_KINDS: dict[str, Callable[[random.Random, Pen, float, float, float], None]] = {
    "palm": _palm,
    "broad": _broad,
    "conifer": _conifer,
    "birch": _birch,
    "acacia": _acacia,
    "cypress": _cypress,
    "olive": _olive,
    "shrub": _shrub,
}
