"""Sky, sun, clouds, hills and open ground: everything behind the road."""

from __future__ import annotations

import random

from PIL import Image, ImageDraw

from geo_assets.world.camera import HEIGHT_PX, Camera
from geo_assets.world.climate import RGB, Climate
from geo_assets.world.palette import jitter, mix

OVERCAST_TOP, OVERCAST_BOTTOM = (185, 188, 192), (210, 212, 214)


def draw_sky(rng: random.Random, camera: Camera, climate: Climate, overcast: bool) -> Image.Image:
    """A new picture with the sky's gradient and clouds."""
    top, bottom = climate.sky_top, climate.sky_bottom
    if overcast:
        top, bottom = mix(top, OVERCAST_TOP, 0.67), mix(bottom, OVERCAST_BOTTOM, 0.5)
    gradient = Image.new("RGB", (1, 2))
    gradient.putpixel((0, 0), jitter(rng, top, 10))
    gradient.putpixel((0, 1), jitter(rng, bottom, 8))
    image = Image.new("RGB", (camera.width_px, HEIGHT_PX))
    image.paste(gradient.resize((camera.width_px, camera.horizon_px + 2), Image.Resampling.BILINEAR), (0, 0))
    return image


def draw_sun(
    rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, side: str, height_deg: float
) -> None:
    """The sun's disc: right of the road is the south, and higher is nearer to the zenith."""
    sign = 1 if side == "south" else -1
    x = camera.vanish_px + sign * rng.uniform(200, 270)
    y = camera.horizon_px - 22 - (camera.horizon_px - 30) * height_deg / 90
    pen.ellipse([x - 34, y - 34, x + 34, y + 34], fill=(222, 232, 246))
    pen.ellipse([x - 21, y - 21, x + 21, y + 21], fill=(255, 250, 205))


def draw_clouds(rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, overcast: bool) -> None:
    """A few clouds, more under an overcast sky; each is a heap of ellipses."""
    for _ in range(rng.randint(3, 6) if overcast else rng.randint(0, 3)):
        x, y = rng.uniform(0, camera.width_px), rng.uniform(10, camera.horizon_px * 0.7)
        size = rng.uniform(40, 120)
        white = jitter(rng, (232, 235, 238), 8)
        pen.ellipse([x - size, y - size * 0.2, x + size, y + size * 0.2], fill=white)


def draw_hills(rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, colour: RGB) -> None:
    """A ridge on the horizon."""
    width, horizon = camera.width_px, camera.horizon_px
    ridge = [(width * k / 6, horizon - rng.uniform(2, 34)) for k in range(7)]
    pen.polygon([(0, horizon + 4), *ridge, (width, horizon + 4)], fill=jitter(rng, colour, 10))


def draw_ground(rng: random.Random, pen: ImageDraw.ImageDraw, camera: Camera, verge: RGB) -> None:
    """Open ground in the climate's colour, with patches that grow towards the camera."""
    width, horizon = camera.width_px, camera.horizon_px
    soil = jitter(rng, verge, 14)
    pen.rectangle([0, horizon, width, HEIGHT_PX], fill=soil)
    for _ in range(26):
        nearness = rng.random() ** 1.6
        x, y = rng.uniform(0, width), horizon + (HEIGHT_PX - horizon) * nearness
        size = 8 + 40 * nearness
        pen.ellipse([x - size, y - size * 0.15, x + size, y + size * 0.15], fill=jitter(rng, soil, 18))
