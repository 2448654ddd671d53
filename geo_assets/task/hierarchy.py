"""The hierarchical reward: country, region, city and coordinates, coarse to fine.

Each level turns a distance in km into `exp(-d/τ)` with τ = 2000, 500, 100 and 25 km (SPEC section
5). A level that is right has distance 0. One that is wrong has the distance of what was claimed:
for the country, from the true point to the nearest place of the stated country; for region and
city, from the guessed to the true point. Region and city of both points follow the nearest-city
rule (`geo/places.py`), so nothing is asked of a geocoder on the way.

The weights move from coarse to fine with the share of optimizer steps done. They sum to 1 at
every step, and a level without a claim (no country, an unknown one, an unparsed answer) scores 0
and keeps its weight; otherwise naming a country alone would earn everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import exp

import numpy as np
from numpy.typing import NDArray

from geo_assets.errors import DataError
from geo_assets.geo.geodesy import EARTH_RADIUS_KM, haversine_km
from geo_assets.geo.places import gazetteer, nearest
from geo_assets.geo.score import MAX_GEOSCORE, SCALE_KM
from geo_assets.task.answer import Guess, parse_answer
from geo_assets.task.terms import UNPARSED, Terms

LEVELS = ("country", "region", "city", "coordinates")
TAU_KM = (2000.0, 500.0, 100.0, 25.0)
COARSE = (0.4, 0.3, 0.2, 0.1)
"""Weights of the levels when training begins."""
FINE = (0.1, 0.2, 0.3, 0.4)
"""Weights of the levels when it ends, and wherever no training is under way."""


def weights(progress: float) -> tuple[float, ...]:
    """The levels' weights at a share of training done, blended linearly; they sum to 1.

    >>> weights(0.0), weights(1.0)
    ((0.4, 0.3, 0.2, 0.1), (0.1, 0.2, 0.3, 0.4))
    >>> [round(weight, 2) for weight in weights(0.5)]
    [0.25, 0.25, 0.25, 0.25]
    """
    share = min(1.0, max(0.0, progress))
    return tuple((1.0 - share) * coarse + share * fine for coarse, fine in zip(COARSE, FINE, strict=True))


def score_levels(
    texts: Sequence[str],
    latitude: Sequence[float],
    longitude: Sequence[float],
    country_iso2: Sequence[str | None],
    progress: float = 1.0,
) -> list[Terms]:
    """Scores n completions at once; `dist` is the blend of region, city and coordinates.

    Raises:
        DataError: a true place is not on the globe.
    """
    blend = weights(progress)
    return [
        UNPARSED if row is None else _terms(*row, blend)
        for row in _levels(texts, latitude, longitude, country_iso2)
    ]


def curriculum(
    texts: Sequence[str],
    latitude: Sequence[float],
    longitude: Sequence[float],
    country_iso2: Sequence[str | None],
    progress: float = 1.0,
) -> dict[str, float]:
    """What the training log shows of n completions: `<level>_weight`, and the mean `<level>_level` in [0, 1].

    Raises:
        DataError: a true place is not on the globe.
    """
    rows = _levels(texts, latitude, longitude, country_iso2)
    found = dict(zip((f"{level}_weight" for level in LEVELS), weights(progress), strict=True))
    for place, level in enumerate(LEVELS):
        found[f"{level}_level"] = sum(row[2][place] for row in rows if row) / max(1, len(rows))
    return found


def _terms(guess: Guess, d_km: float, levels: Sequence[float], right: bool, blend: Sequence[float]) -> Terms:
    parts = [weight * level for weight, level in zip(blend, levels, strict=True)]
    return Terms(
        format=1.0 if guess.country else 0.0,
        country=1.0 if right else 0.0,
        dist=min(1.0, sum(parts[1:]) / sum(blend[1:])),
        total=min(1.0, sum(parts)),
        d_km=d_km,
        geoscore=MAX_GEOSCORE * exp(-d_km / SCALE_KM),
    )


def _levels(
    texts: Sequence[str],
    latitude: Sequence[float],
    longitude: Sequence[float],
    country_iso2: Sequence[str | None],
) -> list[tuple[Guess, float, tuple[float, ...], bool] | None]:
    """Of each completion that can be read: the guess, its error in km, its levels, and a right country."""
    found: list[tuple[Guess, float, tuple[float, ...], bool] | None] = [None] * len(texts)
    guesses = {row: guess for row, text in enumerate(texts) if (guess := parse_answer(text)) is not None}
    if not guesses:
        return found
    truth = np.array([(latitude[row], longitude[row]) for row in guesses], dtype=np.float64)
    points = np.array([(guess.lat_deg, guess.lon_deg) for guess in guesses.values()])
    try:
        d_km = haversine_km(points[:, 0], points[:, 1], truth[:, 0], truth[:, 1])
        same_region, same_city = _same_levels(points, truth)
    except ValueError as error:
        raise DataError(f"a row has no true place ({error}): build its set again") from error
    for i, (row, guess) in enumerate(guesses.items()):
        right = country_iso2[row] is not None and guess.country_iso2 == country_iso2[row]
        d = float(d_km[i])
        levels = (
            1.0 if right else _claimed_country(guess.country_iso2, *truth[i]),
            1.0 if same_region[i] else exp(-d / TAU_KM[1]),
            1.0 if same_city[i] else exp(-d / TAU_KM[2]),
            exp(-d / TAU_KM[3]),
        )
        found[row] = (guess, d, levels, right)
    return found


def _same_levels(points: NDArray, truth: NDArray) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    guess, true = nearest(points[:, 0], points[:, 1]), nearest(truth[:, 0], truth[:, 1])
    region = (guess.country_iso2 == true.country_iso2) & (guess.region == true.region)
    return region, region & (guess.city == true.city)


def _claimed_country(iso2: str | None, lat_deg: float, lon_deg: float) -> float:
    """`exp(-d/2000)` for the distance from a point to the nearest place of a wrong country; 0 for none."""
    places = _places_of(iso2) if iso2 else None
    if places is None:
        return 0.0
    cosine = float((places @ _unit_vectors(np.array([lat_deg]), np.array([lon_deg]))[0]).max())
    return exp(-EARTH_RADIUS_KM * np.arccos(min(1.0, max(-1.0, cosine))) / TAU_KM[0])


@cache
def _places_of(iso2: str) -> NDArray[np.float64] | None:
    table = gazetteer()
    inside = table.country_iso2 == iso2
    return _unit_vectors(table.lat_deg[inside], table.lon_deg[inside]) if inside.any() else None


def _unit_vectors(lat_deg: NDArray, lon_deg: NDArray) -> NDArray[np.float64]:
    phi, theta = np.radians(lat_deg), np.radians(lon_deg)
    return np.column_stack([np.cos(phi) * np.cos(theta), np.cos(phi) * np.sin(theta), np.sin(phi)])
