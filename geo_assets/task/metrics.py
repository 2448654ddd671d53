"""The figures of a split: accuracies, scores, distances, spread, each headline with its interval.

Every completion counts: an unparsed answer is wrong, scores 0 and sits at the far end of the
median. Thresholds use ≤. Countries, regions and cities of a guessed point follow the
nearest-city rule that made OSV-5M's labels (`geo/places.py`), applied to guess and truth alike.

Left out: anything that needs a second set of predictions but `compare`, and the drawing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geo_assets.errors import DataError
from geo_assets.geo.countries import sovereign_iso2
from geo_assets.geo.places import OCEAN_KM, gazetteer, nearest
from geo_assets.task.collapse import spread_figures
from geo_assets.task.intervals import RESAMPLES, mean_interval, median_interval, paired
from geo_assets.task.predictions import FAR_KM, Columns, Prediction, columns
from geo_assets.task.prompt import is_echo

__all__ = ["FAR_KM", "Columns", "Prediction", "columns", "compare", "per_completion", "summarise"]

ACC_AT_KM = (1, 25, 200, 750, 2500)
MEANS = (
    "mean_geoscore", "mean_reward", "country_acc", "sovereign_acc", "country_acc_coords",
    "country_agreement", "region_acc", "city_acc", "format_rate", "truncated_rate",
)  # fmt: skip
"""Headline figures that are means over completions, beside `acc_at_km.*`."""


def per_completion(table: Columns) -> dict[str, NDArray[np.float64]]:
    """The values whose means and median are the headline figures, each of shape (n, k).

    Keys: those of `MEANS`, `acc_at_km.<km>` and `median_km` (distances in km).
    """
    truth = table.true_country_iso2[:, None]
    known = table.country_iso2 != None  # noqa: E711 - elementwise on an object array
    point_iso2, same_region, same_city = _levels(table)
    hits = {
        "country_acc": known & (table.country_iso2 == truth),
        "sovereign_acc": known & (_sovereigns(table.country_iso2) == _sovereigns(truth)),
        "country_acc_coords": table.parsed & (point_iso2 == truth),
        "country_agreement": table.parsed & known & (point_iso2 == table.country_iso2),
        "region_acc": same_region,
        "city_acc": same_city,
        "format_rate": table.parsed,
        "truncated_rate": table.truncated,
    }
    values = {"mean_geoscore": table.geoscore, "mean_reward": table.total, "median_km": table.d_km}
    for km in ACC_AT_KM:
        hits[f"acc_at_km.{km}"] = table.parsed & (table.d_km <= km)
    return values | {name: np.asarray(hit, dtype=np.float64) for name, hit in hits.items()}


def _levels(table: Columns) -> tuple[NDArray[np.object_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Country of each guessed point, and whether region and city of guess and truth are the same."""
    guess = nearest(table.lat_deg.ravel(), table.lon_deg.ravel())
    truth = nearest(table.true_latitude, table.true_longitude)
    on_land = guess.d_km <= OCEAN_KM
    shape = table.parsed.shape
    iso2 = np.where(on_land, guess.country_iso2, "").reshape(shape)
    counts = table.parsed & on_land.reshape(shape)
    regions, cities = _place_groups()
    same_region = regions[guess.index].reshape(shape) == regions[truth.index][:, None]
    same_city = cities[guess.index].reshape(shape) == cities[truth.index][:, None]
    return iso2, counts & same_region, counts & same_city


@cache
def _place_groups() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Region number and city number of every place of the gazetteer."""
    table = gazetteer()
    regions: dict[tuple, int] = {}
    cities: dict[tuple, int] = {}
    keys = zip(table.country_iso2, table.region, table.city, strict=True)
    numbers = [
        (
            regions.setdefault((iso2, region), len(regions)),
            cities.setdefault((iso2, region, city), len(cities)),
        )
        for iso2, region, city in keys
    ]
    return tuple(np.array(column) for column in zip(*numbers, strict=True))  # type: ignore[return-value]


def _sovereigns(iso2: NDArray[np.object_]) -> NDArray[np.object_]:
    merged = {code: sovereign_iso2(code) if code else code for code in set(iso2.ravel().tolist())}
    return np.array([merged[code] for code in iso2.ravel().tolist()], dtype=object).reshape(iso2.shape)


def summarise(
    predictions: Sequence[Prediction],
    seconds: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> dict[str, Any]:
    """All figures of one set of predictions, ready for `metrics.json` (no NaN, no numpy).

    Args:
        predictions: at least one; every photo with the same number of completions.
        seconds: wall time that the completions took, where known.
        resamples: bootstrap resamples per interval.
        seed: of the bootstrap.

    Returns:
        The keys of SPEC section 6, `n_photos`, `mean_reward`, and `intervals`: headline name to
        [low, high] (`acc_at_km` again a dict by km). `n` counts completions.

    Raises:
        DataError: there is no prediction, or the photos are unevenly sampled.
    """
    table = columns(predictions)
    values = per_completion(table)
    figures: dict[str, Any] = {
        "n": table.parsed.size,
        "n_photos": len(table.ids),
        "n_parsed": int(table.parsed.sum()),
        "prompt_echo_rate": sum(is_echo(p.country, p.lat_deg, p.lon_deg) for p in predictions)
        / len(predictions),
        "mean_completion_tokens": float(table.n_tokens.mean()),
        "seconds": seconds,
        "images_per_second": len(table.ids) / seconds if seconds else None,
        **spread_figures(table),
    }
    intervals: dict[str, Any] = {}
    for name, rows in values.items():
        median = name == "median_km"
        value = float(np.median(rows) if median else rows.mean())
        interval = (median_interval if median else mean_interval)(rows, resamples, seed)
        _put(figures, name, value)
        _put(intervals, name, [interval.low, interval.high])
    return figures | {"intervals": intervals}


def _put(target: dict[str, Any], name: str, value: Any) -> None:
    group, _, key = name.partition(".")
    if key:
        target.setdefault(group, {})[key] = value
    else:
        target[name] = value


def compare(
    before: Sequence[Prediction],
    after: Sequence[Prediction],
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> dict[str, Mapping[str, Any]]:
    """Paired change of every headline figure over the photos that both sides answered.

    Returns:
        Headline name (`acc_at_km.25` and so on) to the dict of `intervals.paired`.

    Raises:
        DataError: the two sides answered different photos.
    """
    first, second = columns(before), columns(after)
    if first.ids != second.ids:
        raise DataError("before and after answered different photos: materialize both on the same split")
    left, right = per_completion(first), per_completion(second)
    return {
        name: paired(left[name], right[name], "median" if name == "median_km" else "mean", resamples, seed)
        for name in left
    }
