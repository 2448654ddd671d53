"""The mirror from a directory on this machine, or drawn."""

import json
import shutil

import polars as pl
import pytest

from geo_assets.errors import DataError
from geo_assets.osv import sets, sources
from geo_assets.osv.mirror import Mirror
from geo_assets.profile import load_profile
from geo_assets.settings import EvalOsv, OsvZips, PanoSource, Runtime, TrainPool
from geo_assets_tests.osv.mirrors import jpeg, row, write_csv, write_mirror

TEST_ONLY = OsvZips(source="local", train_zips=(), test_zips=(0,))


def local(folder, **changes):
    return OsvZips(source="local", local_dir=folder, **{"train_zips": (0, 1), **changes})


def test_files_are_linked_not_copied(tmp_path):
    mirror = write_mirror(tmp_path / "mirror")
    files = sources.build_osv_zips(local(mirror), tmp_path / "out", Runtime())
    assert set(files) == set(sources.wanted_files(local(mirror)))
    for name in files:
        assert (tmp_path / "out" / name).samefile(mirror / name)
    assert files["images/test/00.zip"]["source"] == "local"
    again = sources.build_osv_zips(local(mirror), tmp_path / "out", Runtime())
    assert again == files == json.loads((tmp_path / "out/files.json").read_text())


def test_a_folder_on_another_disk_is_linked_symbolically(tmp_path, monkeypatch):
    import os

    mirror = write_mirror(tmp_path / "mirror")
    monkeypatch.setattr(os, "link", lambda *a: (_ for _ in ()).throw(OSError(18, "cross-device")))
    sources.build_osv_zips(local(mirror), tmp_path / "out", Runtime())
    assert (tmp_path / "out/train.csv").is_symlink()


def test_what_is_missing_is_named(tmp_path):
    mirror = write_mirror(tmp_path / "mirror")
    with pytest.raises(DataError, match=r"images/train/05\.zip.*copy them there"):
        sources.build_osv_zips(local(mirror, train_zips=(0, 5)), tmp_path / "out", Runtime())
    for folder in (None, tmp_path / "nowhere"):
        with pytest.raises(DataError, match=r"osv_zips\.local_dir"):
            sources.build_osv_zips(OsvZips(source="local", local_dir=folder), tmp_path / "out", Runtime())


def test_a_cut_local_zip_is_refused(tmp_path):
    mirror = write_mirror(tmp_path / "mirror")
    data = (mirror / "images/train/01.zip").read_bytes()
    (mirror / "images/train/01.zip").write_bytes(data[:-1])
    with pytest.raises(DataError, match=r"01.zip is not a whole zip"):
        sources.build_osv_zips(local(mirror), tmp_path / "out", Runtime())


@pytest.mark.parametrize(
    "layout", ["images/test/00/{}.jpg", "images/test/{}.JPG", "test/test/{}.jpg", "test/{}.jpeg"]
)
def test_loose_photos_are_found_by_id_in_every_layout(tmp_path, layout):
    folder = tmp_path / "loose"
    for n in (1, 2, 9):
        path = folder / layout.format(n)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(n))
    write_csv(folder / "test.csv", [row("1"), row("2"), row("3"), row("4", latitude="")])
    settings = OsvZips(source="local", local_dir=folder, train_zips=(), test_zips=(0,))
    sources.build_osv_zips(settings, tmp_path / "out", Runtime())
    stats = sets.build_eval_osv(tmp_path / "out", tmp_path / "eval", EvalOsv())
    assert sorted(sets.read_set(tmp_path / "eval")["id"]) == ["1", "2"]
    assert stats.dropped == {"row_without_image": 1, "image_without_row": 1, "coordinates_bad": 1}


def test_limit_with_no_train_zips_needs_test_files_only(tmp_path):
    mirror = write_mirror(tmp_path / "mirror")
    shutil.rmtree(mirror / "images/train")
    (mirror / "train.csv").unlink()
    settings = OsvZips(source="local", local_dir=mirror, train_zips=(), test_zips=(0,))
    assert set(sources.build_osv_zips(settings, tmp_path / "out", Runtime())) == {
        "test.csv",
        "images/test/00.zip",
    }
    assert sets.build_eval_osv(tmp_path / "out", tmp_path / "eval", EvalOsv(limit=5)).rows == 5
    assert sets.build_train_pool(tmp_path / "out", tmp_path / "pool", TrainPool()).rows == 0


def test_panoramas_can_be_off_or_local(tmp_path):
    assert sources.build_pano_source(PanoSource(source="off"), tmp_path / "off", Runtime()) == {}
    (tmp_path / "copy/data").mkdir(parents=True)
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "copy/data/train-0.parquet")
    settings = PanoSource(source="local", local_dir=tmp_path / "copy")
    assert set(sources.build_pano_source(settings, tmp_path / "out", Runtime())) == {"data/train-0.parquet"}
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no data/"):
        sources.build_pano_source(
            PanoSource(source="local", local_dir=tmp_path / "empty"), tmp_path, Runtime()
        )


@pytest.mark.slow
def test_the_drawn_mirror_meets_every_oddity(tmp_path):
    settings = OsvZips(source="demo", train_scenes=120, test_scenes=40, train_zips=(0, 1), test_zips=(0,))
    files = sources.build_osv_zips(settings, tmp_path / "zips", Runtime(workers=1))
    assert {"train.csv", "test.csv", "traces.jsonl", "images/train/01.zip"} <= set(files)
    pool = sets.build_train_pool(tmp_path / "zips", tmp_path / "pool", TrainPool())
    assert pool.countries["NA"] == 2 and pool.notes["recovered_namibia"] == 1
    assert pool.dropped == {
        "damaged": 2, "empty": 1, "identical_to_test": 1, "member_macos_metadata": 2, "image_without_row": 1,
        "not_an_image": 1, "row_without_image": 1,
    }  # fmt: skip
    assert pool.cropped == 2 and pool.rows == 120 + 4 - 1
    traces = pl.read_parquet(tmp_path / "pool/traces.parquet")
    assert set(traces["id"]) == set(sets.read_set(tmp_path / "pool")["id"])
    table, _ = Mirror(tmp_path / "zips").members("test")
    found = sets.build_eval_osv(tmp_path / "zips", tmp_path / "eval", EvalOsv())
    assert found.cropped == 1 and found.rows < table.height


def test_the_laptop_profile_fetches_test_files_only():
    laptop = load_profile("laptop", {})
    assert sources.wanted_files(laptop.osv_zips) == ["test.csv", "images/test/00.zip"]
    assert laptop.eval_osv.limit == 200 and laptop.pano_source.source == "off"


def test_the_pod_profile_fetches_two_train_zips():
    assert sources.wanted_files(load_profile("pod", {}).osv_zips) == [
        "train.csv", "images/train/00.zip", "images/train/01.zip", "test.csv", "images/test/00.zip",
    ]  # fmt: skip


def test_all_train_zips_by_one_word_and_a_zip_named_twice_once():
    every = sources.wanted_files(load_profile("pod", {"GEO_OSV_ZIPS__TRAIN_ZIPS": "all"}).osv_zips)
    assert len(every) == 2 + 98 + 1 and every[98] == "images/train/97.zip"
    assert sources.wanted_files(OsvZips(train_zips=(1, 0, 1), test_zips=())) == [
        "train.csv", "images/train/00.zip", "images/train/01.zip",
    ]  # fmt: skip
