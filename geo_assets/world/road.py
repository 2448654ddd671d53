"""The carriageway: shoulder, asphalt, edge lines, centre line."""

from __future__ import annotations

import random

from geo_assets.world.camera import HEIGHT_PX, Camera
from geo_assets.world.climate import RGB
from geo_assets.world.palette import PAINT, jitter, mix
from geo_assets.world.pen import Pen
from geo_assets.world.sky import Setting

ASPHALT, GRAVEL = (92, 92, 95), (150, 142, 130)
FIRST_DASH_DEPTH, DASH_RATIO, GAP_RATIO = 0.12, 1.28, 1.30
"""A dash ends at 1.28 times its depth and the next begins at 1.30 times that: equal lengths
on the ground would shrink with the square, but the eye reads this as even."""


def draw_road(rng: random.Random, pen: Pen, camera: Camera, setting: Setting, edge_line: str) -> None:
    """Asphalt to the vanishing point, with edge lines where the country paints them."""
    own, far = camera.own_edge_px, camera.far_edge_px
    _band(pen, camera, own + camera.own * 26, far - camera.own * 26, mix(setting.soil, GRAVEL, 0.55))
    _band(pen, camera, own, far, jitter(rng, ASPHALT, 14))
    if edge_line == "none":
        return
    paint = PAINT[edge_line.split()[0]]
    for edge in (own - camera.own * 12, far + camera.own * 22):
        if edge_line.endswith("dashes"):
            _dashes(pen, camera, edge, 9, paint)
        else:
            _stripe(pen, camera, edge, 9, paint)


def draw_centre_line(rng: random.Random, pen: Pen, camera: Camera, colour: str, style: str) -> None:
    """A dashed line, or a double solid one where overtaking is not allowed."""
    paint = jitter(rng, PAINT[colour], 8)
    if style == "dashed":
        _dashes(pen, camera, camera.centre_line_px, 13, paint)
        return
    for offset in (-17, 17):
        _stripe(pen, camera, camera.centre_line_px + offset, 9, paint)


def draw_near_side(rng: random.Random, pen: Pen, setting: Setting, edge_line: str) -> None:
    """The strip of road at the camera's feet when it looks across the road's edge."""
    top = HEIGHT_PX * 0.87
    pen.box(0, top - 10, pen.width_px, top, mix(setting.soil, GRAVEL, 0.55))
    pen.box(0, top, pen.width_px, HEIGHT_PX, jitter(rng, ASPHALT, 14))
    if edge_line != "none":
        pen.box(0, top + 8, pen.width_px, top + 15, PAINT[edge_line.split()[0]])


def _band(pen: Pen, camera: Camera, one_px: float, other_px: float, colour: RGB) -> None:
    left, right = sorted((one_px, other_px))
    x, y = camera.vanish_px, camera.horizon_px
    pen.polygon([(x - 3, y), (x + 3, y), (right, camera.bottom_px), (left, camera.bottom_px)], colour)


def _stripe(pen: Pen, camera: Camera, bottom_px: float, half_px: float, colour: RGB) -> None:
    ends = [(bottom_px - half_px, camera.bottom_px), (bottom_px + half_px, camera.bottom_px)]
    pen.polygon([(camera.vanish_px, camera.horizon_px), *ends], colour)


def _dashes(pen: Pen, camera: Camera, bottom_px: float, half_px: float, colour: RGB) -> None:
    start = FIRST_DASH_DEPTH
    while start < 1:
        end = start * DASH_RATIO
        corners = [(-half_px, start), (half_px, start), (half_px, end), (-half_px, end)]
        pen.polygon([(camera.x(bottom_px + dx, depth), camera.y(depth)) for dx, depth in corners], colour)
        start = end * GAP_RATIO
