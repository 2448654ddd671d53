"""Great-circle distance on the mean sphere, in kilometres.

Coordinates are decimal degrees, latitude first. The sphere has the IUGG mean radius
R1 = 6371.0088 km, so that distances differ from the WGS84 ellipsoid by at most about 0.5%.
Everything is float64: in float32 some antipodes are NaN and 11 m is wrong by 2.5%.
Left out: the ellipsoid, bearings, altitude.
"""

from __future__ import annotations

from math import asin, cos, isfinite, radians, sin, sqrt
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

EARTH_RADIUS_KM = 6371.0088
"""Mean radius R1 of the Earth in km (IUGG; H. Moritz, Geodetic Reference System 1980)."""


def point_distance_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float:
    """Distance in km between two points that are known to be finite and in range.

    This is the inner loop of the rewards: it checks nothing. Use `haversine_km` elsewhere.

    >>> round(point_distance_km(0.0, 179.9, 0.0, -179.9), 6)
    22.239016
    """
    phi1, phi2 = radians(lat1), radians(lat2)
    half_chord = sin((phi2 - phi1) / 2.0) ** 2 + cos(phi1) * cos(phi2) * sin(radians(lon2 - lon1) / 2.0) ** 2
    # Rounding lifts the half chord above 1 at 3.7% of all antipodes.
    return 2.0 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(half_chord)))


@overload
def haversine_km(lat1: float, lon1: float, lat2: float, lon2: float) -> float: ...
@overload
def haversine_km(
    lat1: ArrayLike, lon1: ArrayLike, lat2: ArrayLike, lon2: ArrayLike
) -> NDArray[np.float64]: ...
def haversine_km(lat1, lon1, lat2, lon2):
    """Great-circle distance in km by the haversine formula (R. W. Sinnott, Sky and Telescope, 1984).

    Args:
        lat1, lat2: latitudes in degrees, in [-90, 90]; floats or arrays that broadcast.
        lon1, lon2: longitudes in degrees, any finite value (taken modulo 360).

    Returns:
        A float where all four arguments are scalars, else a float64 array of the broadcast shape.

    Raises:
        ValueError: a coordinate is NaN or infinite, or a latitude lies outside [-90, 90].

    >>> round(haversine_km(41.9786, -87.9048, 47.449, -122.309), 4)
    2761.7556
    >>> haversine_km([90.0, 10.0], [0.0, 180.0], [90.0, 10.0], [120.0, -180.0]).round(6).tolist()
    [0.0, 0.0]
    """
    if (
        isinstance(lat1, float)
        and isinstance(lon1, float)
        and isinstance(lat2, float)
        and isinstance(lon2, float)
    ):
        if not (isfinite(lon1) and isfinite(lon2) and -90.0 <= lat1 <= 90.0 and -90.0 <= lat2 <= 90.0):
            raise ValueError(f"not a pair of points on the globe: {lat1}, {lon1} and {lat2}, {lon2}")
        return point_distance_km(lat1, lon1, lat2, lon2)
    arrays = [np.asarray(values, dtype=np.float64) for values in (lat1, lon1, lat2, lon2)]
    d_km = _haversine_arrays(*arrays)
    return float(d_km) if d_km.ndim == 0 else d_km


def _haversine_arrays(lat1: NDArray, lon1: NDArray, lat2: NDArray, lon2: NDArray) -> NDArray[np.float64]:
    for lat in (lat1, lat2):
        if not np.all(np.abs(lat) <= 90.0):
            raise ValueError("latitudes must be finite and in [-90, 90]: mask bad rows first")
    if not (np.all(np.isfinite(lon1)) and np.all(np.isfinite(lon2))):
        raise ValueError("longitudes must be finite: mask bad rows first")
    phi1, phi2 = np.radians(lat1), np.radians(lat2)
    half_chord = (
        np.sin((phi2 - phi1) / 2.0) ** 2
        + np.cos(phi1) * np.cos(phi2) * np.sin(np.radians(lon2 - lon1) / 2.0) ** 2
    )
    return 2.0 * EARTH_RADIUS_KM * np.arcsin(np.minimum(1.0, np.sqrt(half_chord)))
