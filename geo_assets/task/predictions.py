"""Predictions: one completion with its truth and its scores, and many of them as columns.

`Prediction` is a line of `predictions.jsonl`; `Columns` is the same as numpy arrays, photos by
completions, which the metrics work on. Degrees, km, and rewards in [0, 1]. Unparsed answers keep
their row: their score is 0 and their distance is `FAR_KM`, half the Earth's circumference.

Left out: reading and writing files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geo_assets.errors import DataError
from geo_assets.geo.geodesy import EARTH_RADIUS_KM

FAR_KM = pi * EARTH_RADIUS_KM
"""Where an unparsed answer sits: no distance on the sphere is greater."""

_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One completion, what it says and what it earned. Guess and distance are None where unparsed."""

    id: str
    k: int = 0
    """Which sample of its photo this is, from 0."""
    completion: str
    country: str | None
    country_iso2: str | None
    lat_deg: float | None
    lon_deg: float | None
    parsed: bool
    truncated: bool
    true_latitude: float
    true_longitude: float
    true_country_iso2: str
    true_region: str | None = None
    true_city: str | None = None
    d_km: float | None
    geoscore: float
    format: float
    country_reward: float
    dist: float
    total: float
    n_tokens: int
    finish_reason: str
    """"stop", or "length" where the completion limit cut it off."""

    def to_json(self) -> str:
        """One line of `predictions.jsonl`, pure ASCII, without its newline."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        for name in ("completion", "country"):
            if fields[name]:
                fields[name] = _SURROGATE.sub("\ufffd", fields[name])
        return json.dumps(fields, allow_nan=False)

    @classmethod
    def from_json(cls, line: str | Mapping[str, Any]) -> Prediction:
        """The prediction of a line, or of a line already decoded; unknown fields are ignored.

        Raises:
            DataError: the line is not JSON, or a field is missing.
        """
        try:
            fields = json.loads(line) if isinstance(line, str) else line
            return cls(**{name: fields[name] for name in cls.__slots__ if name in fields})
        except (ValueError, TypeError) as error:
            raise DataError(
                f"a line of predictions.jsonl is damaged ({error}): materialize it with force"
            ) from error


@dataclass(frozen=True)
class Columns:
    """n photos with k completions each. Arrays have shape (n, k), those of the truth (n,)."""

    ids: tuple[str, ...]
    parsed: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    country_iso2: NDArray[np.object_]
    """None where unparsed or unknown."""
    lat_deg: NDArray[np.float64]
    """0 where unparsed; look at `parsed` first."""
    lon_deg: NDArray[np.float64]
    d_km: NDArray[np.float64]
    geoscore: NDArray[np.float64]
    format: NDArray[np.float64]
    country_reward: NDArray[np.float64]
    dist: NDArray[np.float64]
    total: NDArray[np.float64]
    n_tokens: NDArray[np.float64]
    true_latitude: NDArray[np.float64]
    true_longitude: NDArray[np.float64]
    true_country_iso2: NDArray[np.object_]


def columns(predictions: Sequence[Prediction]) -> Columns:
    """Predictions as arrays, photos in the order of their first row.

    Raises:
        DataError: there is none, photos have different numbers of completions, or a row has
            numbers that cannot be.
    """
    if not predictions:
        raise DataError("there are no predictions to measure: check that the split is not empty")
    order = _by_photo(predictions)
    firsts = order[:, 0]

    def of(name: str, dtype: Any) -> NDArray:
        found = np.fromiter(map(attrgetter(name), predictions), dtype=dtype, count=len(predictions))
        return found[order]

    parsed = of("parsed", bool)
    far = {"d_km": FAR_KM, "lat_deg": 0.0, "lon_deg": 0.0}
    guesses = {name: _filled(predictions, name, value)[order] for name, value in far.items()}
    scores = {
        name: of(name, np.float64) for name in ("geoscore", "format", "country_reward", "dist", "total")
    }
    made = Columns(
        ids=tuple(predictions[first].id for first in firsts.tolist()),
        parsed=parsed,
        truncated=of("truncated", bool),
        country_iso2=of("country_iso2", object),
        lat_deg=guesses["lat_deg"],
        lon_deg=guesses["lon_deg"],
        d_km=guesses["d_km"],
        **scores,
        n_tokens=of("n_tokens", np.float64),
        true_latitude=of("true_latitude", np.float64)[:, 0],
        true_longitude=of("true_longitude", np.float64)[:, 0],
        true_country_iso2=of("true_country_iso2", object)[:, 0],
    )
    for name, values in (("d_km", made.d_km), *scores.items()):
        if not np.isfinite(values).all():
            raise DataError(f"predictions hold a {name} that is not finite: materialize them with force")
    return made


def _by_photo(predictions: Sequence[Prediction]) -> NDArray[np.int64]:
    """Row numbers of shape (n, k), samples of a photo in their order."""
    rows: dict[str, list[int]] = {}
    for row, prediction in enumerate(predictions):
        rows.setdefault(prediction.id, []).append(row)
    sizes = {len(found) for found in rows.values()}
    if len(sizes) > 1:
        raise DataError(
            f"photos have between {min(sizes)} and {max(sizes)} completions: "
            "materialize the predictions with force"
        )
    return np.array(list(rows.values()), dtype=np.int64)


def _filled(predictions: Sequence[Prediction], name: str, missing: float) -> NDArray[np.float64]:
    values = map(attrgetter(name), predictions)
    return np.fromiter(
        (missing if value is None else value for value in values), np.float64, len(predictions)
    )
