"""Controls: what a score is worth when the right photo is not looked at.

Two controls ask the model again (a blank image, another row's image) and two need none: one best
point for all photos, and the most frequent country's. The answers of the latter two are ordinary
completions, scored by the same code as a model's. Fitted on the split itself they are upper
bounds; fit them on training rows for a fair one.

Left out: generating completions for blank and shuffled images.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geo_assets.geo.countries import country_name
from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.score import geoscore
from geo_assets.task.attacks import answer_text
from geo_assets.task.gold import Place
from geo_assets.task.intervals import paired
from geo_assets.task.predictions import Prediction

MAX_CANDIDATES = 512
BLANK_GREY = 127
"""Level of the blank control image, in all three channels (0 to 255)."""


def derangement(n: int, seed: int) -> list[int]:
    """For each of n rows another row whose image it gets: a seeded permutation with no fixed point.

    Raises:
        ValueError: there are fewer than two rows, so there is no other image.

    >>> sorted(derangement(5, seed=1)), any(i == j for i, j in enumerate(derangement(5, seed=1)))
    ([0, 1, 2, 3, 4], False)
    """
    if n < 2:
        raise ValueError(f"shuffling images needs at least two rows, not {n}")
    order = list(range(n))
    random.Random(seed).shuffle(order)
    following = dict(zip(order, order[1:] + order[:1], strict=True))
    return [following[row] for row in range(n)]


def best_point(fit: Sequence[Place], seed: int = 0) -> Place:
    """The place among the rows (at most 512 are tried) with the highest mean GeoScore over all rows."""
    tried = sorted(fit)
    if len(tried) > MAX_CANDIDATES:
        tried = random.Random(seed).sample(tried, MAX_CANDIDATES)
    lat, lon = (np.array([place[axis] for place in fit]) for axis in (0, 1))
    means = [geoscore(haversine_km(lat, lon, place.latitude, place.longitude)).mean() for place in tried]
    return tried[int(np.argmax(means))]


def prior_place(fit: Sequence[Place], seed: int = 0) -> Place:
    """The best point of the most frequent country (the first by code among equals)."""
    counts = Counter(place.country_iso2 for place in fit)
    iso2 = min(counts, key=lambda code: (-counts[code], code))
    return best_point([place for place in fit if place.country_iso2 == iso2], seed)


def no_look_answers(fit: Sequence[Place], seed: int = 0) -> dict[str, str]:
    """The completions of the two controls without a model: `constant` and `prior`."""
    return {
        name: answer_text(country_name(place.country_iso2), place.latitude, place.longitude)
        for name, place in (("constant", best_point(fit, seed)), ("prior", prior_place(fit, seed)))
    }


@dataclass(frozen=True)
class Survival:
    """How much of a gain is left under a control. Shares are None where the gain is not clear."""

    gain: float
    gain_under_control: float
    surviving_share: float | None
    """0: the gain needs the right image. 1: it never looked."""


def survival(
    before: Sequence[Prediction],
    after: Sequence[Prediction],
    before_control: Sequence[Prediction],
    after_control: Sequence[Prediction],
) -> Survival:
    """Mean GeoScore gained with the right image, and under a control on the same rows."""
    gain = _gain(before, after)
    control = _gain(before_control, after_control)
    clear = gain["excludes_zero"] and gain["difference"] > 0
    share = control["difference"] / gain["difference"] if clear else None
    return Survival(gain["difference"], control["difference"], share)


def _gain(before: Sequence[Prediction], after: Sequence[Prediction]) -> Mapping[str, Any]:
    return paired([p.geoscore for p in before], [p.geoscore for p in after])
