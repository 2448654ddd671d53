"""Cars, seen from behind in the own lane and from the front in the other one, with plates."""

from __future__ import annotations

import random

from PIL import ImageDraw

from geo_assets.world.climate import RGB
from geo_assets.world.lettering import font
from geo_assets.world.palette import jitter

PAINTWORK: tuple[RGB, ...] = ((190, 40, 40), (40, 62, 150), (226, 226, 226), (44, 44, 48), (130, 134, 140))
PLATE: dict[str, RGB] = {
    "white": (245, 245, 245),
    "yellow": (244, 206, 40),
    "euro": (245, 245, 245),
    "blue top": (245, 245, 245),
    "black": (22, 22, 22),
}
READABLE_FROM_PX = 90
"""Width of a car from which its plate has characters."""


def draw_car(
    rng: random.Random, pen: ImageDraw.ImageDraw, x: float, y: float, size: float, rear: bool, plate: str
) -> None:
    """A car `size` pixels wide whose wheels stand on `y`; `rear` shows red lamps."""
    paint = jitter(rng, rng.choice(PAINTWORK), 14)
    height = size * 0.78
    pen.ellipse([x - size * 0.55, y - height * 0.08, x + size * 0.55, y + height * 0.08], fill=(40, 40, 42))
    for side in (-1, 1):
        wheel = x + side * size * 0.36
        pen.rectangle(
            [wheel - size * 0.08, y - height * 0.08, wheel + size * 0.08, y + height * 0.04],
            fill=(25, 25, 25),
        )
    body = [x - size / 2, y - height * 0.58, x + size / 2, y - height * 0.06]
    pen.rounded_rectangle(body, radius=int(size * 0.08), fill=paint)
    _trapezium(pen, x, y - height * 0.56, size * 0.4, y - height, size * 0.3, paint)
    _trapezium(pen, x, y - height * 0.6, size * 0.33, y - height * 0.94, size * 0.25, (120, 160, 185))
    lamp = (215, 20, 25) if rear else (250, 248, 215)
    for side in (-1, 1):
        centre = x + side * size * 0.43
        pen.rectangle(
            [centre - size * 0.07, y - height * 0.48, centre + size * 0.07, y - height * 0.34], fill=lamp
        )
    _plate(rng, pen, x, y - height * 0.26, size * 0.3, height * 0.11, plate, readable=size > READABLE_FROM_PX)


def _trapezium(
    pen: ImageDraw.ImageDraw,
    x: float,
    low: float,
    half_low: float,
    high: float,
    half_high: float,
    colour: RGB,
) -> None:
    corners = [(x - half_low, low), (x - half_high, high), (x + half_high, high), (x + half_low, low)]
    pen.polygon(corners, fill=colour)


def _plate(
    rng: random.Random,
    pen: ImageDraw.ImageDraw,
    x: float,
    y: float,
    half_width: float,
    half_height: float,
    kind: str,
    readable: bool,
) -> None:
    left, right, top, bottom = x - half_width, x + half_width, y - half_height, y + half_height
    pen.rectangle([left, top, right, bottom], fill=PLATE[kind], outline=(30, 30, 30))
    if kind == "euro":
        pen.rectangle([left, top, x - half_width * 0.62, bottom], fill=(20, 60, 170))
    if kind == "blue top":
        pen.rectangle([left, top, right, y - half_height * 0.3], fill=(25, 70, 175))
    if readable:
        number = f"{rng.choice('ABKMPTX')}{rng.randint(1000, 9999)}"
        ink = (240, 240, 240) if kind == "black" else (20, 20, 20)
        shift = half_height * 0.3 if kind == "blue top" else 0
        size_px = max(8, int(half_height * 1.5))
        pen.text((x, y + shift), number, font=font("Latin", size_px), fill=ink, anchor="mm")
