import csv
import math

import numpy as np
import pytest

from geo_assets.geo.places import OCEAN_KM, gazetteer, nearest


def test_places_of_known_points():
    found = nearest([48.8566, -33.8688, -22.5609], [2.3522, 151.2093, 17.0658])
    assert list(found.country_iso2) == ["FR", "AU", "NA"]  # Namibia is no missing value
    assert list(found.city) == ["Paris", "Sydney", "Windhoek"]
    assert found.region[0] == "Ile-de-France"
    assert (found.d_km < 5).all()


def test_the_table_lost_no_row_and_no_namibia():
    table = gazetteer()
    assert len(table.lat_deg) == 144_563
    assert (table.country_iso2 == "NA").sum() == 43
    assert not any(value is None for value in table.region)


def test_the_rule_is_the_one_of_reverse_geocoder():
    import reverse_geocoder

    rng = np.random.default_rng(3)
    points = list(zip(rng.uniform(-60, 75, 300), rng.uniform(-180, 180, 300), strict=True))
    theirs = reverse_geocoder.RGeocoder(mode=1, verbose=False).query(points)
    ours = nearest(*zip(*points, strict=True))
    assert list(ours.country_iso2) == [row["cc"] for row in theirs]
    assert list(ours.region) == [row["admin1"] for row in theirs]
    assert list(ours.city) == [row["name"] for row in theirs]


def test_real_labels_are_reproduced(shared_data):
    with (shared_data / "osv_real" / "test.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["country"] and row["city"]]
    found = nearest([float(row["latitude"]) for row in rows], [float(row["longitude"]) for row in rows])
    same = sum(
        (iso2, city) == (row["country"], row["city"])
        for iso2, city, row in zip(found.country_iso2, found.city, rows, strict=True)
    )
    assert same == len(rows) > 80


def test_longitudes_are_wrapped_first():
    assert nearest([-43.954], [183.386]).index == nearest([-43.954], [-176.614]).index


def test_the_open_sea_is_far_from_every_place():
    found = nearest([0.0, 0.0, -50.0], [0.0, -150.0, -120.0])
    assert (found.d_km > OCEAN_KM).all()


@pytest.mark.parametrize("point", [(91.0, 0.0), (math.nan, 0.0), (0.0, math.inf)])
def test_points_off_the_globe_raise(point):
    with pytest.raises(ValueError, match="mask bad rows"):
        nearest([point[0]], [point[1]])


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one length"):
        nearest([1.0, 2.0], [1.0])


def test_no_points_give_no_places():
    assert len(nearest([], []).index) == 0
