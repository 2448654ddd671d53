"""The 89 real OSV-5M photos, 30 own photos and 10 panoramas through the whole evaluation side."""

import csv
import io
import zipfile

import numpy as np
import polars as pl
import pytest
from PIL import Image

from geo_assets.osv import leaks, photos, sets, sources
from geo_assets.osv.fingerprint import SAME_BITS, HashTable, hashes
from geo_assets.settings import EvalOsv, EvalPano, EvalPhotos, EvalQuick, OsvZips, Runtime, TrainPool
from geo_assets_tests.real.panoramas import write_real_panoramas


@pytest.fixture(scope="module")
def built(shared_data, tmp_path_factory):
    root = tmp_path_factory.mktemp("real")
    settings = OsvZips(source="local", local_dir=shared_data / "osv_real", train_zips=(), test_zips=(0,))
    sources.build_osv_zips(settings, root / "zips", Runtime())
    stats = sets.build_eval_osv(root / "zips", root / "eval", EvalOsv())
    return root, stats


@pytest.fixture(scope="module")
def originals(shared_data):
    with zipfile.ZipFile(shared_data / "osv_real/images/test/00.zip") as archive:
        return {n.split("/")[1].split(".")[0]: archive.read(n) for n in archive.namelist()}


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_all_photos_arrive_unchanged_in_pixels(built, originals):
    root, stats = built
    frame = sets.read_set(root / "eval")
    assert stats.rows == 89 and not stats.dropped and stats.cropped == 0
    assert set(frame["id"]) == set(originals)
    for row in frame.iter_rows(named=True):
        found = (root / "eval" / row["image_path"]).read_bytes()
        assert np.array_equal(pixels(found), pixels(originals[row["id"]]))
    assert stats.copied >= 83


def test_labels_agree_with_the_nearest_place(built, shared_data):
    root, stats = built
    frame = sets.read_set(root / "eval")
    assert sets.label_agreement(frame) == 1.0
    assert len(stats.countries) == 57 and stats.notes["label_disagrees"] == 0
    with (shared_data / "osv_real/test.csv").open(encoding="utf-8") as file:
        labels = {
            r["id"]: (r["country"], float(r["latitude"]), r["region"] or None) for r in csv.DictReader(file)
        }
    for row in frame.iter_rows(named=True):
        assert (row["country_iso2"], row["latitude"], row["region"]) == labels[row["id"]]


def test_eval_quick_and_attribution(built, tmp_path):
    root, _ = built
    sets.build_eval_quick(root / "eval", tmp_path, EvalQuick(rows=30))
    assert sets.read_set(tmp_path).height == 30 and sets.undecodable_images(tmp_path) == []
    with (root / "eval/ATTRIBUTION.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 89 and all(
        r["licence"].startswith("CC BY-SA 4.0 (") and r["id"] in r["url"] for r in rows
    )


def test_real_photos_are_no_twins_of_each_other(originals):
    found = [hashes(Image.open(io.BytesIO(data))) for _, data in sorted(originals.items())]
    table = HashTable.of([h.phash for h in found], [h.long_hash for h in found])
    bits = np.bitwise_count(table.long[:, None] ^ table.long[None]).sum(axis=2)
    assert bits[np.triu_indices(89, 1)].min() > 2 * SAME_BITS


def test_the_pool_yields_to_the_test_zip(shared_data, originals, tmp_path):
    """Real photos under other ids and encodings in a train zip: every one is refused."""
    from geo_assets_tests.osv.mirrors import jpeg, row, write_csv, write_zip

    ids = sorted(originals)[:12]
    train = {}
    for n, original in enumerate(ids):
        image = Image.open(io.BytesIO(originals[original]))
        buffer = io.BytesIO()
        small = image.resize((image.width * 3 // 4, image.height * 3 // 4), Image.Resampling.LANCZOS)
        small.save(buffer, "JPEG", quality=70)
        train[str(n)] = originals[original] if n % 3 == 0 else buffer.getvalue()
    train["99"] = jpeg(99)
    write_zip(tmp_path / "m/images/train/00.zip", {f"{i}.jpg": data for i, data in train.items()})
    write_csv(tmp_path / "m/train.csv", [row(i) for i in train])
    sources.local.place(shared_data / "osv_real", tmp_path / "m", ["test.csv", "images/test/00.zip"])
    stats = sets.build_train_pool(tmp_path / "m", tmp_path / "pool", TrainPool())
    assert sets.read_set(tmp_path / "pool")["id"].to_list() == ["99"]
    assert stats.dropped == {"identical_to_test": 4, "near_identical_to_test": 8}
    ladder = leaks.ladder(sets.read_set(tmp_path / "pool"), sets.read_set(tmp_path / "pool"))
    assert ladder["nearest_train_km"].to_list() == [0.0]


def test_own_photos_by_manifest(shared_data, tmp_path):
    settings = EvalPhotos(manifest=shared_data / "own_photos/photos.csv")
    stats = sets.build_eval_photos(tmp_path, settings)
    frame = sets.read_set(tmp_path)
    assert stats.rows == 30 and stats.countries["DE"] == 16 and not stats.dropped
    assert frame["width"].max() == 1024 and sets.undecodable_images(tmp_path) == []
    assert sets.label_agreement(frame) == 1.0
    assert "BSD-2-Clause" in (tmp_path / "ATTRIBUTION.csv").read_text()


def test_countries_are_filled_from_the_point(shared_data, tmp_path):
    table = pl.read_csv(shared_data / "own_photos/photos.csv").select("file", "latitude", "longitude")
    table.write_csv(tmp_path / "list.csv")
    settings = EvalPhotos(manifest=tmp_path / "list.csv", folder=shared_data / "own_photos")
    sets.build_eval_photos(tmp_path / "out", settings)
    labelled = pl.read_csv(shared_data / "own_photos/photos.csv").sort("file")
    assert sets.read_set(tmp_path / "out")["country_iso2"].to_list() == labelled["country_iso2"].to_list()


def test_photos_without_gps_have_no_position(shared_data):
    paths = sorted((shared_data / "own_photos").glob("*.jpg"))
    assert len(paths) == 30 and {photos.read_gps(path) for path in paths} == {None}


def test_real_panoramas_in_the_hub_s_layout(shared_data, tmp_path):
    rows = write_real_panoramas(shared_data, tmp_path / "s")
    stats = sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano())
    frame = sets.read_set(tmp_path / "out")
    assert stats.rows == rows >= 10 and frame["views"].list.len().unique().to_list() == [3]
    assert sets.undecodable_images(tmp_path / "out") == [] and sets.label_agreement(frame) == 1.0
