"""Whole sets from small mirrors: content, papers, determinism, damage, twins."""

import csv
import io
import json

import polars as pl
import pytest
from PIL import Image

from geo_assets.errors import DataError
from geo_assets.osv import leaks, sets
from geo_assets.osv.schema import SET_SCHEMA
from geo_assets.settings import EvalOsv, EvalQuick, TrainPool
from geo_assets_tests.osv.mirrors import EVAL, POOL, bomb, jpeg, row, write_csv, write_mirror, write_zip


def files(directory):
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def test_train_pool_has_the_columns_the_cap_and_the_photos(mirror, pool):
    out, stats = pool
    frame = sets.read_set(out)
    assert dict(frame.schema) == SET_SCHEMA
    assert stats.countries == {"BR": 8, "FR": 8, "JP": 8, "NA": 8} and stats.rows == stats.copied == 32
    assert frame.select("country_iso2", "id").rows() == sorted(frame.select("country_iso2", "id").rows())
    first = frame.row(0, named=True)
    assert (out / first["image_path"]).read_bytes() == jpeg(int(first["id"]))
    assert (first["width"], first["height"], first["region"]) == (160, 96, "R")
    assert first["creator_id"] == f"9{first['id']}"
    assert sets.undecodable_images(out) == []
    assert sets.label_agreement(frame) == 1.0
    wanted = {"ATTRIBUTION.csv", "data_card.md", "dropped.json", "fingerprints.parquet", "train_pool.parquet"}
    assert {name for name in files(out) if not name.startswith("images/")} == wanted
    assert len(list((out / "images").iterdir())) == 32


@pytest.mark.slow
def test_same_inputs_same_bytes_with_any_number_of_workers(tmp_path):
    mirror = write_mirror(tmp_path / "mirror", train=300, test=90)
    outs = [tmp_path / name for name in ("one", "again", "two")]
    for out, workers in zip(outs, (1, 1, 2), strict=True):
        sets.build_train_pool(mirror, out / "pool", TrainPool(cap_per_country=70), workers)
        sets.build_eval_osv(mirror, out / "eval", EvalOsv(rows=80), workers)
    first = files(outs[0])
    assert len(first) == 280 + 80 + 10
    assert files(outs[1]) == first and files(outs[2]) == first


def test_eval_osv_and_eval_quick(mirror, tmp_path):
    stats = sets.build_eval_osv(mirror, tmp_path / "eval", EVAL)
    frame = sets.read_set(tmp_path / "eval")
    assert stats.rows == 10 and min(stats.countries.values()) >= 2
    sets.build_eval_quick(tmp_path / "eval", tmp_path / "quick", EvalQuick(rows=4))
    quick = sets.read_set(tmp_path / "quick")
    assert quick.equals(frame.head(4))
    assert {p.stem for p in (tmp_path / "quick/images").iterdir()} == set(quick["id"])
    assert len(list(csv.reader((tmp_path / "quick/ATTRIBUTION.csv").open()))) == 5
    assert "first 4 rows" in (tmp_path / "quick/data_card.md").read_text()
    assert frame["id"].to_list() != sorted(frame["id"])


def test_limit_and_seed(mirror, tmp_path):
    sets.build_eval_osv(mirror, tmp_path / "a", EvalOsv(rows=10, limit=4))
    assert sets.read_set(tmp_path / "a")["country_iso2"].n_unique() == 4
    sets.build_train_pool(mirror, tmp_path / "b", TrainPool(cap_per_country=8, limit=4))
    sets.build_train_pool(mirror, tmp_path / "c", TrainPool(cap_per_country=8, limit=4, seed=1))
    assert sets.read_set(tmp_path / "b")["id"].to_list() != sets.read_set(tmp_path / "c")["id"].to_list()


def test_a_mirror_without_train_zips_gives_an_empty_pool(tmp_path):
    write_mirror(tmp_path / "m", train=4)
    (tmp_path / "m/train.csv").unlink()
    for path in (tmp_path / "m/images/train").iterdir():
        path.unlink()
    stats = sets.build_train_pool(tmp_path / "m", tmp_path / "pool", POOL)
    assert stats.rows == 0 and dict(sets.read_set(tmp_path / "pool").schema) == SET_SCHEMA
    assert leaks.compare(tmp_path / "pool", tmp_path / "pool").clean
    with pytest.raises(DataError, match="materialize the asset again"):
        sets.read_set(tmp_path)


def odd_mirror(root):
    """A mirror with one of everything that goes wrong, beside 12 good photos of France."""
    good = {f"{n}.jpg": jpeg(n) for n in range(100, 112)}
    odd = {
        "200.jpg": b"", "201.jpg": jpeg(201)[:2000], "202.jpg": b"<html>429</html>",
        "203.jpg": good["100.jpg"],
        "204.jpg": jpeg(204), "205.jpg": jpeg(205, (16, 9)), "300.jpg": jpeg(300), "__MACOSX/._1.jpg": b"x",
    }  # fmt: skip
    write_zip(root / "images/train/00.zip", {**good, **odd})
    rows = [row(n.removesuffix(".jpg")) for n in good] + [row(str(n)) for n in range(200, 206)]
    rows += [row("400"), row("100"), row("", "FR"), row("204", latitude="")]
    write_csv(root / "train.csv", [r for r in rows if not (r["id"] == "204" and r["latitude"])])
    write_zip(root / "images/test/00.zip", {"900.jpg": jpeg(900)})
    write_csv(root / "test.csv", [row("900")])
    return root


def test_whatever_is_wrong_is_replaced_and_counted(tmp_path):
    stats = sets.build_train_pool(
        odd_mirror(tmp_path / "m"), tmp_path / "pool", TrainPool(cap_per_country=50)
    )
    assert stats.rows == 12
    assert stats.dropped == {
        "coordinates_bad": 1, "damaged": 1, "empty": 1, "id_missing": 1, "id_repeated": 1,
        "identical_photo": 1,
        "member_macos_metadata": 1, "image_without_row": 1, "not_an_image": 1, "row_without_image": 1,
        "too_small": 1,
    }  # fmt: skip
    capped = sets.build_train_pool(tmp_path / "m", tmp_path / "less", TrainPool(cap_per_country=9))
    assert capped.rows == 9


def test_rows_and_members_that_do_not_match(tmp_path):
    write_zip(
        tmp_path / "images/test/00.zip", {"train/train/1.jpg": jpeg(1), "2.JPG": jpeg(2), "9.jpg": jpeg(9)}
    )
    write_csv(tmp_path / "test.csv", [row("1"), row("2"), row("3"), row("4", latitude="")])
    stats = sets.build_eval_osv(tmp_path, tmp_path / "out", EVAL)
    assert sorted(sets.read_set(tmp_path / "out")["id"]) == ["1", "2"]
    assert stats.dropped == {"row_without_image": 1, "image_without_row": 1, "coordinates_bad": 1}
    assert stats.notes["rows_read"] == stats.rows + 2  # every row is kept or counted once


def test_of_a_repeated_id_the_first_usable_row_counts(tmp_path):
    write_zip(tmp_path / "images/test/00.zip", {"1.jpg": jpeg(1), "2.jpg": jpeg(2), "3.jpg": jpeg(3)})
    write_csv(tmp_path / "test.csv", [row("1", latitude="x"), row("2", "NA"), row("1"), row("2"), row("03")])
    stats = sets.build_eval_osv(tmp_path, tmp_path / "out", EVAL)
    found = sets.read_set(tmp_path / "out").sort("id")
    assert found.select("id", "country_iso2").rows() == [("1", "FR"), ("2", "NA")]
    assert stats.dropped == {
        "coordinates_bad": 1, "id_repeated": 1, "image_without_row": 1, "row_without_image": 1,
    }  # fmt: skip


def test_photos_are_found_by_every_digit_of_their_ids(tmp_path):
    """Leading zeros, ids above 2^53, and ids that are equal as numbers."""
    ids = ["0123456789", "123456789", "10160003412345679", "10160003412345680", "99999999999999999999"]
    photos = {f"00/{i}.jpg": jpeg(n) for n, i in enumerate(ids)}
    write_zip(tmp_path / "images/test/00.zip", photos)
    creators = {"creator_id": "111336221091714.0"}
    write_csv(tmp_path / "test.csv", [row(i, **creators) for i in [*ids, ""]])
    stats = sets.build_eval_osv(tmp_path, tmp_path / "out", EVAL)
    found = sets.read_set(tmp_path / "out")
    assert sorted(found["id"]) == sorted(ids) and stats.dropped == {"id_missing": 1}
    assert set(found["creator_id"]) == {"111336221091714"}
    for member_id, path in found.select("id", "image_path").iter_rows():
        assert (tmp_path / "out" / path).read_bytes() == photos[f"00/{member_id}.jpg"]


def twin_mirror(root):
    """Training photos that must go: same id, sequence, bytes or picture as a test photo."""
    smaller = Image.open(io.BytesIO(jpeg(901, (640, 400)))).resize((320, 200), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    smaller.save(buffer, "JPEG", quality=60)
    train = {"1": jpeg(1), "2": jpeg(2), "3": jpeg(900), "4": buffer.getvalue(), "902": jpeg(5)}
    write_zip(root / "images/train/00.zip", {f"{i}.jpg": data for i, data in train.items()})
    rows = [row("1"), row("2", sequence="shared"), row("3"), row("4"), row("902"), row("5", sequence="")]
    write_csv(root / "train.csv", rows)
    test = {"900": jpeg(900), "901": jpeg(901, (640, 400)), "902": jpeg(902), "903": jpeg(903)}
    write_zip(root / "images/test/00.zip", {f"{i}.jpg": data for i, data in test.items()})
    write_csv(root / "test.csv", [row("900"), row("901"), row("902"), row("903", sequence="shared")])
    return root


def test_twins_of_test_photos_never_reach_the_pool(tmp_path):
    stats = sets.build_train_pool(twin_mirror(tmp_path / "m"), tmp_path / "pool", POOL)
    assert sets.read_set(tmp_path / "pool")["id"].to_list() == ["1"]
    assert stats.dropped == {
        "id_in_test": 1, "sequence_in_test": 1, "identical_to_test": 1, "near_identical_to_test": 1,
        "row_without_image": 1,
    }  # fmt: skip
    sets.build_eval_osv(tmp_path / "m", tmp_path / "eval", EVAL)
    assert leaks.compare(tmp_path / "pool", tmp_path / "eval").clean


def test_twins_are_found_upright_and_beside_test_photos_that_do_not_open(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    turned, upright = io.BytesIO(), io.BytesIO()
    photo = Image.open(io.BytesIO(jpeg(7, (640, 400))))
    photo.save(turned, "JPEG", exif=exif)
    photo.transpose(Image.Transpose.ROTATE_270).save(upright, "JPEG", quality=60)
    write_zip(tmp_path / "images/train/00.zip", {"1.jpg": upright.getvalue(), "2.jpg": jpeg(2)})
    write_csv(tmp_path / "train.csv", [row("1"), row("2")])
    test = {"8.jpg": turned.getvalue(), "9.png": bomb(), "10.jpg": b"", "11.jpg": jpeg(3)[:700]}
    write_zip(tmp_path / "images/test/00.zip", test)
    write_csv(tmp_path / "test.csv", [row(i) for i in ("8", "9", "10", "11")])
    stats = sets.build_train_pool(tmp_path, tmp_path / "pool", POOL)
    assert sets.read_set(tmp_path / "pool")["id"].to_list() == ["2"]
    assert stats.dropped == {"near_identical_to_test": 1}
    evaluated = sets.build_eval_osv(tmp_path, tmp_path / "eval", EVAL)
    assert evaluated.rows == 1 and evaluated.dropped == {"damaged": 1, "empty": 1, "too_large": 1}


def test_rows_without_a_sequence_share_none(tmp_path):
    write_zip(tmp_path / "images/train/00.zip", {"1.jpg": jpeg(1)})
    write_csv(tmp_path / "train.csv", [row("1", sequence="")])
    write_zip(tmp_path / "images/test/00.zip", {"2.jpg": jpeg(2)})
    write_csv(tmp_path / "test.csv", [row("2", sequence="")])
    assert sets.build_train_pool(tmp_path, tmp_path / "pool", POOL).rows == 1


def test_ids_on_a_list_stay_out(mirror, tmp_path):
    every = sets.build_train_pool(mirror, tmp_path / "a", TrainPool(cap_per_country=99))
    listed = sets.read_set(tmp_path / "a")["id"].to_list()[:5]
    (tmp_path / "list.txt").write_text(
        "\ufeffid\n" + ", ".join(listed[:3]) + "\n" + "\n".join([*listed[3:], "123", ""])
    )
    settings = TrainPool(cap_per_country=99, exclude_ids=tmp_path / "list.txt")
    stats = sets.build_train_pool(mirror, tmp_path / "b", settings)
    assert stats.rows == every.rows - 5 and stats.dropped["excluded_by_list"] == 5
    with pytest.raises(DataError, match="exclude_ids"):
        sets.build_train_pool(mirror, tmp_path / "c", TrainPool(exclude_ids=tmp_path / "none.txt"))


def test_traces_of_the_chosen_rows_come_along(tmp_path):
    write_mirror(tmp_path / "m", train=8)
    lines = [json.dumps({"id": str(100_000 + n), "think": f"clue {n}"}) for n in range(20)]
    (tmp_path / "m/traces.jsonl").write_text("\n".join(lines) + "\n")
    sets.build_train_pool(tmp_path / "m", tmp_path / "pool", TrainPool(cap_per_country=1))
    traces = pl.read_parquet(tmp_path / "pool/traces.parquet")
    assert sorted(traces["id"]) == sorted(sets.read_set(tmp_path / "pool")["id"])
    assert traces["think"].to_list() == [f"clue {int(i) - 100_000}" for i in traces["id"]]


def test_checks_find_what_is_broken(tmp_path):
    write_mirror(tmp_path / "m", train=8)
    sets.build_train_pool(tmp_path / "m", tmp_path / "pool", POOL)
    first, second = sets.read_set(tmp_path / "pool")["image_path"].head(2)
    (tmp_path / "pool" / first).unlink()
    (tmp_path / "pool" / second).write_bytes(jpeg(1)[:500])
    assert sets.undecodable_images(tmp_path / "pool") == sorted([first, second])
    wrong = sets.read_set(tmp_path / "pool").with_columns(country_iso2=pl.lit("FR"))
    assert sets.label_agreement(wrong) == 0.25


def test_csvs_without_rows(tmp_path):
    write_csv(tmp_path / "train.csv", [])
    write_csv(tmp_path / "test.csv", [])
    write_zip(tmp_path / "images/train/00.zip", {"1.jpg": jpeg(1)})
    write_zip(tmp_path / "images/test/00.zip", {})
    pool = sets.build_train_pool(tmp_path, tmp_path / "pool", POOL)
    assert pool.rows == 0 and pool.dropped == {"image_without_row": 1}
    assert sets.build_eval_osv(tmp_path, tmp_path / "eval", EVAL).rows == 0
    assert sets.build_eval_quick(tmp_path / "eval", tmp_path / "quick", EvalQuick()).rows == 0
