"""The rows of the mirror's CSVs: OSV-5M's 32 columns, in its order and its way of writing.

Filled: ids, coordinates, country, labels, time and creator. Left blank, as this product reads
none of them: grid cells, quadtrees, land cover, driving side, climate, soil and sea distance.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from geo_assets.geo.places import nearest
from geo_assets.world.places import Place

COLUMNS = (
    "id", "latitude", "longitude", "thumb_original_url", "country", "sequence", "captured_at",
    "lon_bin", "lat_bin", "cell", "region", "sub-region", "city", "land_cover", "road_index",
    "drive_side", "climate", "soil", "dist_sea", "quadtree_10_5000", "quadtree_10_25000",
    "quadtree_10_1000", "quadtree_10_50000", "quadtree_10_12500", "quadtree_10_500", "quadtree_10_2500",
    "unique_region", "unique_sub-region", "unique_city", "unique_country", "creator_username",
    "creator_id",
)  # fmt: skip

SCATTER_DEG = 0.01
"""Cameras stand within this many degrees (about a kilometre) of a place's point."""

FIRST_CAPTURE_MS, LAST_CAPTURE_MS = 1_420_000_000_000, 1_672_000_000_000
CREATORS = 400


@dataclass(frozen=True)
class Photo:
    """The identity of one drawn photo. `country` is the label, which need not be a valid code."""

    id: str
    place: Place
    country: str
    latitude: float
    longitude: float
    sequence: str
    captured_at_ms: int
    creator: int
    region: str = ""
    city: str = ""

    def cells(self) -> dict[str, str]:
        """The photo as a CSV row."""
        place = self.place
        sub_region = place.sub_region if self.city == place.city else ""
        division = f"{self.region}_{self.country}"
        district = f"{sub_region or 'NaN'}_{division}"
        filled = {
            "id": self.id,
            "latitude": f"{self.latitude:.7f}",
            "longitude": f"{self.longitude:.7f}",
            "country": self.country,
            "sequence": self.sequence,
            "captured_at": str(self.captured_at_ms),
            "region": self.region,
            "sub-region": sub_region,
            "city": self.city,
            "unique_region": division,
            "unique_sub-region": district,
            "unique_city": f"{self.city}_{district}",
            "unique_country": self.country,
            "creator_username": f"drawn_{self.creator:03d}",
            "creator_id": str(100_000_000_000_000 + 7919 * self.creator),
        }
        return {column: filled.get(column, "") for column in COLUMNS}


def new_photo(rng: random.Random, taken: set[str], place: Place) -> Photo:
    """An identity that is not in `taken`, to which it is added."""
    while (photo_id := str(rng.randrange(10**14, 4 * 10**15))) in taken:
        pass
    taken.add(photo_id)
    return Photo(
        id=photo_id,
        place=place,
        country=place.iso2,
        latitude=round(place.lat_deg + rng.uniform(-SCATTER_DEG, SCATTER_DEG), 7),
        longitude=round(place.lon_deg + rng.uniform(-SCATTER_DEG, SCATTER_DEG), 7),
        sequence="".join(rng.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=22)),
        captured_at_ms=rng.randrange(FIRST_CAPTURE_MS, LAST_CAPTURE_MS),
        creator=rng.randrange(CREATORS),
    )


def label_photos(photos: Sequence[Photo]) -> list[Photo]:
    """Photos with region and city of the nearest city, OSV-5M's rule.

    A point that the rule puts into another country moves to its place's own point.
    """
    found = nearest([photo.latitude for photo in photos], [photo.longitude for photo in photos])
    return [
        replace(photo, region=str(region), city=str(city)) if iso2 == photo.place.iso2 else _centred(photo)
        for photo, iso2, region, city in zip(
            photos, found.country_iso2, found.region, found.city, strict=True
        )
    ]


def _centred(photo: Photo) -> Photo:
    place = photo.place
    return replace(
        photo, latitude=place.lat_deg, longitude=place.lon_deg, region=place.region, city=place.city
    )


def write_csv(path: Path, photos: Iterable[Photo]) -> None:
    """Write photos in the Hub's format."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(photo.cells() for photo in photos)
