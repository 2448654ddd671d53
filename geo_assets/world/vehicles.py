"""Cars, seen from behind in the own lane and from the front in the other one, with plates."""

from __future__ import annotations

import random

from geo_assets.world.climate import RGB
from geo_assets.world.palette import jitter, mix
from geo_assets.world.pen import Pen

PAINTWORK: tuple[RGB, ...] = ((190, 40, 40), (40, 62, 150), (226, 226, 226), (44, 44, 48), (130, 134, 140))
PLATE: dict[str, RGB] = {
    "white": (245, 245, 245),
    "yellow": (244, 206, 40),
    "euro": (245, 245, 245),
    "blue top": (245, 245, 245),
    "black": (22, 22, 22),
}
RUBBER, GLASS, CHROME = (25, 25, 25), (120, 160, 185), (60, 62, 66)
READABLE_FROM_PX = 90
"""Width of a car from which its plate has characters."""


def draw_car(rng: random.Random, pen: Pen, x: float, y: float, size: float, rear: bool, plate: str) -> None:
    """A car `size` pixels wide whose wheels stand on `y`; `rear` shows red lamps."""
    paint = jitter(rng, rng.choice(PAINTWORK), 14)
    height = size * 0.78
    pen.disc(x, y, size * 0.57, height * 0.09, (40, 40, 42))
    for side in (-1, 1):
        wheel = x + side * size * 0.36
        pen.box(
            wheel - size * 0.08,
            y - height * 0.12,
            wheel + size * 0.08,
            y + height * 0.05,
            RUBBER,
            size * 0.02,
        )
    _trapezium(pen, x, y - height * 0.54, size * 0.42, y - height, size * 0.3, mix(paint, (0, 0, 0), 0.12))
    _trapezium(pen, x, y - height * 0.58, size * 0.34, y - height * 0.94, size * 0.25, GLASS)
    for side in (-1, 1):
        mirror = x + side * size * 0.47
        pen.box(
            mirror - size * 0.05,
            y - height * 0.66,
            mirror + size * 0.05,
            y - height * 0.57,
            paint,
            size * 0.02,
        )
    pen.box(x - size / 2, y - height * 0.58, x + size / 2, y - height * 0.06, paint, size * 0.08)
    pen.box(x - size / 2, y - height * 0.14, x + size / 2, y - height * 0.05, CHROME, size * 0.03)
    lamp = (215, 20, 25) if rear else (250, 248, 215)
    for side in (-1, 1):
        centre = x + side * size * 0.42
        pen.box(
            centre - size * 0.075,
            y - height * 0.5,
            centre + size * 0.075,
            y - height * 0.36,
            lamp,
            size * 0.02,
        )
    if not rear:
        pen.box(x - size * 0.25, y - height * 0.5, x + size * 0.25, y - height * 0.4, CHROME, size * 0.02)
    _draw_plate(
        rng, pen, x, y - height * 0.26, size * 0.3, height * 0.11, plate, readable=size > READABLE_FROM_PX
    )


def _trapezium(
    pen: Pen, x: float, low: float, half_low: float, high: float, half_high: float, colour: RGB
) -> None:
    pen.polygon(
        [(x - half_low, low), (x - half_high, high), (x + half_high, high), (x + half_low, low)], colour
    )


def _draw_plate(
    rng: random.Random,
    pen: Pen,
    x: float,
    y: float,
    half_width: float,
    half_height: float,
    kind: str,
    readable: bool,
) -> None:
    left, right, top, bottom = x - half_width, x + half_width, y - half_height, y + half_height
    pen.box(left - 1, top - 1, right + 1, bottom + 1, (30, 30, 30))
    pen.box(left, top, right, bottom, PLATE[kind])
    if kind == "euro":
        pen.box(left, top, x - half_width * 0.62, bottom, (20, 60, 170))
    if kind == "blue top":
        pen.box(left, top, right, y - half_height * 0.3, (25, 70, 175))
    if readable:
        number = f"{rng.choice('ABKMPTX')}{rng.randint(1000, 9999)}"
        ink = (240, 240, 240) if kind == "black" else (20, 20, 20)
        shift_x = half_width * 0.18 if kind == "euro" else 0
        shift_y = half_height * 0.3 if kind == "blue top" else 0
        pen.text(x + shift_x, y + shift_y, number, "Latin", max(8, int(half_height * 1.5)), ink)
