"""The carriageway: asphalt, edge lines, centre line."""

from __future__ import annotations

import random

from PIL import ImageDraw

from geo_assets.world.camera import Camera
from geo_assets.world.palette import PAINT, jitter


def draw_road(rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, edge_line: str) -> None:
    """Asphalt to the vanishing point, with edge lines where the country paints them."""
    x, y = camera.vanish_px, camera.horizon_px
    left, right = sorted((camera.own_edge_px, camera.far_edge_px))
    pen.polygon(
        [(x - 4, y), (x + 4, y), (right, camera.bottom_px), (left, camera.bottom_px)],
        fill=jitter(rng, (92, 92, 95), 14),
    )
    if edge_line == "none":
        return
    for edge in (camera.own_edge_px - camera.own * 12, camera.far_edge_px + camera.own * 22):
        _stripe(pen, camera, edge, 9, PAINT[edge_line])


def draw_centre_line(rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, colour: str) -> None:
    """A dashed line, or a double solid one where overtaking is not allowed."""
    paint = jitter(rng, PAINT[colour], 8)
    if rng.random() < 0.35:
        for offset in (-17, 17):
            _stripe(pen, camera, camera.centre_line_px + offset, 9, paint)
        return
    depth = 0.12
    while depth < 1:
        end = depth * 1.28
        _dash(pen, camera, camera.centre_line_px, 13, depth, end, paint)
        depth = end * 1.3


def _stripe(
    pen: ImageDraw.ImageDraw, camera: Camera, bottom_px: float, half_px: float, colour: tuple[int, int, int]
) -> None:
    ends = [(bottom_px - half_px, camera.bottom_px), (bottom_px + half_px, camera.bottom_px)]
    pen.polygon([(camera.vanish_px, camera.horizon_px), *ends], fill=colour)


def _dash(
    pen: ImageDraw.ImageDraw,
    camera: Camera,
    bottom_px: float,
    half_px: float,
    start: float,
    end: float,
    colour: tuple[int, int, int],
) -> None:
    corners = [(-half_px, start), (half_px, start), (half_px, end), (-half_px, end)]
    pen.polygon([(camera.x(bottom_px + dx, depth), camera.y(depth)) for dx, depth in corners], fill=colour)
