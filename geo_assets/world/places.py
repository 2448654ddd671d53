"""Populated places where the drawn world has its cameras, from `data/world/places.csv`.

A place belongs to exactly one split, so that train, test and panorama scenes share none.
Coordinates are degrees (WGS 84) of GeoNames' point; labels follow the nearest-city rule.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from functools import cache
from typing import Literal

from geo_assets.world.attributes import WORLD_DATA

Split = Literal["train", "test", "pano"]

TEST_SHARE, PANO_SHARE = 0.25, 0.08


@dataclass(frozen=True)
class Place:
    """One populated place. `sign_name` is its name in the local script."""

    geonameid: str
    iso2: str
    name: str
    sign_name: str
    lat_deg: float
    lon_deg: float
    koppen: str
    region: str
    sub_region: str
    city: str
    split: Split


@cache
def _table() -> dict[str, tuple[Place, ...]]:
    by_country: dict[str, list[dict[str, str]]] = {}
    with (WORLD_DATA / "places.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            by_country.setdefault(row["iso2"], []).append(row)
    return {iso2: _split(rows) for iso2, rows in sorted(by_country.items())}


def _split(rows: list[dict[str, str]]) -> tuple[Place, ...]:
    """Deal one country's places to the splits in an order that nothing else depends on."""
    rows = sorted(rows, key=lambda row: hashlib.sha256(row["geonameid"].encode()).hexdigest())
    n_test = max(1, round(len(rows) * TEST_SHARE))
    n_pano = max(1, round(len(rows) * PANO_SHARE))
    names: tuple[Split, ...] = ("test", "pano", "train")
    splits = [names[(index >= n_test) + (index >= n_test + n_pano)] for index in range(len(rows))]
    return tuple(
        Place(
            geonameid=row["geonameid"],
            iso2=row["iso2"],
            name=row["name"],
            sign_name=row["sign_name"],
            lat_deg=float(row["lat"]),
            lon_deg=float(row["lon"]),
            koppen=row["koppen"],
            region=row["region"],
            sub_region=row["sub_region"],
            city=row["city"],
            split=split,
        )
        for row, split in zip(rows, splits, strict=True)
    )


@cache
def places(iso2: str, split: Split | None = None) -> tuple[Place, ...]:
    """The places of a country, of one split or of all.

    >>> shared = set(places("NZ", "train")) & set(places("NZ", "test"))
    >>> len(places("NZ")) > 20, len(shared)
    (True, 0)
    """
    return tuple(place for place in _table()[iso2] if split in (None, place.split))
