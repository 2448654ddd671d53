"""Houses beside the road, by their walls and roofs."""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import ImageDraw

from geo_assets.world.climate import RGB
from geo_assets.world.palette import jitter


@dataclass(frozen=True)
class Style:
    """Colours, wall height and roof of a kind of house, in units of the house's size.

    `pitch` is the height of the roof (0: flat), `ridge` the half length of its ridge.
    """

    wall: RGB
    roof: RGB
    height: float
    pitch: float
    ridge: float = 0.3
    white_corners: bool = False


STYLES = {
    "clapboard": Style((226, 222, 208), (96, 96, 102), 0.7, 0.4),
    "flat roof": Style((226, 202, 168), (170, 150, 125), 0.8, 0.0),
    "tile roof": Style((238, 228, 206), (190, 92, 56), 0.7, 0.4),
    "brick": Style((158, 84, 62), (86, 84, 90), 0.85, 0.4),
    "red wood": Style((150, 44, 36), (70, 68, 70), 0.7, 0.4, white_corners=True),
    "tin roof": Style((176, 150, 120), (168, 176, 180), 0.5, 0.14, ridge=0.5),
    "block": Style((198, 200, 200), (150, 150, 150), 1.7, 0.0),
}


def draw_house(
    rng: random.Random, pen: ImageDraw.ImageDraw, kind: str, x: float, y: float, size: float
) -> None:
    """A house whose front stands on `y`, centred on `x`."""
    style = STYLES[kind]
    width = size * rng.uniform(1.2, 1.6)
    left, right, eaves = x - width / 2, x + width / 2, y - size * style.height
    pen.rectangle([left, eaves, right, y], fill=jitter(rng, style.wall, 12))
    if style.pitch:
        top, half = eaves - size * style.pitch, width * style.ridge
        outline = [(x - width * 0.56, eaves), (x + width * 0.56, eaves), (x + half, top), (x - half, top)]
        pen.polygon(outline, fill=jitter(rng, style.roof, 10))
    else:
        pen.rectangle([left, eaves - 4, right, eaves + 3], fill=style.roof)
    for row in range(int(style.height / 0.35)):
        for column in range(3):
            window_x = x - width * 0.36 + column * width * 0.28
            window_y = eaves + size * (0.12 + row * 0.36)
            pen.rectangle(
                [window_x, window_y, window_x + width * 0.13, window_y + size * 0.17], fill=(70, 90, 110)
            )
    if style.white_corners:
        for corner in (left, right - 5):
            pen.rectangle([corner, eaves, corner + 5, y], fill=(240, 240, 240))
