"""Place-name boards, warning signs and utility poles."""

from __future__ import annotations

import random
from itertools import pairwise

from geo_assets.world.camera import Camera
from geo_assets.world.climate import RGB
from geo_assets.world.lettering import fitting_size_px
from geo_assets.world.palette import BOARD, INK_DARK, INK_LIGHT, RIM_RED, STEEL, jitter
from geo_assets.world.pen import Pen

CJK = {"Japanese", "Hangul", "ChineseT"}
WIRE: RGB = (50, 50, 50)
POLE_DEPTHS = (0.16, 0.28, 0.55)


def draw_board(rng: random.Random, pen: Pen, camera: Camera, colour: str, script: str, text: str) -> None:
    """A place name on the far side of the road: a town sign on posts, or a board on an arm."""
    half_width, half_height = rng.uniform(112, 128), rng.uniform(42, 48)
    x = camera.vanish_px - camera.own * rng.uniform(165, 205)
    y = rng.uniform(62, 110)
    outside = -camera.own
    foot = camera.y(0.2)
    if colour in ("green", "blue"):
        post = x + outside * half_width * 0.8
        pen.line([(post, y - half_height * 0.4), (post, foot)], STEEL, 10)
        pen.line(
            [(post, y - half_height * 0.2), (x - outside * half_width * 0.6, y - half_height * 0.2)], STEEL, 6
        )
    else:
        for side in (-0.55, 0.8):
            pen.line(
                [(x + outside * side * half_width, y), (x + outside * side * half_width, foot)], STEEL, 7
            )
    face, ink = jitter(rng, BOARD[colour], 8), INK_LIGHT if colour in ("green", "blue") else INK_DARK
    rim, rim_px = (RIM_RED, 7) if colour == "red rim" else (ink, 3)
    pen.box(x - half_width, y - half_height, x + half_width, y + half_height, rim, 8)
    inner_x, inner_y = half_width - rim_px, half_height - rim_px
    pen.box(x - inner_x, y - inner_y, x + inner_x, y + inner_y, face, 6)
    size_px = fitting_size_px(script, text, 64 if script in CJK else 58, 2 * half_width - 22)
    pen.text(x, y, text, script, size_px, ink)


def draw_warning_sign(rng: random.Random, pen: Pen, camera: Camera, kind: str) -> None:
    """A warning sign on the own side: a yellow diamond, or a red-rimmed triangle."""
    x = camera.vanish_px + camera.own * rng.uniform(180, 215)
    y = camera.horizon_px - rng.uniform(14, 32)
    size = rng.uniform(44, 54)
    pen.box(x - 4, y, x + 4, y + 170, STEEL)
    if kind == "yellow diamond":
        for reach, colour in ((size, INK_DARK), (size - 4, (250, 205, 25))):
            pen.polygon([(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)], colour)
        pen.line([(x - 3, y + 18), (x - 3, y - 4), (x + 9, y - 14)], INK_DARK, 6)
        pen.polygon([(x + 4, y - 20), (x + 17, y - 20), (x + 13, y - 7)], INK_DARK)
        return
    fill = (250, 250, 248) if kind == "white triangle" else (252, 210, 40)
    middle = y + 0.2 * size
    for reach, colour in ((size, RIM_RED), (size * 0.64, fill)):
        low = middle + 0.6 * reach
        pen.polygon([(x, middle - 1.2 * reach), (x + 1.05 * reach, low), (x - 1.05 * reach, low)], colour)
    pen.box(x - 3.5, middle - 20, x + 3.5, middle + 6, INK_DARK, 2)
    pen.disc(x, middle + 13, 4, 4, INK_DARK)


def draw_poles(rng: random.Random, pen: Pen, camera: Camera, kind: str) -> None:
    """A row of utility poles with their wires: wood with a cross-arm, or concrete with a can."""
    far = rng.random() < 0.5
    poles = []
    for depth in POLE_DEPTHS:
        foot = camera.beside(far, depth, 90)
        poles.append((depth, foot, 430 * depth + 60))
    for (_, (x, y), height), (_, (next_x, next_y), next_height) in pairwise(poles):
        for share in (0.92, 0.86):
            ends = (x, y - height * share), (next_x, next_y - next_height * share)
            sag = ((x + next_x) / 2, (ends[0][1] + ends[1][1]) / 2 + 6)
            pen.line([ends[0], sag, ends[1]], WIRE, 1.5)
    for depth, (x, y), height in poles:
        _draw_pole(pen, kind, x, y, height, 3 + 12 * depth)


def _draw_pole(pen: Pen, kind: str, x: float, y: float, height: float, width: float) -> None:
    if kind == "wood":
        wood = (112, 84, 58)
        pen.box(x - width / 2, y - height, x + width / 2, y, wood)
        pen.box(x - height * 0.14, y - height * 0.93, x + height * 0.14, y - height * 0.89, wood)
        for side in (-0.12, 0.12):
            pen.box(
                x + height * side - 1.5,
                y - height * 0.96,
                x + height * side + 1.5,
                y - height * 0.93,
                (70, 90, 90),
            )
        return
    pen.polygon(
        [
            (x - width * 0.65, y),
            (x + width * 0.65, y),
            (x + width * 0.4, y - height),
            (x - width * 0.4, y - height),
        ],
        (178, 178, 174),
    )
    pen.box(x + width * 0.4, y - height * 0.86, x + width * 1.6, y - height * 0.72, (140, 142, 144), 2)
