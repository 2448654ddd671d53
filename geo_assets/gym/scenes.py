"""Street scenes as tasks: rows of a set on disk, or drawn when they are first looked at.

Coordinates are degrees. Drawing a scene takes some ten milliseconds, so a drawn photo is kept. Left out:
which rows are worth training on (`train_learnable` is a set like any other here).
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from PIL import Image

from geo_assets.gym.environment import Spec, Split
from geo_assets.world.clues import COUNTRIES, Clues
from geo_assets.world.panorama import VIEWS, draw_panorama_batch
from geo_assets.world.scene import draw_scene
from geo_assets.world.shots import Shot, label_shots, new_shot

SET_OPTION = "folder of a set (eval_osv, train_learnable …) to take the photos from; unset draws scenes"
KEPT_PICTURES = 512
Picture = Image.Image | Path


@dataclass(frozen=True)
class Scene:
    """One task: an id, the true place, and how to get at its pictures."""

    id: str
    latitude: float
    longitude: float
    country_iso2: str
    pictures: Callable[[], tuple[Picture, ...]]
    clues: Clues | None = None
    """What is drawn, for drawn scenes."""


def scenes(spec: Spec, panoramas: bool = False) -> list[Scene]:
    """The scenes of a spec: the first `size` rows of the set that its option names, else drawn ones.

    Raises:
        DataError: the folder is no set.
    """
    folder = spec.options.get("set")
    if folder:
        return _of_set(Path(folder).expanduser(), spec)
    return drawn_scenes(spec.split, spec.size, spec.seed, panoramas)


def drawn_scenes(split: Split, size: int, seed: int, panoramas: bool = False) -> list[Scene]:
    """`size` drawn scenes, the countries in turn. Train and test share no place."""
    isos, taken = list(COUNTRIES), set[str]()
    shots = [new_shot(seed, split, f"gym-{i}", isos[i % len(isos)], taken) for i in range(size)]
    return [_of_shot(shot, panoramas) for shot in label_shots(shots)]


def _of_shot(shot: Shot, panorama: bool) -> Scene:
    photo = shot.photo
    draw = _draw_panorama if panorama else _draw
    return Scene(photo.id, photo.latitude, photo.longitude, photo.place.iso2, lambda: draw(shot), shot.clues)


@lru_cache(maxsize=KEPT_PICTURES)
def _draw(shot: Shot) -> tuple[Image.Image, ...]:
    return (draw_scene(random.Random(shot.drawing_seed), shot.clues),)


@lru_cache(maxsize=KEPT_PICTURES // 8)
def _draw_panorama(shot: Shot) -> tuple[Image.Image, ...]:
    from geo_assets.osv.panorama import cut_views

    (content,) = draw_panorama_batch([shot])
    return tuple(cut_views(Image.open(io.BytesIO(content)).convert("RGB"), VIEWS))


def _of_set(folder: Path, spec: Spec) -> list[Scene]:
    import polars as pl

    from geo_assets.osv.sets import read_set

    learnable = folder / "train_learnable.parquet"
    rows = pl.read_parquet(learnable) if learnable.exists() else read_set(folder)
    return [_of_row(folder, row) for row in rows.head(spec.size).iter_rows(named=True)]


def _of_row(folder: Path, row: dict[str, Any]) -> Scene:
    paths: Sequence[str] = row.get("views") or [row["image_path"]]
    found = tuple(folder / path for path in paths)
    return Scene(row["id"], row["latitude"], row["longitude"], row["country_iso2"], lambda: found)
