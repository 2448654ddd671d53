"""Houses beside the road, by their walls and roofs."""

from __future__ import annotations

import random
from dataclasses import dataclass

from geo_assets.world.climate import RGB
from geo_assets.world.palette import jitter, mix
from geo_assets.world.pen import Pen

GLASS: RGB = (70, 90, 110)


@dataclass(frozen=True)
class Style:
    """Colours and proportions of a kind of house, in units of its size.

    `pitch` is the height of the roof (0: flat) and `ridge` the half length of its ridge in
    widths; `storeys` rows of windows stand below the eaves.
    """

    wall: RGB
    roof: RGB
    height: float
    pitch: float
    storeys: int
    ridge: float = 0.3
    trim: RGB | None = None
    chimney: bool = False
    boards: bool = False
    tank: bool = False
    veranda: bool = False


STYLES = {
    "clapboard": Style((226, 222, 208), (96, 96, 102), 0.7, 0.4, 1, boards=True, trim=(250, 250, 248)),
    "flat roof": Style((226, 202, 168), (170, 150, 125), 0.8, 0.0, 2, tank=True),
    "tile roof": Style((238, 228, 206), (190, 92, 56), 0.7, 0.4, 1, ridge=0.34),
    "brick": Style((158, 84, 62), (86, 84, 90), 0.85, 0.36, 2, ridge=0.4, chimney=True, trim=(240, 238, 232)),
    "red wood": Style(
        (150, 44, 36), (70, 68, 70), 0.7, 0.42, 1, boards=True, trim=(244, 244, 240), chimney=True
    ),
    "tin roof": Style((176, 150, 120), (168, 176, 180), 0.5, 0.16, 1, ridge=0.5, veranda=True),
    "block": Style((198, 200, 200), (150, 150, 150), 1.7, 0.0, 4),
}


def draw_house(rng: random.Random, pen: Pen, kind: str, x: float, y: float, size: float) -> None:
    """A house whose front stands on `y`, centred on `x`."""
    style = STYLES[kind]
    width = size * rng.uniform(1.2, 1.6)
    left, right, eaves = x - width / 2, x + width / 2, y - size * style.height
    wall = jitter(rng, style.wall, 12)
    pen.box(left, eaves, right, y, wall)
    if style.boards:
        for k in range(1, 6):
            board = eaves + (y - eaves) * k / 6
            pen.line([(left, board), (right, board)], mix(wall, (0, 0, 0), 0.14), 1)
    _draw_windows(pen, style, left, eaves, right, y)
    if style.trim and style.boards:
        for corner in (left, right - size * 0.06):
            pen.box(corner, eaves, corner + size * 0.06, y, style.trim)
    _draw_roof(rng, pen, style, x, eaves, width, size)
    if style.veranda:
        pen.box(left - size * 0.08, eaves + size * 0.1, right + size * 0.08, eaves + size * 0.16, style.roof)
        for post in (left, x, right):
            pen.line([(post, eaves + size * 0.12), (post, y)], (120, 96, 70), size * 0.03)


def _draw_windows(pen: Pen, style: Style, left: float, top: float, right: float, bottom: float) -> None:
    width, storey = right - left, (bottom - top) / style.storeys
    frame = style.trim or mix(style.wall, (0, 0, 0), 0.25)
    for row in range(style.storeys):
        for column in range(3):
            x, y = left + width * (0.12 + 0.29 * column), top + storey * (row + 0.26)
            low = y + storey * 0.42
            if row == style.storeys - 1 and column == 1:
                low = bottom
            pen.box(x - 1.5, y - 1.5, x + width * 0.15 + 1.5, low + 1.5, frame)
            pen.box(
                x, y, x + width * 0.15, low, GLASS if low < bottom else mix(style.wall, (30, 20, 10), 0.6)
            )


def _draw_roof(
    rng: random.Random, pen: Pen, style: Style, x: float, eaves: float, width: float, size: float
) -> None:
    roof = jitter(rng, style.roof, 10)
    if not style.pitch:
        pen.box(x - width / 2 - 2, eaves - 4, x + width / 2 + 2, eaves + 3, roof)
        if style.tank:
            tank = x + rng.uniform(-0.25, 0.25) * width
            pen.box(tank - size * 0.09, eaves - size * 0.2, tank + size * 0.09, eaves - 3, (44, 46, 50), 2)
        return
    top, half = eaves - size * style.pitch, width * style.ridge
    if style.chimney:
        pen.box(
            x + half * 0.5,
            top - size * 0.12,
            x + half * 0.5 + size * 0.1,
            eaves,
            mix(style.wall, (0, 0, 0), 0.2),
        )
    pen.polygon(
        [(x - width * 0.56, eaves), (x + width * 0.56, eaves), (x + half, top), (x - half, top)], roof
    )
    for k in range(1, 4):
        row, share = top + (eaves - top) * k / 4, k / 4
        reach = half + (width * 0.56 - half) * share
        pen.line([(x - reach, row), (x + reach, row)], mix(roof, (0, 0, 0), 0.16), 1)
