"""The terms of a reward, and rewards that look at distance and stated country alone.

Distances are in km on the mean sphere; every reward is finite and in [0, 1]. An unparsed
completion earns exactly 0 in every term. `rewards.py` gives these their names.

Left out: levels that need a gazetteer (`hierarchy.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import NamedTuple, Protocol

from geo_assets.errors import DataError
from geo_assets.geo.geodesy import point_distance_km
from geo_assets.geo.score import MAX_GEOSCORE, SCALE_KM
from geo_assets.task.answer import Guess, parse_answer


class Terms(NamedTuple):
    """The terms of one completion: rewards in [0, 1], `d_km` None where unparsed."""

    format: float
    country: float
    dist: float
    total: float
    d_km: float | None
    geoscore: float


UNPARSED = Terms(0.0, 0.0, 0.0, 0.0, None, 0.0)


class Scorer(Protocol):
    """Scores n completions against n true places; `progress` is the share of training done, 0 to 1."""

    def __call__(
        self,
        texts: Sequence[str],
        latitude: Sequence[float],
        longitude: Sequence[float],
        country_iso2: Sequence[str | None],
        progress: float = 1.0,
    ) -> list[Terms]: ...


@dataclass(frozen=True)
class Reward:
    """A reward that a profile can name."""

    name: str
    about: str
    """One sentence for the table of `geo-assets rewards`."""
    score: Scorer
    scheduled: bool = False
    """Whether it changes with the progress of training."""
    curriculum: Callable[..., dict[str, float]] | None = None
    """Figures of a batch for the training log, with the arguments of `score`; for scheduled ones."""


def geoguessr_dist(d_km: float) -> float:
    """`0.5·exp(-d/1492.7) + 0.5·exp(-d/250)`: the GeoScore's decay and a sharper one (SPEC section 5).

    >>> geoguessr_dist(0.0), round(geoguessr_dist(250.0), 4)
    (1.0, 0.6068)
    """
    return 0.5 * exp(-d_km / SCALE_KM) + 0.5 * exp(-d_km / 250.0)


def bands_dist(d_km: float) -> float:
    """Piecewise linear: 0 km → 1, 750 → 0.5, 2500 → 0.2, 20000 and beyond → 0 (SPEC section 5).

    >>> [bands_dist(d_km) for d_km in (0.0, 375.0, 750.0, 2500.0, 20000.0, 20015.0)]
    [1.0, 0.75, 0.5, 0.2, 0.0, 0.0]
    """
    if d_km <= 750.0:
        return 1.0 - 0.5 * d_km / 750.0
    if d_km <= 2500.0:
        return 0.5 - 0.3 * (d_km - 750.0) / 1750.0
    return max(0.0, 0.2 - 0.2 * (d_km - 2500.0) / 17500.0)


def region_dist(d_km: float) -> float:
    """`exp(-d/200)` up to 2000 km, then 0 (SPEC section 5).

    >>> region_dist(0.0), round(region_dist(200.0), 4), region_dist(2000.1)
    (1.0, 0.3679, 0.0)
    """
    return exp(-d_km / 200.0) if d_km <= 2000.0 else 0.0


def geoguessr_total(form: float, country: float, dist: float) -> float:
    """`0.10·format + 0.30·country + 0.60·dist` (SPEC section 5).

    >>> geoguessr_total(1.0, 1.0, 1.0), geoguessr_total(1.0, 1.0, 0.0), geoguessr_total(1.0, 0.0, 0.5)
    (1.0, 0.4, 0.4)
    """
    return 0.10 * form + 0.30 * country + 0.60 * dist


def by_distance(kernel: Callable[[float], float], combine: Callable[[float, float, float], float]) -> Scorer:
    """A scorer that looks at distance and stated country alone.

    Args:
        kernel: maps d_km to the `dist` term.
        combine: maps (format, country, dist) to the total.
    """

    def score(texts, latitude, longitude, country_iso2, progress=1.0) -> list[Terms]:
        rows = []
        for text, lat, lon, iso2 in zip(texts, latitude, longitude, country_iso2, strict=True):
            guess = parse_answer(text)
            rows.append(UNPARSED if guess is None else _terms(guess, lat, lon, iso2, kernel, combine))
        return rows

    return score


def _terms(guess: Guess, lat: float, lon: float, iso2: str | None, kernel, combine) -> Terms:
    if not (-90.0 <= lat <= 90.0 and -180.0 <= lon <= 180.0):
        raise DataError(f"a row has no true place ({lat}, {lon}): build its set again")
    d_km = point_distance_km(guess.lat_deg, guess.lon_deg, lat, lon)
    form = 1.0 if guess.country else 0.0
    country = 1.0 if iso2 is not None and guess.country_iso2 == iso2 else 0.0
    dist = kernel(d_km)
    return Terms(
        form, country, dist, combine(form, country, dist), d_km, MAX_GEOSCORE * exp(-d_km / SCALE_KM)
    )


def dist_only(form: float, country: float, dist: float) -> float:
    """The distance term alone."""
    return dist
