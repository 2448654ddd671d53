"""Draws a street scene from its clues: back to front, far to near.

The picture is 683 × 512 px as an OSV-5M photo of 4:3. The same clues and the same state of the
generator give the same pixels.
"""

from __future__ import annotations

import io
import math
import random

from PIL import Image, ImageDraw

from geo_assets.world import buildings, lens, road, signs, sky, trees, vehicles
from geo_assets.world.camera import WIDTH_PX, Camera, aim
from geo_assets.world.climate import Climate, climate
from geo_assets.world.clues import Clues

LONGEST_SHADOW = 2.2


def draw_scene(rng: random.Random, clues: Clues, width_px: int = WIDTH_PX) -> Image.Image:
    """The picture of a scene, RGB, 512 px high."""
    camera = aim(rng, clues.drive_side, width_px)
    look = climate(clues.place.koppen)
    sunny = "sun" in clues.shows
    image = sky.draw_sky(rng, camera, look, overcast=not sunny)
    pen = ImageDraw.Draw(image)
    if sunny:
        sky.draw_sun(rng, pen, camera, clues.sun_side, clues.sun_height_deg)
    sky.draw_clouds(rng, pen, camera, overcast=not sunny)
    sky.draw_hills(rng, pen, camera, look.hill)
    sky.draw_ground(rng, pen, camera, look.verge)
    road.draw_road(rng, pen, camera, clues.edge_line)
    if "centre_line" in clues.shows:
        road.draw_centre_line(rng, pen, camera, clues.centre_line)
    _draw_roadside(rng, pen, camera, clues, look)
    _draw_traffic(rng, pen, camera, clues)
    if "warning_sign" in clues.shows:
        signs.draw_warning_sign(rng, pen, camera, clues.warning_sign)
    if "script" in clues.shows:
        signs.draw_board(rng, pen, camera, clues.board, clues.script, clues.sign_text)
    if rng.random() < 0.2:
        lens.draw_obstacle(rng, pen, width_px)
    return lens.expose(rng, image)


def encode_jpeg(rng: random.Random, image: Image.Image) -> bytes:
    """JPEG bytes at a random quality of 72–88."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=rng.randint(72, 88))
    return buffer.getvalue()


def _draw_roadside(
    rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, clues: Clues, look: Climate
) -> None:
    if "house" in clues.shows:
        for _ in range(rng.randint(1, 2)):
            x, y = camera.beside(rng.random() < 0.5, rng.uniform(0.12, 0.24), rng.uniform(250, 900))
            buildings.draw_house(rng, pen, clues.house, x, y, rng.uniform(60, 85))
    if "pole" in clues.shows:
        signs.draw_poles(rng, pen, camera, clues.pole)
    shadow = _shadow(clues)
    for _ in range(rng.randint(4, 7)):
        depth = rng.uniform(0.14, 0.5)
        x, y = camera.beside(rng.random() < 0.5, depth, rng.uniform(70, 420))
        kind = clues.vegetation if rng.random() < 0.75 else rng.choice(look.vegetation)
        trees.draw_tree(rng, pen, kind, x, y, 46 + 190 * depth * rng.uniform(0.8, 1.2), shadow)


def _draw_traffic(rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, clues: Clues) -> None:
    if rng.random() < 0.4:
        depth = rng.uniform(0.22, 0.34)
        x = camera.x((camera.centre_line_px + camera.far_edge_px) / 2, depth)
        vehicles.draw_car(rng, pen, x, camera.y(depth), 250 * depth, False, clues.plate_front)
    if "car" in clues.shows:
        depth = rng.uniform(0.52, 0.62)
        x = camera.x((camera.centre_line_px + camera.own_edge_px) / 2, depth) + rng.uniform(-6, 6)
        vehicles.draw_car(rng, pen, x, camera.y(depth), 270 * depth, True, clues.plate_rear)


def _shadow(clues: Clues) -> float:
    """Length of a shadow in heights of its thing, away from the sun; 0 under an overcast sky."""
    if "sun" not in clues.shows:
        return 0.0
    height_deg = max(12.0, min(89.0, clues.sun_height_deg))
    length = min(LONGEST_SHADOW, 1 / max(0.35, math.tan(math.radians(height_deg))))
    return -length if clues.sun_side == "south" else length
