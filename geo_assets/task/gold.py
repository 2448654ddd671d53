"""Gold rows: true places that policies are scored on, and what may honestly be known of them.

Coordinates are degrees. Rows are sorted, and at most 2,000 are drawn by a seed, so that a suite
takes a second. Left out: which set they come from.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from geo_assets.errors import DataError
from geo_assets.geo.countries import country_table
from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.places import gazetteer

MAX_GOLD_ROWS = 2_000
TOP_COUNTRIES = 10


class Place(NamedTuple):
    """A true place, in degrees."""

    latitude: float
    longitude: float
    country_iso2: str


@dataclass(frozen=True)
class Gold:
    """The rows that policies are scored on, and what an honest player may know of them."""

    rows: tuple[Place, ...]
    medoid: Mapping[str, Place]
    """Per country, the row with the smallest sum of distances to the country's rows."""
    centroid: Mapping[str, Place]
    """Per country, the mean of the rows' coordinates."""
    common: tuple[str, ...]
    """The most frequent countries, the first first."""


def make_gold(rows: Sequence[Mapping[str, Any]], seed: int = 0) -> Gold:
    """Prepares gold rows: sorted, at most 2,000 drawn by the seed.

    Args:
        rows: mappings with `latitude`, `longitude` and `country_iso2`; codes that no country has
            are left out.

    Raises:
        DataError: there are fewer than two rows or fewer than two countries.
    """
    known = country_table().english
    places = sorted(
        Place(float(row["latitude"]), float(row["longitude"]), str(row["country_iso2"]))
        for row in rows
        if row["country_iso2"] in known
    )
    if len(places) > MAX_GOLD_ROWS:
        places = sorted(random.Random(seed).sample(places, MAX_GOLD_ROWS))
    counts = Counter(place.country_iso2 for place in places)
    if len(counts) < 2:
        raise DataError("an attack suite needs gold rows of at least two countries: choose a larger set")
    groups: dict[str, list[Place]] = {}
    for place in places:
        groups.setdefault(place.country_iso2, []).append(place)
    common = sorted(counts, key=lambda iso2: (-counts[iso2], iso2))[:TOP_COUNTRIES]
    return Gold(
        rows=tuple(places),
        medoid={iso2: _medoid(group) for iso2, group in groups.items()},
        centroid={iso2: _centroid(group) for iso2, group in groups.items()},
        common=tuple(common),
    )


def _medoid(group: Sequence[Place]) -> Place:
    lat = np.array([place.latitude for place in group])
    lon = np.array([place.longitude for place in group])
    return group[int(haversine_km(lat[:, None], lon[:, None], lat, lon).sum(axis=1).argmin())]


def _centroid(group: Sequence[Place]) -> Place:
    lat = float(np.mean([place.latitude for place in group]))
    return Place(lat, float(np.mean([place.longitude for place in group])), group[0].country_iso2)


@lru_cache(maxsize=1)
def standard_gold() -> Gold:
    """1,000 places of the gazetteer, at most 30 of a country, for judging a reward without a data set."""
    table = gazetteer()
    order = list(range(len(table.lat_deg)))
    random.Random(5).shuffle(order)
    taken: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    for i in order:
        iso2 = str(table.country_iso2[i])
        if taken[iso2] < 30 and len(rows) < 1_000:
            taken[iso2] += 1
            rows.append({"latitude": table.lat_deg[i], "longitude": table.lon_deg[i], "country_iso2": iso2})
    return make_gold(rows)
