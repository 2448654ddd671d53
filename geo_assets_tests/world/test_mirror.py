"""The mirror: OSV-5M's files, the awkward members, the same bytes for any worker count."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.places import nearest
from geo_assets.settings import OsvZips
from geo_assets.world.clues import COUNTRIES
from geo_assets.world.mirror import draw_mirror, plan_mirror
from geo_assets.world.rows import COLUMNS, SCATTER_DEG

SETTINGS = OsvZips(source="demo", train_scenes=48, test_scenes=24)
HEADER = (
    "id,latitude,longitude,thumb_original_url,country,sequence,captured_at,lon_bin,lat_bin,cell,region,sub-region,"
    "city,land_cover,road_index,drive_side,climate,soil,dist_sea,quadtree_10_5000,quadtree_10_25000,"
    "quadtree_10_1000,quadtree_10_50000,quadtree_10_12500,quadtree_10_500,quadtree_10_2500,unique_region,"
    "unique_sub-region,unique_city,unique_country,creator_username,creator_id"
)


@pytest.fixture(scope="module")
def mirror(tmp_path_factory) -> Path:
    out_dir = tmp_path_factory.mktemp("mirror")
    draw_mirror(out_dir, SETTINGS, workers=1)
    return out_dir


def read_rows(mirror: Path, split: str) -> list[dict[str, str]]:
    with (mirror / f"{split}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def members(mirror: Path, split: str) -> dict[str, bytes]:
    """Content by id of every member that is a photo."""
    found = {}
    for path in sorted((mirror / "images" / split).glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                if not info.filename.startswith("__MACOSX"):
                    found[Path(info.filename).stem] = archive.read(info)
    return found


def opens(content: bytes) -> bool:
    try:
        Image.open(io.BytesIO(content)).load()
    except OSError:
        return False
    return True


def test_the_layout_and_the_digests_are_right(mirror):
    files = json.loads((mirror / "files.json").read_text(encoding="utf-8"))
    expected = {"train.csv", "test.csv", "traces.jsonl"}
    expected |= {"images/train/00.zip", "images/train/01.zip", "images/test/00.zip"}
    assert set(files) == expected
    for name, entry in files.items():
        content = (mirror / name).read_bytes()
        assert (entry["size"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


def test_the_csv_has_the_32_columns_of_osv5m(mirror):
    assert len(COLUMNS) == 32
    for split in ("train", "test"):
        lines = (mirror / f"{split}.csv").read_text(encoding="utf-8").splitlines()
        assert lines[0] == HEADER
        for row in read_rows(mirror, split):
            assert re.fullmatch(r"\d{15,16}", row["id"])
            assert row["creator_id"].isdigit() and row["region"] and row["city"]
            assert row["unique_city"].startswith(row["city"]) and row["unique_city"].endswith(row["country"])


def test_ids_and_sequences_are_unique(mirror):
    rows = read_rows(mirror, "train") + read_rows(mirror, "test")
    for column in ("id", "sequence"):
        assert len({row[column] for row in rows}) == len(rows)


def test_every_country_has_the_same_number_of_scenes(mirror):
    countries = [row["country"] for row in read_rows(mirror, "train")]
    for iso2 in COUNTRIES:
        assert 2 <= countries.count(iso2) <= 4  # two scenes, up to two odd rows


def test_worker_count_and_zip_count_do_not_change_what_is_drawn(mirror, tmp_path):
    draw_mirror(tmp_path / "three", SETTINGS, workers=3)
    assert (tmp_path / "three" / "files.json").read_bytes() == (mirror / "files.json").read_bytes()


def test_another_seed_gives_another_world():
    other = plan_mirror(OsvZips(source="demo", train_scenes=48, test_scenes=24, seed=7))
    assert {s.photo.id for s in other[0]}.isdisjoint(s.photo.id for s in plan_mirror(SETTINGS)[0])


def test_train_and_test_share_no_place_but_for_the_planted_copy():
    train, test = plan_mirror(OsvZips(source="demo", train_scenes=2400, test_scenes=600))
    trained = {shot.photo.place.geonameid for shot in train}
    shared = [shot for shot in test if shot.photo.place.geonameid in trained]
    assert len(shared) == 1
    assert shared[0].drawing_seed in {shot.drawing_seed for shot in train}


def test_labels_agree_with_the_coordinates(mirror):
    rows = [row for row in read_rows(mirror, "train") if row["country"] != "NMB"]
    found = nearest([float(row["latitude"]) for row in rows], [float(row["longitude"]) for row in rows])
    assert [row["country"] for row in rows] == list(found.country_iso2)
    assert [row["region"] for row in rows] == list(found.region)
    assert [row["city"] for row in rows] == list(found.city)


def test_cameras_stand_near_their_places():
    for shot in plan_mirror(SETTINGS)[0]:
        place, photo = shot.photo.place, shot.photo
        d_km = haversine_km(place.lat_deg, place.lon_deg, photo.latitude, photo.longitude)
        assert d_km <= 111.2 * SCATTER_DEG * 2**0.5


def test_damaged_members_are_there_and_the_rest_decodes(mirror):
    for split, damaged in (("train", 4), ("test", 3)):
        contents = members(mirror, split)
        rows = {row["id"] for row in read_rows(mirror, split)}
        broken = {photo_id: content for photo_id, content in contents.items() if not opens(content)}
        assert len(broken) == damaged and set(broken) <= rows
        assert b"" in broken.values()
        assert any(content.startswith(b"<html>") for content in broken.values())
        assert any(content.startswith(b"\xff\xd8") for content in broken.values())


def test_one_row_has_no_image_and_one_image_has_no_row(mirror):
    for split in ("train", "test"):
        rows, images = {row["id"] for row in read_rows(mirror, split)}, set(members(mirror, split))
        assert len(rows - images) == 1
        assert len(images - rows) == 1


def test_namibia_is_labelled_in_both_ways(mirror):
    for split, labels in (("train", ["NA", "NMB"]), ("test", ["NA"])):
        rows = [
            row
            for row in read_rows(mirror, split)
            if row["country"].startswith("N") and row["country"] != "NZ"
        ]
        assert sorted(row["country"] for row in rows) == labels
        found = nearest([float(row["latitude"]) for row in rows], [float(row["longitude"]) for row in rows])
        assert set(found.country_iso2) == {"NA"}


def test_one_test_photo_is_a_training_photo_under_another_id(mirror):
    train, test = members(mirror, "train"), members(mirror, "test")
    digests = {
        hashlib.sha256(content).digest(): photo_id for photo_id, content in train.items() if len(content) > 99
    }
    twins = [digests[d] for content in test.values() if (d := hashlib.sha256(content).digest()) in digests]
    # The page that is not an image is the same everywhere; it is shorter than 99 bytes.
    assert len(twins) == 1 and twins[0] not in test


def test_overlays_are_a_dark_strip_with_light_text(mirror):
    train = plan_mirror(SETTINGS)[0]
    contents = members(mirror, "train")
    for shot in train:
        if shot.has_image and shot.treatment in ("overlay", "whole"):
            strip = np.asarray(Image.open(io.BytesIO(contents[shot.photo.id])).convert("L"))[-32:]
            dark = (strip < 40).mean() > 0.6 and (strip > 190).mean() > 0.02
            assert dark == (shot.treatment == "overlay")


def test_zips_are_stored_with_fixed_times_and_hold_macos_debris(mirror):
    for path in sorted((mirror / "images").rglob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            assert archive.testzip() is None
        assert {info.compress_type for info in infos} == {zipfile.ZIP_STORED}
        assert {info.date_time for info in infos} == {(2024, 1, 1, 0, 0, 0)}
        photos = [info for info in infos if re.fullmatch(rf"{path.stem}/\d{{15,16}}\.jpg", info.filename)]
        debris = [info for info in infos if info.filename.startswith("__MACOSX/")]
        assert len(photos) + len(debris) == len(infos) and len(debris) == 1


def test_traces_belong_to_training_rows_with_an_image(mirror):
    lines = (mirror / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    traces = {entry["id"]: entry["think"] for entry in map(json.loads, lines)}
    rows = {row["id"] for row in read_rows(mirror, "train")}
    assert set(traces) == rows & set(members(mirror, "train"))
    assert all("drives " in think for think in traces.values())


def test_a_split_without_zips_is_left_out(tmp_path):
    draw_mirror(tmp_path, OsvZips(source="demo", train_zips=(), test_scenes=2))
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"files.json", "test.csv", "traces.jsonl", "images/test/00.zip"}


def test_zips_named_in_the_settings_are_written(tmp_path):
    settings = OsvZips(source="demo", train_zips=(3,), test_zips=(1, 4), train_scenes=1, test_scenes=24)
    stats = draw_mirror(tmp_path, settings)
    assert sorted(p.name for p in (tmp_path / "images" / "train").iterdir()) == ["03.zip"]
    assert sorted(p.name for p in (tmp_path / "images" / "test").iterdir()) == ["01.zip", "04.zip"]
    assert stats.test_images == len(members(tmp_path, "test"))
