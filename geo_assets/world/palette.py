"""Colours of paint, boards and plates, and their variation. RGB in 0–255."""

from __future__ import annotations

import random

from geo_assets.world.climate import RGB

PAINT: dict[str, RGB] = {"yellow": (238, 196, 40), "white": (240, 240, 238)}
BOARD: dict[str, RGB] = {
    "green": (20, 110, 70),
    "blue": (30, 80, 165),
    "white": (240, 240, 236),
    "red rim": (244, 244, 240),
}
RIM_RED: RGB = (205, 20, 30)
INK_DARK: RGB = (20, 20, 24)
INK_LIGHT: RGB = (250, 250, 250)
STEEL: RGB = (145, 147, 150)


def jitter(rng: random.Random, colour: RGB, spread: int = 14) -> RGB:
    """A colour near the given one: brightness moves by ±spread, each channel by half of that more.

    >>> all(0 <= channel <= 255 for channel in jitter(random.Random(0), (250, 3, 128), 40))
    True
    """
    brightness = rng.randint(-spread, spread)
    red, green, blue = (
        max(0, min(255, channel + brightness + rng.randint(-spread // 2, spread // 2))) for channel in colour
    )
    return red, green, blue


def mix(a: RGB, b: RGB, share: float) -> RGB:
    """`a` with `share` of `b` in it.

    >>> mix((0, 0, 0), (200, 100, 50), 0.5)
    (100, 50, 25)
    """
    red, green, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return red, green, blue
