"""Straightforward code for the same job, the yardstick of `bench task`. Nothing else uses it.

A regular expression and `json.loads` for the answer, `pycountry.countries.search_fuzzy` for the
country, and metrics row by row in Python with a bootstrap that draws every row.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence

_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def parse(text: str) -> dict | None:
    """The answer as published rewards read it."""
    match = _ANSWER.search(text)
    if not match:
        return None
    try:
        answer = json.loads(match.group(1))
        return {"country": answer["country"], "lat": float(answer["lat"]), "lon": float(answer["lon"])}
    except (ValueError, KeyError, TypeError):
        return None


def fuzzy_iso2(name: str) -> str | None:
    """The first hit of pycountry's fuzzy search."""
    import pycountry

    try:
        return pycountry.countries.search_fuzzy(name)[0].alpha_2
    except LookupError:
        return None


def distance_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """The haversine formula."""
    a1, o1, a2, o2 = map(math.radians, (lat1, lon1, lat2, lon2))
    h = math.sin((a2 - a1) / 2) ** 2 + math.cos(a1) * math.cos(a2) * math.sin((o2 - o1) / 2) ** 2
    return 2 * 6371.0 * math.asin(math.sqrt(min(1.0, h)))


def reward(text: str, latitude: float, longitude: float, country_iso2: str) -> float:
    """The default reward's formula."""
    answer = parse(text)
    if answer is None:
        return 0.0
    d_km = distance_km(answer["lat"], answer["lon"], latitude, longitude)
    country = 1.0 if fuzzy_iso2(answer["country"]) == country_iso2 else 0.0
    return 0.1 + 0.3 * country + 0.6 * (0.5 * math.exp(-d_km / 1492.7) + 0.5 * math.exp(-d_km / 250))


METRICS = 15
"""Headline figures with an interval, as many as the product has."""


def bootstrap_means(values: Sequence[float], resamples: int, seed: int = 0) -> list[float]:
    """Sorted bootstrap means of one metric, every row of every resample drawn in Python."""
    rng = random.Random(seed)
    n = len(values)
    return sorted(sum(values[rng.randrange(n)] for _ in range(n)) / n for _ in range(resamples))
