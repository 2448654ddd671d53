"""Draws a street scene from its clues: back to front, far to near.

The picture is 683 × 512 px, an OSV-5M photo of 4:3. The same clues and the same state of the
generator give the same pixels.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable

from PIL import Image

from geo_assets.world import buildings, lens, road, signs, sky, trees, vehicles
from geo_assets.world.camera import HEIGHT_PX, WIDTH_PX, Camera, aim
from geo_assets.world.climate import climate, local_vegetation
from geo_assets.world.clues import Clues
from geo_assets.world.pen import Pen

LONGEST_SHADOW = 2.2


def draw_scene(rng: random.Random, clues: Clues, width_px: int = WIDTH_PX) -> Image.Image:
    """The picture of a scene, RGB, 512 px high, with everything that the camera adds."""
    return lens.expose(rng, draw_view(rng, clues, choose_setting(rng, clues), width_px))


def choose_setting(rng: random.Random, clues: Clues) -> sky.Setting:
    """The colours of a scene; without a visible sun it is overcast."""
    return sky.choose_setting(rng, climate(clues.place.koppen), overcast="sun" not in clues.shows)


def draw_view(
    rng: random.Random, clues: Clues, setting: sky.Setting, width_px: int = WIDTH_PX
) -> Image.Image:
    """The view along the road, before the lens."""
    camera = aim(rng, clues.drive_side, width_px)
    pen = Pen(width_px, HEIGHT_PX)
    sky.draw_sky(rng, pen, camera, setting)
    if "sun" in clues.shows:
        sky.draw_sun(rng, pen, camera, setting, clues.sun_side, clues.sun_height_deg)
    sky.draw_hills(rng, pen, camera, setting)
    sky.draw_ground(rng, pen, camera, setting)
    road.draw_road(rng, pen, camera, setting, clues.edge_line)
    if "centre_line" in clues.shows:
        road.draw_centre_line(rng, pen, camera, clues.centre_line, clues.line_style)
    _draw_roadside(rng, pen, camera, clues)
    _draw_traffic(rng, pen, camera, clues)
    if "warning_sign" in clues.shows:
        signs.draw_warning_sign(rng, pen, camera, clues.warning_sign)
    if "script" in clues.shows:
        signs.draw_board(rng, pen, camera, clues.board, clues.script, clues.sign_text)
    if rng.random() < 0.2:
        lens.draw_obstacle(rng, pen)
    return pen.picture()


def draw_side_view(rng: random.Random, clues: Clues, setting: sky.Setting, width_px: int) -> Image.Image:
    """The view across the road's edge: the same land and houses, no traffic."""
    camera = aim(rng, clues.drive_side, width_px)
    pen = Pen(width_px, HEIGHT_PX)
    sky.draw_sky(rng, pen, camera, setting)
    sky.draw_hills(rng, pen, camera, setting)
    sky.draw_ground(rng, pen, camera, setting)
    _draw_roadside(rng, pen, camera, clues)
    road.draw_near_side(rng, pen, setting, clues.edge_line)
    return pen.picture()


def encode_jpeg(rng: random.Random, image: Image.Image) -> bytes:
    """JPEG bytes at a random quality of 72–88."""
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=rng.randint(72, 88))
    return buffer.getvalue()


def _draw_roadside(rng: random.Random, pen: Pen, camera: Camera, clues: Clues) -> None:
    """Houses, poles and plants, far ones first."""
    if "pole" in clues.shows:
        signs.draw_poles(rng, pen, camera, clues.pole)
    things: list[tuple[float, Callable[[], None]]] = []
    if "house" in clues.shows:
        for _ in range(rng.randint(1, 2)):
            things.append(_house(rng, pen, camera, clues.house))
    shadow = _shadow(clues)
    for _ in range(rng.randint(4, 7)):
        things.append(_tree(rng, pen, camera, clues, shadow))
    for _, draw in sorted(things, key=lambda thing: thing[0]):
        draw()


def _house(rng: random.Random, pen: Pen, camera: Camera, kind: str) -> tuple[float, Callable[[], None]]:
    depth = rng.uniform(0.12, 0.24)
    x, y = camera.beside(rng.random() < 0.5, depth, rng.uniform(250, 900))
    size = rng.uniform(60, 85)
    return depth, lambda: buildings.draw_house(rng, pen, kind, x, y, size)


def _tree(
    rng: random.Random, pen: Pen, camera: Camera, clues: Clues, shadow: float
) -> tuple[float, Callable[[], None]]:
    depth = rng.uniform(0.14, 0.5)
    x, y = camera.beside(rng.random() < 0.5, depth, rng.uniform(70, 420))
    others = local_vegetation(clues.place.iso2, clues.place.koppen)
    kind = clues.vegetation if rng.random() < 0.75 else rng.choice(others)
    size = 46 + 190 * depth * rng.uniform(0.8, 1.2)
    return depth, lambda: trees.draw_tree(rng, pen, kind, x, y, size, shadow)


def _draw_traffic(rng: random.Random, pen: Pen, camera: Camera, clues: Clues) -> None:
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
