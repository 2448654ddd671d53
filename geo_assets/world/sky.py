"""Sky, sun, clouds, hills and open ground: everything behind the road."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from PIL import Image

from geo_assets.world.camera import HEIGHT_PX, Camera
from geo_assets.world.climate import RGB, Climate
from geo_assets.world.palette import jitter, mix
from geo_assets.world.pen import OVERSAMPLING, Pen

OVERCAST_TOP, OVERCAST_BOTTOM = (185, 188, 192), (210, 212, 214)
SUN, CLOUD = (255, 250, 205), (232, 235, 238)


@dataclass(frozen=True)
class Setting:
    """The colours that a scene has under its weather."""

    sky_top: RGB
    sky_bottom: RGB
    hill: RGB
    soil: RGB
    overcast: bool


def choose_setting(rng: random.Random, climate: Climate, overcast: bool) -> Setting:
    """Vary the climate's colours; an overcast sky is grey."""
    top, bottom = climate.sky_top, climate.sky_bottom
    if overcast:
        top, bottom = mix(top, OVERCAST_TOP, 0.67), mix(bottom, OVERCAST_BOTTOM, 0.5)
    return Setting(
        sky_top=jitter(rng, top, 10),
        sky_bottom=jitter(rng, bottom, 8),
        hill=jitter(rng, climate.hill, 10),
        soil=jitter(rng, climate.verge, 14),
        overcast=overcast,
    )


def draw_sky(rng: random.Random, pen: Pen, camera: Camera, setting: Setting) -> None:
    """The gradient and a few clouds, more of them where it is overcast."""
    rows = np.linspace(setting.sky_top, setting.sky_bottom, camera.horizon_px * OVERSAMPLING)
    gradient = Image.fromarray(rows[:, None, :].astype(np.uint8))
    pen.paste_sky(gradient, camera.horizon_px + 2)
    for _ in range(rng.randint(3, 6) if setting.overcast else rng.randint(0, 3)):
        x, y = rng.uniform(0, camera.width_px), rng.uniform(10, camera.horizon_px * 0.7)
        size = rng.uniform(40, 110)
        shade = jitter(rng, CLOUD, 8)
        pen.disc(x, y, size, size * 0.17, mix(shade, setting.sky_bottom, 0.35))
        for _ in range(3):
            pen.disc(x + rng.uniform(-0.5, 0.5) * size, y - size * 0.1, size * 0.4, size * 0.16, shade)


def draw_sun(
    rng: random.Random, pen: Pen, camera: Camera, setting: Setting, side: str, height_deg: float
) -> None:
    """The sun's disc: right of the road is the south, and higher is nearer to the zenith."""
    sign = 1 if side == "south" else -1
    x = camera.vanish_px + sign * rng.uniform(200, 270)
    y = camera.horizon_px - 22 - (camera.horizon_px - 30) * height_deg / 90
    pen.disc(x, y, 38, 38, mix(setting.sky_top, SUN, 0.25))
    pen.disc(x, y, 29, 29, mix(setting.sky_top, SUN, 0.55))
    pen.disc(x, y, 21, 21, SUN)


def draw_hills(rng: random.Random, pen: Pen, camera: Camera, setting: Setting) -> None:
    """Two ridges on the horizon, the farther one paler. They begin and end at fixed heights."""
    for lift, share in ((14, 0.5), (0, 0.0)):
        heights = [4 + lift, *(rng.uniform(2, 34) + lift * 0.7 for _ in range(5)), 4 + lift]
        ridge = [
            (camera.width_px * index / 6, camera.horizon_px - height) for index, height in enumerate(heights)
        ]
        low = camera.horizon_px + 4
        pen.polygon([(0, low), *ridge, (camera.width_px, low)], mix(setting.hill, setting.sky_bottom, share))


def draw_ground(rng: random.Random, pen: Pen, camera: Camera, setting: Setting) -> None:
    """Open ground in the climate's colour, with patches that grow towards the camera."""
    depth_px = HEIGHT_PX - camera.horizon_px
    pen.box(0, camera.horizon_px, camera.width_px, HEIGHT_PX, mix(setting.soil, setting.hill, 0.12))
    pen.box(0, camera.horizon_px + depth_px * 0.12, camera.width_px, HEIGHT_PX, setting.soil)
    for _ in range(26):
        nearness = rng.random() ** 1.6
        size = 8 + 40 * nearness
        x, y = rng.uniform(0, camera.width_px), camera.horizon_px + depth_px * nearness
        pen.disc(x, y, size, size * 0.15, jitter(rng, setting.soil, 18))
