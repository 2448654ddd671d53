"""How sure a figure is: 95% bootstrap intervals, paired differences, exact McNemar, smallest gain.

Percentile intervals of 10,000 seeded resamples (B. Efron, 1979) over photos; `resampling.py` says
how each distribution is drawn. A claim of change needs an interval that excludes zero.

Left out: corrections for looking at many metrics at once.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geo_assets.task.resampling import Floats, joint_medians, resampled_means, resampled_medians

RESAMPLES = 10_000
LEVEL = 0.95
DETECTION_Z = 1.959964 + 0.841621
"""Two-sided 5% error and 80% power, in standard errors (J. Cohen, 1988)."""

MIN_CHANGED = 6
"""Even a unanimous change of fewer photos is one that a two-sided sign test at 5% lets pass as chance."""

Statistic = Literal["mean", "median"]


class Interval(NamedTuple):
    """The bounds of a 95% interval."""

    low: float
    high: float


def mean_interval(values: ArrayLike, resamples: int = RESAMPLES, seed: int = 42) -> Interval:
    """Interval of the mean over photos.

    A share of which no photo or every photo is a hit has no spread to resample; it gets the
    exact bound of C. J. Clopper and E. S. Pearson (1934) on its open side.

    Args:
        values: shape (n,) one value per photo, or (n, k) with k completions per photo.

    Raises:
        ValueError: there is no value, or one is not finite.

    >>> mean_interval([0.0] * 30 + [1.0] * 70)
    Interval(low=0.61, high=0.79)
    >>> round(mean_interval([1.0] * 100).low, 3)
    0.964
    """
    per_photo = _per_photo(values).mean(axis=1)
    n = len(per_photo)
    if per_photo.min() == per_photo.max() and per_photo[0] in (0.0, 1.0):
        open_side = ((1.0 - LEVEL) / 2.0) ** (1.0 / n)
        return Interval(open_side, 1.0) if per_photo[0] else Interval(0.0, 1.0 - open_side)
    return _percentiles(resampled_means(per_photo, resamples, seed))


def median_interval(values: ArrayLike, resamples: int = RESAMPLES, seed: int = 42) -> Interval:
    """Interval of the median over all completions, photos resampled.

    Args:
        values: shape (n,) or (n, k), finite.
    """
    rows = _per_photo(values)
    if rows.shape[1] == 1:
        return _percentiles(resampled_medians(rows[:, 0], resamples, seed))
    return _percentiles(joint_medians([rows], resamples, seed)[0])


def paired(
    before: ArrayLike,
    after: ArrayLike,
    statistic: Statistic = "mean",
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> dict[str, float | int | bool | None]:
    """The change of a mean or median over the same photos, and how sure it is.

    Args:
        before, after: shape (n,) or (n, k), row i of both about the same photo.
        statistic: "mean" or "median".

    Returns:
        `n` photos; `before`, `after`, `difference` (after - before); `low`, `high` of its 95%
        interval, which holds zero where fewer than six photos changed; `p_mcnemar`, None unless
        all values are hits and misses of one completion a photo; `mde`, the smallest gain that n
        photos show with 80% power, None where all photos changed alike or not at all;
        `excludes_zero`, whether the interval does.

    Raises:
        ValueError: the numbers of photos differ, or a value is not finite.

    >>> paired([0, 0, 0, 1] * 50, [1, 0, 0, 1] * 50)["difference"]
    0.25
    """
    first, second = _per_photo(before), _per_photo(after)
    if len(first) != len(second):
        raise ValueError(f"paired figures need the same photos, not {len(first)} and {len(second)}")
    if statistic == "mean":
        values = first.mean(), second.mean()
        differences = resampled_means(second.mean(axis=1) - first.mean(axis=1), resamples, seed)
    else:
        values = np.median(first), np.median(second)
        drawn = joint_medians([first, second], resamples, seed)
        differences = drawn[1] - drawn[0]
    low, high = _percentiles(differences)
    if (first.mean(axis=1) != second.mean(axis=1)).sum() < MIN_CHANGED:
        low, high = min(low, 0.0), max(high, 0.0)
    return {
        "n": len(first),
        "before": float(values[0]),
        "after": float(values[1]),
        "difference": float(values[1] - values[0]),
        "low": low,
        "high": high,
        "p_mcnemar": _mcnemar(first, second) if statistic == "mean" else None,
        "mde": float(DETECTION_Z * differences.std()) or None,
        "excludes_zero": bool(low > 0.0 or high < 0.0),
    }


def mcnemar_exact(gained: int, lost: int) -> float:
    """Two-sided exact p-value of McNemar's test (Q. McNemar, 1947) on discordant pairs.

    Args:
        gained: photos wrong before and right after.
        lost: photos right before and wrong after.

    Returns:
        `min(1, 2·P(X ≤ min(gained, lost)))` for X ~ Binomial(gained + lost, 1/2).

    >>> round(mcnemar_exact(12, 3), 4), mcnemar_exact(0, 0)
    (0.0352, 1.0)
    """
    from scipy.special import bdtr  # scipy.stats takes a second to import

    changed = gained + lost
    return 1.0 if changed == 0 else float(min(1.0, 2.0 * bdtr(min(gained, lost), changed, 0.5)))


def _mcnemar(before: Floats, after: Floats) -> float | None:
    one_each = before.shape[1] == after.shape[1] == 1
    if not one_each or not all(np.isin(values, (0.0, 1.0)).all() for values in (before, after)):
        return None
    return mcnemar_exact(int((after > before).sum()), int((after < before).sum()))


def _per_photo(values: ArrayLike) -> Floats:
    rows = np.asarray(values, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.size == 0 or rows.ndim != 2 or not np.isfinite(rows).all():
        raise ValueError(
            f"an interval needs finite values of at least one photo, not shape {np.shape(values)}"
        )
    return rows


def _percentiles(distribution: NDArray[np.float64]) -> Interval:
    tail = 100.0 * (1.0 - LEVEL) / 2.0
    low, high = np.percentile(distribution, [tail, 100.0 - tail])
    return Interval(float(low), float(high))
