"""The plan of a mirror: which photo shows what, before anything is drawn.

Countries come in turn, so that each has the same number of scenes; every shot has a generator
of its own, so that neither the number of scenes before it nor the worker changes it.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from geo_assets.world.clues import COUNTRIES, Clues, sample_clues, sample_place
from geo_assets.world.places import Split
from geo_assets.world.rows import Photo, label_photos, new_photo

Treatment = Literal["whole", "truncated", "empty", "not an image", "overlay"]


@dataclass(frozen=True)
class Shot:
    """A photo to draw: its identity, its clues and the seed of the drawing.

    `treatment` is what happens to the file after drawing; `has_row` and `has_image` say whether
    the CSV and the zip know it.
    """

    photo: Photo
    clues: Clues
    drawing_seed: str
    treatment: Treatment = "whole"
    has_row: bool = True
    has_image: bool = True


def new_shot(seed: int, split: Split, name: str, iso2: str, taken: set[str]) -> Shot:
    """A shot at a random place of the country; `name` is unique within the split."""
    rng = random.Random(f"{seed}/{split}/{name}")
    clues = sample_clues(rng, sample_place(rng, iso2, split))
    photo = new_photo(rng, taken, clues.place)
    return Shot(photo, clues, drawing_seed=f"{seed}/{split}/{name}/drawing")


def plan_scenes(seed: int, split: Split, scenes: int, taken: set[str]) -> list[Shot]:
    """`scenes` shots of a split, the countries in turn."""
    isos = list(COUNTRIES)
    return [new_shot(seed, split, str(index), isos[index % len(isos)], taken) for index in range(scenes)]


def label_shots(shots: Sequence[Shot]) -> list[Shot]:
    """The shots with the labels of their nearest cities."""
    photos = label_photos([shot.photo for shot in shots])
    return [replace(shot, photo=photo) for shot, photo in zip(shots, photos, strict=True)]
