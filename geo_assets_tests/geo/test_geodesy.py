import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.geo.geodesy import EARTH_RADIUS_KM, haversine_km, point_distance_km
from geo_assets_tests.cases.distances import PAIRS, Pair

LAT = st.floats(-90, 90)
LON = st.floats(-180, 180)
HALF_KM = math.pi * EARTH_RADIUS_KM


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_known_distances(pair: Pair):
    points = pair.lat1, pair.lon1, pair.lat2, pair.lon2
    assert haversine_km(*map(float, points)) == pytest.approx(pair.d_km, abs=2e-6)
    assert haversine_km(*([value] for value in points))[0] == pytest.approx(pair.d_km, abs=2e-6)


@pytest.mark.parametrize(
    ("cities", "published_km"),
    [
        ((48.8566, 2.3522, 51.5074, -0.1278), 343.6),
        ((40.7128, -74.0060, 34.0522, -118.2437), 3935.8),
        ((-33.8688, 151.2093, 35.6762, 139.6503), 7826.6),
    ],
    ids=["Paris-London", "New York-Los Angeles", "Sydney-Tokyo"],
)
def test_three_city_pairs_within_half_a_percent(cities, published_km):
    assert haversine_km(*cities) == pytest.approx(published_km, rel=0.005)


@given(LAT, LON, LAT, LON)
def test_a_distance_is_a_metric_on_the_sphere(lat1, lon1, lat2, lon2):
    d_km = haversine_km(lat1, lon1, lat2, lon2)
    assert 0.0 <= d_km <= HALF_KM
    assert d_km == pytest.approx(haversine_km(lat2, lon2, lat1, lon1), abs=1e-6)
    assert haversine_km(lat1, lon1, lat1, lon1) == 0.0
    assert d_km == point_distance_km(lat1, lon1, lat2, lon2)


@given(LAT, LON, LAT, LON, LAT, LON)
def test_a_detour_is_no_shortcut(lat1, lon1, lat2, lon2, lat3, lon3):
    direct = haversine_km(lat1, lon1, lat3, lon3)
    assert direct <= haversine_km(lat1, lon1, lat2, lon2) + haversine_km(lat2, lon2, lat3, lon3) + 1e-3


@given(LAT, LON, st.integers(-3, 3))
def test_longitudes_are_modulo_a_turn(lat, lon, turns):
    assert haversine_km(lat, lon, lat, lon + 360.0 * turns) == pytest.approx(0.0, abs=1e-6)


def test_antipodes_are_finite_and_half_the_way_round():
    rng = np.random.default_rng(0)
    lat, lon = rng.uniform(-90, 90, 200_000), rng.uniform(-180, 180, 200_000)
    d_km = haversine_km(lat, lon, -lat, lon + 180.0)
    assert np.abs(d_km - HALF_KM).max() < 1e-3


def test_arrays_broadcast_and_agree_with_scalars():
    rng = np.random.default_rng(1)
    lat, lon = rng.uniform(-90, 90, 50), rng.uniform(-180, 180, 50)
    table = haversine_km(lat[:, None], lon[:, None], lat, lon)
    assert table.shape == (50, 50)
    assert table.dtype == np.float64
    assert table[3, 7] == pytest.approx(haversine_km(lat[3], lon[3], lat[7], lon[7]), abs=1e-9)
    assert isinstance(haversine_km(1, 2, 3, 4), float)


def test_single_precision_input_is_computed_in_double():
    lat = np.array([48.8584], dtype=np.float32)
    d_km = haversine_km(lat, 2.2945, lat + np.float32(1e-4), 2.2945)
    assert d_km.dtype == np.float64


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", range(4))
def test_what_is_not_finite_raises(bad, place):
    points = [1.0, 2.0, 3.0, 4.0]
    points[place] = bad
    with pytest.raises(ValueError, match="globe"):
        haversine_km(*points)
    with pytest.raises(ValueError, match="mask bad rows"):
        haversine_km(*(np.array([value]) for value in points))


def test_a_latitude_beyond_the_pole_raises():
    with pytest.raises(ValueError, match="91"):
        haversine_km(91.0, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="latitudes"):
        haversine_km(np.array([91.0]), 0.0, 0.0, 0.0)
