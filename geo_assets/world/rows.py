"""The rows of the mirror's CSVs: OSV-5M's 32 columns, in its order and its way of writing.

Filled: ids, coordinates, country, labels, time, driving side, climate class, creator. Left
blank, as in reduced copies of OSV-5M: grid cells, quadtrees, land cover, soil, sea distance.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from geo_assets.world.attributes import all_countries
from geo_assets.world.places import Place

COLUMNS = (
    "id", "latitude", "longitude", "thumb_original_url", "country", "sequence", "captured_at",
    "lon_bin", "lat_bin", "cell", "region", "sub-region", "city", "land_cover", "road_index",
    "drive_side", "climate", "soil", "dist_sea", "quadtree_10_5000", "quadtree_10_25000",
    "quadtree_10_1000", "quadtree_10_50000", "quadtree_10_12500", "quadtree_10_500", "quadtree_10_2500",
    "unique_region", "unique_sub-region", "unique_city", "unique_country", "creator_username",
    "creator_id",
)  # fmt: skip

KOPPEN_CODES = (
    "Af", "Am", "Aw", "BWh", "BWk", "BSh", "BSk", "Csa", "Csb", "Csc", "Cwa", "Cwb", "Cwc", "Cfa",
    "Cfb", "Cfc", "Dsa", "Dsb", "Dsc", "Dsd", "Dwa", "Dwb", "Dwc", "Dwd", "Dfa", "Dfb", "Dfc", "Dfd",
    "ET", "EF",
)  # fmt: skip
"""Köppen classes in the order of their usual codes 1–30."""

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

    def cells(self) -> dict[str, str]:
        """The photo as a CSV row."""
        place = self.place
        sub_region = place.sub_region or "NaN"
        filled = {
            "id": self.id,
            "latitude": f"{self.latitude:.7f}",
            "longitude": f"{self.longitude:.7f}",
            "country": self.country,
            "sequence": self.sequence,
            "captured_at": str(self.captured_at_ms),
            "region": place.region,
            "sub-region": place.sub_region,
            "city": place.city,
            "drive_side": "1.0" if all_countries()[place.iso2].drive_side == "left" else "0.0",
            "climate": str(1 + KOPPEN_CODES.index("Aw" if place.koppen == "As" else place.koppen)),
            "unique_region": f"{place.region}_{self.country}",
            "unique_sub-region": f"{sub_region}_{place.region}_{self.country}",
            "unique_city": f"{place.city}_{sub_region}_{place.region}_{self.country}",
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


def write_csv(path: Path, photos: Iterable[Photo]) -> None:
    """Write photos in the Hub's format."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(photo.cells() for photo in photos)
