"""What the camera adds: things in the way, haze, exposure, blur and sensor noise."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
from PIL import Image, ImageChops, ImageFilter

from geo_assets.world.camera import HEIGHT_PX
from geo_assets.world.palette import jitter
from geo_assets.world.pen import Pen

NOISE_TILES, NOISE_SHIFT_PX, NOISE_STD, NOISE_MEAN = 6, 64, 8, 128


@cache
def _noise(width_px: int) -> tuple[Image.Image, ...]:
    """Grey pictures with Gaussian noise, larger than a scene so that each can be shifted."""
    generator = np.random.default_rng(0)
    shape = (HEIGHT_PX + NOISE_SHIFT_PX, width_px + NOISE_SHIFT_PX, 3)
    tiles = (
        NOISE_MEAN + NOISE_STD * generator.standard_normal(shape, np.float32) for _ in range(NOISE_TILES)
    )
    return tuple(Image.fromarray(np.clip(tile, 0, 255).astype(np.uint8)) for tile in tiles)


def draw_obstacle(rng: random.Random, pen: Pen) -> None:
    """A branch over the picture or a post close to the lens."""
    x = rng.uniform(60, pen.width_px - 60)
    if rng.random() < 0.5:
        pen.line([(x - 100, -10), (x + 20, 22), (x + 95, 50)], (74, 58, 42), 4)
        for _ in range(14):
            dx, y, size = rng.uniform(-90, 90), rng.uniform(-10, 70), rng.uniform(10, 28)
            pen.disc(x + dx, y, size, size * 0.6, jitter(rng, (48, 84, 40), 16))
    else:
        half = rng.uniform(10, 26)
        pen.box(x - half, 0, x + half, HEIGHT_PX, jitter(rng, (86, 84, 80), 16))


def expose(rng: random.Random, image: Image.Image) -> Image.Image:
    """Haze, blur, brightness and noise, each at random."""
    if rng.random() < 0.22:
        haze = Image.new("RGB", image.size, jitter(rng, (205, 208, 212), 8))
        image = Image.blend(image, haze, rng.uniform(0.08, 0.25))
    if rng.random() < 0.15:
        image = image.filter(ImageFilter.BoxBlur(rng.uniform(1, 2)))
    gain = rng.uniform(0.84, 1.14)
    dx, dy = rng.randint(0, NOISE_SHIFT_PX - 1), rng.randint(0, NOISE_SHIFT_PX - 1)
    tile = rng.choice(_noise(image.width)).crop((dx, dy, dx + image.width, dy + image.height))
    # (image + noise) / scale + offset: one pass for gain and noise together.
    return ImageChops.add(image, tile, 1 / gain, round(-NOISE_MEAN * gain))
