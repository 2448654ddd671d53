"""Nearest points on the sphere by a kd-tree of unit vectors; degrees in, km out."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from geo_assets.geo.geodesy import EARTH_RADIUS_KM


def unit_vectors(lat_deg: ArrayLike, lon_deg: ArrayLike) -> NDArray[np.float64]:
    """Points (shape (n,) each) on the unit sphere, shape (n, 3)."""
    lat, lon = np.radians(lat_deg), np.radians(lon_deg)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def nearest_km(
    lat_deg: ArrayLike, lon_deg: ArrayLike, other_lat_deg: ArrayLike, other_lon_deg: ArrayLike
) -> NDArray[np.float64]:
    """Great-circle distance in km from each point to the nearest of the others; inf where there is none.

    >>> nearest_km([0.0], [179.5], [0.0, 40.0], [-179.5, 0.0]).round(1).tolist()
    [111.2]
    """
    points, others = unit_vectors(lat_deg, lon_deg), unit_vectors(other_lat_deg, other_lon_deg)
    if len(others) == 0 or len(points) == 0:
        return np.full(len(points), np.inf)
    chord, _ = cKDTree(others).query(points)
    return 2.0 * EARTH_RADIUS_KM * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0))
