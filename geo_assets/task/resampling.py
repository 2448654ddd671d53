"""Bootstrap distributions of means and medians, exact where that is affordable.

A resample draws n photos with replacement (B. Efron, 1979); a photo with k completions is drawn
whole, because its completions are not independent. Drawing 10,000 resamples of 210,122 rows one
by one would take 2.1 billion draws, so each routine draws from the same distribution by a
shorter way and says which.

Left out: studentised and BCa intervals; the percentiles of these distributions are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MAX_ROWS_DRAWN = 4_096
"""Up to this many photos every resample is drawn photo by photo."""
MAX_DISTINCT = 64
BINS = 512
CELLS_PER_CHUNK = 2_000_000


def resampled_means(values: Floats, resamples: int, seed: int) -> Floats:
    """Bootstrap distribution of the mean of n values, one per photo.

    Three ways, the first that applies:

    1. At most 64 distinct values (shares, hit counts, paired hits): counts per value are
       multinomial. Exact.
    2. At most 4,096 values: photos are drawn. Exact.
    3. Else values are sorted into 512 bins of equal size. Counts per bin are multinomial
       (exact); the mean within a bin is its own plus a normal term with the bin's variance over
       the count. That term carries under 1e-4 of the variance of any bounded score.

    Args:
        values: shape (n,), finite, n ≥ 1.
        resamples: how many means to draw.
        seed: of the generator.

    Returns:
        Shape (resamples,).
    """
    n = len(values)
    rng = np.random.default_rng(seed)
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= MAX_DISTINCT:
        return rng.multinomial(n, counts / n, size=resamples) @ distinct / n
    if n <= MAX_ROWS_DRAWN:
        return np.concatenate([values[picks].mean(axis=1) for picks in _draws(rng, n, resamples)])
    groups = np.array_split(np.sort(values), BINS)
    size = np.array([len(group) for group in groups])
    mean = np.array([group.mean() for group in groups])
    variance = np.array([group.var() for group in groups])
    drawn = rng.multinomial(n, size / n, size=resamples)
    within = rng.standard_normal(resamples) * np.sqrt(drawn @ variance)
    return (drawn @ mean + within) / n


def _draws(
    rng: np.random.Generator, n: int, resamples: int, cells_per_photo: int = 1
) -> Iterator[NDArray[np.int32]]:
    """Index arrays of shape (chunk, n) that make up all resamples."""
    chunk = max(1, CELLS_PER_CHUNK // (n * cells_per_photo))
    for first in range(0, resamples, chunk):
        yield rng.integers(0, n, size=(min(chunk, resamples - first), n), dtype=np.int32)


def resampled_medians(values: Floats, resamples: int, seed: int) -> Floats:
    """Bootstrap distribution of the median of n independent values, exactly and without drawing rows.

    A resample of sorted values x is x[ceil(n·U) - 1] for uniform U, so its m-th smallest value
    is x[ceil(n·U(m)) - 1] where U(m), the m-th order statistic of n uniforms, is
    Beta(m, n-m+1) (H. A. David, Order Statistics, section 2.1). For even n the two middle ones
    are drawn jointly: given U(m), the next is 1 - (1 - U(m))·V^(1/(n-m)).

    Args:
        values: shape (n,), n ≥ 1; infinities are allowed.

    Returns:
        Shape (resamples,).
    """
    n = len(values)
    rng = np.random.default_rng(seed)
    ordered = np.sort(values)
    middle = (n + 1) // 2
    lower = rng.beta(middle, n - middle + 1, size=resamples)
    if n % 2:
        return ordered[_rank(lower, n)]
    upper = 1.0 - (1.0 - lower) * rng.random(resamples) ** (1.0 / (n - middle))
    return (ordered[_rank(lower, n)] + ordered[_rank(upper, n)]) / 2.0


def _rank(uniform: Floats, n: int) -> NDArray[np.int64]:
    return np.clip(np.ceil(n * uniform).astype(np.int64) - 1, 0, n - 1)


def joint_medians(columns: list[Floats], resamples: int, seed: int) -> list[Floats]:
    """Bootstrap distributions of the medians of several columns under the same resampled photos.

    For paired differences, and for photos with several completions. Up to 4,096 photos are
    drawn; beyond, only rows near a median are (`_WindowedMedians`), which changes nothing but
    the time.

    Args:
        columns: arrays of shape (n, k_j): the k_j values of each photo in column j.

    Returns:
        One array of shape (resamples,) per column.
    """
    n = len(columns[0])
    rng = np.random.default_rng(seed)
    if n > MAX_ROWS_DRAWN:
        return _windowed_medians([_Window.of(column) for column in columns], resamples, rng)
    medians: list[list[Floats]] = [[] for _ in columns]
    for picks in _draws(rng, n, resamples, max(column.shape[1] for column in columns)):
        for found, column in zip(medians, columns, strict=True):
            found.append(np.median(column[picks].reshape(len(picks), -1), axis=1))
    return [np.concatenate(found) for found in medians]


@dataclass(frozen=True)
class _Window:
    """The values of a column that its resampled median can take.

    The rank of the median moves by a standard deviation of at most k·sqrt(n)/2; the window
    spans ten of them each way, so that a median outside of it has a chance below 1e-22.
    """

    codes: NDArray[np.int64]
    """Shape (n, k): 0 below the window, 1 … w inside it, w + 1 above."""
    values: Floats
    """Shape (w + 2,): the value of each code; the outer two repeat the window's edges."""

    @classmethod
    def of(cls, column: Floats) -> _Window:
        n, k = column.shape
        ordered = np.sort(column, axis=None)
        half = int(5 * k * np.sqrt(n)) + k + 2
        low = ordered[max(0, len(ordered) // 2 - half)]
        high = ordered[min(len(ordered) - 1, len(ordered) // 2 + half)]
        inside = np.unique(ordered[(ordered >= low) & (ordered <= high)])
        codes = np.searchsorted(inside, column) + 1
        codes[column < low] = 0
        return cls(codes, np.concatenate([inside[:1], inside, inside[-1:]]))

    def median(self, counts: NDArray, rows: int) -> float:
        """The median of `rows` values of which `counts` fall on each code."""
        below = np.cumsum(counts)
        first, second = np.searchsorted(below, [(rows + 1) // 2, rows // 2 + 1])
        return (self.values[first] + self.values[second]) / 2.0


def _windowed_medians(windows: list[_Window], resamples: int, rng: np.random.Generator) -> list[Floats]:
    """Photos that look alike through the windows are drawn together by count, the others one by one."""
    n = len(windows[0].codes)
    alike, counts = np.unique(np.hstack([w.codes for w in windows]), axis=0, return_counts=True)
    many = counts >= 256
    few = np.repeat(alike[~many], counts[~many], axis=0)
    drawn = rng.multinomial(n, np.append(counts[many], len(few)) / n, size=resamples)
    edges = np.cumsum([0] + [w.codes.shape[1] for w in windows])
    medians = [np.empty(resamples) for _ in windows]
    for r in range(resamples):
        picks = few[rng.integers(0, len(few), size=drawn[r, -1])] if len(few) else few
        for found, window, start, stop in zip(medians, windows, edges, edges[1:], strict=False):
            k, size = stop - start, len(window.values)
            seen = np.bincount(picks[:, start:stop].ravel(), minlength=size)
            weights = np.repeat(drawn[r, :-1], k)
            seen = seen + np.bincount(alike[many][:, start:stop].ravel(), weights, minlength=size)
            found[r] = window.median(seen, n * k)
    return medians
