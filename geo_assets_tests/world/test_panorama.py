"""The drawn panoramas: the Hub's layout, at places that nothing else uses."""

from __future__ import annotations

import io

import polars as pl
import pytest
from PIL import Image

from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.places import nearest
from geo_assets.settings import PanoSource
from geo_assets.world.clues import COUNTRIES
from geo_assets.world.panorama import draw_panoramas
from geo_assets.world.places import places


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> pl.DataFrame:
    out_dir = tmp_path_factory.mktemp("pano")
    draw_panoramas(out_dir, PanoSource(source="demo", scenes=6))
    return pl.read_parquet(out_dir / "data" / "*.parquet")


def test_columns_are_those_of_the_hub(table):
    assert table.schema == {
        "image": pl.Struct({"bytes": pl.Binary, "path": pl.String}),
        "country_iso_alpha2": pl.String,
        "latitude": pl.String,
        "longitude": pl.String,
        "address": pl.String,
    }


def test_pictures_have_the_size_of_the_real_ones(table):
    for image in table["image"]:
        assert Image.open(io.BytesIO(image["bytes"])).size == (3050, 561)


def test_countries_come_in_turn_and_agree_with_the_coordinates(table):
    assert table["country_iso_alpha2"].to_list() == list(COUNTRIES)[:6]
    found = nearest(table["latitude"].cast(pl.Float64), table["longitude"].cast(pl.Float64))
    assert list(found.country_iso2) == table["country_iso_alpha2"].to_list()


def test_places_are_used_by_no_other_split(table):
    for row in table.iter_rows(named=True):
        for split in ("train", "test"):
            for place in places(row["country_iso_alpha2"], split):
                d_km = haversine_km(
                    place.lat_deg, place.lon_deg, float(row["latitude"]), float(row["longitude"])
                )
                assert d_km > 8


def test_workers_do_not_change_the_file(tmp_path):
    settings = PanoSource(source="demo", scenes=9)
    for workers in (1, 2):
        draw_panoramas(tmp_path / str(workers), settings, workers)
    files = [next((tmp_path / str(workers) / "data").iterdir()).read_bytes() for workers in (1, 2)]
    assert files[0] == files[1]
