"""The GeoScore: what a distance is worth, from 0 to 5000 points.

The continuous form of OSV-5M (Astruc et al., CVPR 2024, section 4): no rounding, and no full
score within 25 m as the game gives. Scores of the game's integer form differ by up to a point.
"""

from __future__ import annotations

from math import exp
from typing import overload

import numpy as np
from numpy.typing import NDArray

MAX_GEOSCORE = 5000.0
SCALE_KM = 1492.7
"""Decay length in km: at this distance the score has fallen to 1/e of 5000."""


@overload
def geoscore(d_km: float) -> float: ...
@overload
def geoscore(d_km: NDArray) -> NDArray[np.float64]: ...
def geoscore(d_km):
    """`5000 * exp(-d / 1492.7)` for a distance in km, unrounded.

    Args:
        d_km: distance in km, at least 0; a float or an array of any shape.

    Returns:
        A float or a float64 array of the same shape, in (0, 5000].

    Raises:
        ValueError: a distance is negative or NaN (an unparsed answer has no distance: score it 0).

    >>> geoscore(0.0), round(geoscore(1492.7), 1)
    (5000.0, 1839.4)
    """
    if isinstance(d_km, (int, float)):
        if not d_km >= 0.0:
            raise ValueError(f"a distance must be at least 0 km, not {d_km}")
        return MAX_GEOSCORE * exp(-d_km / SCALE_KM)
    distances = np.asarray(d_km, dtype=np.float64)
    if not np.all(distances >= 0.0):
        raise ValueError("distances must be at least 0 km and not NaN: mask unparsed rows first")
    scores = MAX_GEOSCORE * np.exp(-distances / SCALE_KM)
    return float(scores) if scores.ndim == 0 else scores
