"""What the camera adds: things in the way, haze, exposure, blur and sensor noise."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

from geo_assets.world.camera import HEIGHT_PX
from geo_assets.world.palette import jitter

NOISE_TILES, NOISE_SHIFT_PX, NOISE_STD = 6, 64, 8


@cache
def _noise(width_px: int) -> tuple[Image.Image, ...]:
    """Grey pictures with Gaussian noise, larger than a scene so that each can be shifted."""
    generator = np.random.default_rng(0)
    shape = (HEIGHT_PX + NOISE_SHIFT_PX, width_px + NOISE_SHIFT_PX, 3)
    tiles = (128 + NOISE_STD * generator.standard_normal(shape, dtype=np.float32) for _ in range(NOISE_TILES))
    return tuple(Image.fromarray(np.clip(tile, 0, 255).astype(np.uint8)) for tile in tiles)


def draw_obstacle(rng: random.Random, pen: ImageDraw.ImageDraw, width_px: int) -> None:
    """A branch over the picture or a post close to the lens."""
    x = rng.uniform(60, width_px - 60)
    if rng.random() < 0.5:
        for _ in range(9):
            dx, y, size = rng.uniform(-90, 90), rng.uniform(-10, 70), rng.uniform(14, 34)
            leaves = jitter(rng, (48, 84, 40), 16)
            pen.ellipse([x + dx - size, y - size * 0.6, x + dx + size, y + size * 0.6], fill=leaves)
    else:
        half = rng.uniform(10, 26)
        pen.rectangle([x - half, 0, x + half, HEIGHT_PX], fill=jitter(rng, (86, 84, 80), 16))


def expose(rng: random.Random, image: Image.Image) -> Image.Image:
    """Haze, brightness, blur and noise, each at random."""
    if rng.random() < 0.22:
        haze = Image.new("RGB", image.size, jitter(rng, (205, 208, 212), 8))
        image = Image.blend(image, haze, rng.uniform(0.08, 0.25))
    gain = rng.uniform(0.84, 1.14)
    image = image.point([min(255, int(value * gain)) for value in range(256)] * 3)
    if rng.random() < 0.15:
        image = image.filter(ImageFilter.BoxBlur(rng.uniform(1, 2)))
    dx, dy = rng.randint(0, NOISE_SHIFT_PX - 1), rng.randint(0, NOISE_SHIFT_PX - 1)
    tile = rng.choice(_noise(image.width)).crop((dx, dy, dx + image.width, dy + image.height))
    return ImageChops.add(image, tile, 1, -128)
