"""Draws a panorama set in the layout of the Hub's panorama data set.

`data/train-00000-of-00001.parquet` with `image` (struct of `bytes` and `path`),
`country_iso_alpha2`, `latitude`, `longitude` (both strings) and `address`. A panorama is
3050 × 561 px: the road ahead between the views to its left and right, under one sky, at places
that neither train nor test scenes use. Left out: true 360° projection.
"""

from __future__ import annotations

import io
import logging
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from PIL import Image

from geo_assets.settings import PanoSource
from geo_assets.world.camera import HEIGHT_PX
from geo_assets.world.clues import COUNTRIES
from geo_assets.world.drawers import drawers
from geo_assets.world.lens import expose
from geo_assets.world.scene import choose_setting, draw_side_view, draw_view
from geo_assets.world.shots import Shot, label_shots, new_shot

logger = logging.getLogger(__name__)

PANO_WIDTH_PX, PANO_HEIGHT_PX, VIEWS = 3050, 561, 3
VIEW_WIDTH_PX = round(PANO_WIDTH_PX / VIEWS * HEIGHT_PX / PANO_HEIGHT_PX)
BATCH_SHOTS = 8


@dataclass(frozen=True)
class PanoramaStats:
    """How many panoramas were drawn, and how long it took."""

    rows: int
    seconds: float


def draw_panoramas(out_dir: Path, settings: PanoSource, workers: int = 1) -> PanoramaStats:
    """Draw `settings.scenes` panoramas into `out_dir/data`, the countries in turn."""
    start = time.monotonic()
    isos, taken = list(COUNTRIES), set[str]()
    shots = [
        new_shot(settings.seed, "pano", str(index), isos[index % len(isos)], taken)
        for index in range(settings.scenes)
    ]
    shots = label_shots(shots)
    batches = [shots[first : first + BATCH_SHOTS] for first in range(0, len(shots), BATCH_SHOTS)]
    with drawers(workers) as draw:
        contents = [content for batch in draw(draw_panorama_batch, batches) for content in batch]
    rows = [_row(shot, content) for shot, content in zip(shots, contents, strict=True)]
    folder = out_dir / "data"
    folder.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows).write_parquet(folder / "train-00000-of-00001.parquet")
    seconds = time.monotonic() - start
    logger.info("drew %d panoramas, %.1f a second", len(rows), len(rows) / max(seconds, 1e-9))
    return PanoramaStats(rows=len(rows), seconds=seconds)


def draw_panorama_batch(shots: Sequence[Shot]) -> list[bytes]:
    """The JPEG files of a batch of panoramas."""
    return [_draw(shot) for shot in shots]


def _draw(shot: Shot) -> bytes:
    rng = random.Random(shot.drawing_seed)
    setting = choose_setting(rng, shot.clues)
    panorama = Image.new("RGB", (VIEW_WIDTH_PX * VIEWS, HEIGHT_PX))
    for view in range(VIEWS):
        draw = draw_view if view == VIEWS // 2 else draw_side_view
        panorama.paste(draw(rng, shot.clues, setting, VIEW_WIDTH_PX), (view * VIEW_WIDTH_PX, 0))
    panorama = expose(rng, panorama)
    buffer = io.BytesIO()
    panorama.resize((PANO_WIDTH_PX, PANO_HEIGHT_PX), Image.Resampling.BICUBIC).save(
        buffer, "JPEG", quality=85
    )
    return buffer.getvalue()


def _row(shot: Shot, content: bytes) -> dict[str, object]:
    photo = shot.photo
    return {
        "image": {"bytes": content, "path": f"{photo.id}.jpg"},
        "country_iso_alpha2": photo.country,
        "latitude": str(photo.latitude),
        "longitude": str(photo.longitude),
        "address": f"{photo.city}, {COUNTRIES[photo.place.iso2].name}",
    }
