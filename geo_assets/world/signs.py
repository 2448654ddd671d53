"""Place-name boards, warning signs and utility poles."""

from __future__ import annotations

import random

from PIL import ImageDraw

from geo_assets.world.camera import Camera
from geo_assets.world.lettering import fitting_font
from geo_assets.world.palette import BOARD, INK_DARK, INK_LIGHT, STEEL, jitter

Pen = ImageDraw.ImageDraw
CJK = {"Japanese", "Hangul", "ChineseT"}


def draw_board(rng: random.Random, pen: Pen, camera: Camera, colour: str, script: str, text: str) -> None:
    """A board on two posts on the far side of the road, with a place name."""
    x = camera.vanish_px - camera.own * rng.uniform(150, 205)
    y = rng.uniform(62, 110)
    half_width, half_height = rng.uniform(112, 128), rng.uniform(42, 48)
    letters = fitting_font(script, text, 64 if script in CJK else 58, 2 * half_width - 18)
    for side in (-0.7, 0.7):
        post = x + side * half_width
        pen.rectangle([post - 4, y, post + 4, camera.horizon_px + 60], fill=STEEL)
    ink = INK_DARK if colour == "white" else INK_LIGHT
    box = [x - half_width, y - half_height, x + half_width, y + half_height]
    pen.rounded_rectangle(box, radius=8, fill=jitter(rng, BOARD[colour], 8), outline=ink, width=3)
    pen.text((x, y), text, font=letters, fill=ink, anchor="mm")


def draw_warning_sign(rng: random.Random, pen: Pen, camera: Camera, kind: str) -> None:
    """A warning sign on the own side: a yellow diamond, or a red-rimmed triangle."""
    x = camera.vanish_px + camera.own * rng.uniform(180, 215)
    y = camera.horizon_px - rng.uniform(14, 32)
    size = rng.uniform(44, 54)
    pen.rectangle([x - 4, y, x + 4, y + 170], fill=STEEL)
    if kind == "yellow diamond":
        corners = [(x, y - size), (x + size, y), (x, y + size), (x - size, y)]
        pen.polygon(corners, fill=(250, 205, 25), outline=INK_DARK, width=4)
        pen.line([x, y + 14, x, y - 8, x + 12, y - 16], fill=INK_DARK, width=6)
        return
    corners = [(x, y - size), (x + size * 1.05, y + size * 0.8), (x - size * 1.05, y + size * 0.8)]
    fill = (250, 250, 248) if kind == "white triangle" else (252, 210, 40)
    pen.polygon(corners, fill=fill, outline=(205, 20, 30), width=9)
    pen.line([x, y + 16, x, y - 8], fill=INK_DARK, width=6)


def draw_poles(rng: random.Random, pen: Pen, camera: Camera, kind: str) -> None:
    """A row of utility poles with a wire: wood with a cross-arm, or concrete with a can."""
    far = rng.random() < 0.5
    last: tuple[float, float] | None = None
    for depth in (0.16, 0.28, 0.55):
        x, y = camera.beside(far, depth, 90)
        height, width = 430 * depth + 60, 3 + 12 * depth
        colour = (112, 84, 58) if kind == "wood" else (176, 176, 172)
        pen.rectangle([x - width / 2, y - height, x + width / 2, y], fill=colour)
        if kind == "wood":
            pen.rectangle(
                [x - height * 0.14, y - height * 0.93, x + height * 0.14, y - height * 0.89], fill=colour
            )
        else:
            pen.rectangle([x - width, y - height * 0.95, x + width, y - height * 0.8], fill=(140, 142, 144))
        wire = (x, y - height * 0.92)
        if last:
            pen.line([last, wire], fill=(50, 50, 50), width=2)
        last = wire
