"""The places: splits that share nothing, real coordinates, names in the local script."""

from __future__ import annotations

import unicodedata

import pytest

from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.places import nearest
from geo_assets.world.attributes import all_countries
from geo_assets.world.places import places

SPLITS = ("train", "test", "pano")
ALPHABETS = {
    "Latin": "LATIN",
    "Cyrillic": "CYRILLIC",
    "Greek": "GREEK",
    "Arabic": "ARABIC",
    "Devanagari": "DEVANAGARI",
    "Thai": "THAI",
    "Hangul": "HANGUL",
    "ChineseT": "CJK",
}


@pytest.mark.parametrize("iso2", sorted(all_countries()))
def test_splits_share_no_place_and_lie_apart(iso2):
    assert sum(len(places(iso2, split)) for split in SPLITS) == len(places(iso2))
    assert len({place.geonameid for place in places(iso2)}) == len(places(iso2))
    for place in places(iso2, "test"):
        for other in places(iso2, "train"):
            assert haversine_km(place.lat_deg, place.lon_deg, other.lat_deg, other.lon_deg) > 10


def test_every_country_has_enough_places_in_every_split():
    for iso2 in all_countries():
        if iso2 != "NA":
            assert len(places(iso2, "train")) >= 20, iso2
            assert len(places(iso2, "test")) >= 8, iso2
            assert len(places(iso2, "pano")) >= 3, iso2


def test_the_nearest_city_rule_agrees_with_country_and_labels():
    every = [place for iso2 in all_countries() for place in places(iso2)]
    found = nearest([p.lat_deg for p in every], [p.lon_deg for p in every])
    assert [p.iso2 for p in every] == list(found.country_iso2)
    assert [p.region for p in every] == list(found.region)
    assert [p.city for p in every] == list(found.city)


def test_sign_names_are_in_the_alphabet_of_the_country():
    for iso2, country in all_countries().items():
        alphabets = (
            ("CJK", "HIRAGANA", "KATAKANA") if country.script == "Japanese" else (ALPHABETS[country.script],)
        )
        for place in places(iso2):
            for letter in filter(str.isalpha, place.sign_name):
                assert unicodedata.name(letter).startswith(alphabets), (place.name, place.sign_name)


@pytest.mark.parametrize(
    ("iso2", "name", "sign_name"),
    [
        ("RU", "Zlatoust", "Златоуст"),
        ("RU", "Astrakhan", "Астрахань"),
        ("GR", "Athens", "Αθήνα"),
        ("EG", "Cairo", "القاهرة"),
        ("IN", "Meerut", "मेरठ"),
        ("JP", "Kobe", "神戸"),
        ("KR", "Seoul", "서울"),
        ("MA", "Rabat", "الرباط"),
        ("TH", "Saraburi", "สระบุรี"),
    ],
)
def test_names_that_were_once_in_another_language_are_right(iso2, name, sign_name):
    assert sign_name in {place.sign_name for place in places(iso2) if place.name == name}
