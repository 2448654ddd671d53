"""Pairs of points with their distances, computed independently on two spheres. Read by `geo/test_geodesy.py`.

The kinds: the antimeridian, poles and antipodes (where rounding lifts the haversine above 1), a lost
sign, swapped coordinates, dropped minutes, and real city pairs.
"""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """Two points in degrees, their distance in km with R = 6371.0088, and its GeoScore."""

    name: str
    lat1: float
    lon1: float
    lat2: float
    lon2: float
    d_km: float
    geoscore: float


PAIRS: tuple[Pair, ...] = (
    Pair("antimeridian", 0, 179.9, 0, -179.9, 22.239016, 4926.0597),
    Pair("lon +180 vs -180", 10, 180, 10, -180, 0.000000, 5000.0000),
    Pair(
        "chatham vs lon+360",
        -43.804769384023,
        -176.61409250805,
        -43.804769384023,
        183.38590749195,
        0.000000,
        5000.0000,
    ),
    Pair("fiji", -16.8, 179.99, -16.8, -179.99, 2.128984, 4992.8738),
    Pair("same pole, other lon", 90, 0, 90, 120, 0.000000, 5000.0000),
    Pair("pole to pole", 90, 0, -90, 77, 20015.114442, 0.0075),
    Pair("across the pole", 89.9999, 0, 89.9999, 180, 0.022239, 4999.9255),
    Pair("antipode a", 45, 5, -45, -175, 20015.114442, 0.0075),
    Pair("antipode b (h>1)", -15.625, 1, 15.625, -179, 20015.114442, 0.0075),
    Pair("antipode c (h>1)", -12, -94, 12, 86, 20015.114442, 0.0075),
    Pair("antipode d (h>1)", -82.875, -54.125, 82.875, 125.875, 20015.114442, 0.0075),
    Pair("near antipode", 0, 0, 0.5, 179.7, 19950.277343, 0.0078),
    Pair("identical", 48.8584, 2.2945, 48.8584, 2.2945, 0.000000, 5000.0000),
    Pair("11 m", 48.8584, 2.2945, 48.8585, 2.2945, 0.011120, 4999.9628),
    Pair("Sydney sign lost", 33.8688, 151.2093, -33.8688, 151.2093, 7532.087867, 32.1770),
    Pair("Paris swapped", 48.8566, 2.3522, 2.3522, 48.8566, 6793.242049, 52.7848),
    Pair("Paris vs (48,85)", 48.8566, 2.3522, 48, 85, 5779.610860, 104.0926),
    Pair("DMS minutes dropped", 40.44611111111111, -79.98222222222222, 40, -79, 97.029660, 4685.3247),
    Pair("ORD-SEA", 41.9786, -87.9048, 47.449, -122.309, 2761.755590, 786.0506),
    Pair("JFK-LHR", 40.6413, -73.7781, 51.47, -0.4543, 5540.018970, 122.2160),
    Pair("Tbilisi-Atlanta", 41.7151, 44.8271, 33.749, -84.388, 10152.354248, 5.5615),
    Pair("Seoul-Pyongyang", 37.5665, 126.978, 39.0392, 125.7625, 195.100120, 4387.3933),
)
