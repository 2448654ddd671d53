"""The panorama set: the Hub's parquet layout, views, and what must not travel."""

import io
import json

import polars as pl
import pytest
from PIL import Image

from geo_assets.errors import DataError
from geo_assets.osv import leaks, panorama, sets
from geo_assets.osv.schema import PANO_SCHEMA
from geo_assets.settings import EvalPano
from geo_assets_tests.osv.mirrors import PLACES, jpeg

PANO = jpeg(7, (3050, 561))


def pano_row(n, data, country="FR", **cells):
    latitude, longitude = PLACES[country]
    base = {"image": {"bytes": data, "path": f"48.85_{n}.jpg"}, "country_iso_alpha2": country,
            "latitude": str(latitude), "longitude": str(longitude),
            "address": "Rue de Rivoli, Paris"}  # fmt: skip
    return {**base, **cells}


def write_source(root, *files):
    for number, rows in enumerate(files):
        path = root / f"data/train-{number:05d}-of-{len(files):05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(rows).write_parquet(path, row_group_size=2)
    return root


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    rows = [pano_row(n, jpeg(n, (300, 60)), c) for n, c in enumerate(["FR", "NA", "JP", "BR"] * 3)]
    return write_source(tmp_path_factory.mktemp("pano"), rows[:5], rows[5:])


def test_three_views_cover_the_panorama(tmp_path):
    write_source(tmp_path / "s", [pano_row(0, PANO)])
    stats = sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano())
    found = sets.read_set(tmp_path / "out").row(0, named=True)
    assert stats.rows == 1 and len(found["views"]) == 3 and found["image_path"] == found["views"][0]
    sizes = [Image.open(tmp_path / "out" / name).size for name in found["views"]]
    assert sizes == [(1017, 561), (1016, 561), (1017, 561)]
    assert (found["width"], found["height"]) == sizes[0]


def test_one_view_is_the_whole(tmp_path):
    write_source(tmp_path / "s", [pano_row(0, PANO)])
    sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano(views=1))
    (name,) = sets.read_set(tmp_path / "out")["views"].item()
    assert Image.open(tmp_path / "out" / name).size == (1024, 188)


def test_views_are_slices_in_order():
    image = Image.open(io.BytesIO(PANO)).convert("RGB")
    left, middle, right = panorama.cut_views(image, 3)
    sheet = Image.new("RGB", image.size)
    for x, view in ((0, left), (left.width, middle), (left.width + middle.width, right)):
        sheet.paste(view, (x, 0))
    assert sheet.tobytes() == image.tobytes()


def test_columns_strings_and_no_address_anywhere(source, tmp_path):
    sets.build_eval_pano(source, tmp_path, EvalPano(rows=8))
    frame = sets.read_set(tmp_path)
    assert dict(frame.schema) == PANO_SCHEMA and frame.height == 8
    assert set(frame["country_iso2"]) <= {"FR", "NA", "JP", "BR"}
    assert frame["latitude"].dtype == pl.Float64
    text = " ".join(p.read_text() for p in tmp_path.glob("*.[mcj]*")) + str(frame.rows())
    assert "Rivoli" not in text and "48.85_" not in text
    assert sets.undecodable_images(tmp_path) == [] and sets.label_agreement(frame) == 1.0
    assert leaks.compare(_empty_pool(tmp_path / "pool"), tmp_path).clean


def _empty_pool(out):
    return out if sets.build_train_pool(out / "none", out, sets.TrainPool()).rows == 0 else None


def test_seed_limit_and_determinism(source, tmp_path):
    ids = {}
    for name, settings in {"a": EvalPano(rows=6), "b": EvalPano(rows=6), "c": EvalPano(rows=6, seed=1),
                           "d": EvalPano(rows=6, limit=2)}.items():  # fmt: skip
        sets.build_eval_pano(source, tmp_path / name, settings)
        ids[name] = sets.read_set(tmp_path / name)["id"].to_list()
    assert ids["a"] == ids["b"] != ids["c"] and ids["d"] == ids["a"][:2]
    assert (tmp_path / "a/eval_pano.parquet").read_bytes() == (tmp_path / "b/eval_pano.parquet").read_bytes()


def test_bad_rows_are_replaced_and_counted(tmp_path):
    good = [pano_row(n, jpeg(n, (300, 60))) for n in range(4)]
    bad = [
        pano_row(5, b""), pano_row(6, jpeg(6)[:900]), pano_row(7, jpeg(7), latitude="north"),
        pano_row(8, None),
        pano_row(9, jpeg(9), country_iso_alpha2=""), pano_row(10, jpeg(10), country_iso_alpha2="FRA"),
    ]  # fmt: skip
    write_source(tmp_path / "s", bad, good)
    stats = sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano(rows=10))
    assert stats.rows == 4
    assert stats.dropped == {
        "coordinates_bad": 1, "country_malformed": 1, "country_missing": 1, "damaged": 1, "empty": 2,
    }  # fmt: skip
    assert json.loads((tmp_path / "out/dropped.json").read_text())["empty"] == 2


@pytest.mark.parametrize("origin", ["drawn", "hub:stochastic/panos@abc"])
def test_the_papers_say_what_may_be_done_with_them(tmp_path, origin):
    write_source(tmp_path / "s", [pano_row(0, PANO)])
    (tmp_path / "s/files.json").write_text(json.dumps({"data/x.parquet": {"source": origin}}))
    sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano())
    card = (tmp_path / "out/data_card.md").read_text()
    assert f"- From: {origin}\n" in card and ("Never redistribute" in card) == (origin != "drawn")
    assert ("evaluation only" in card) == (origin != "drawn")


def test_off_is_an_empty_set_and_a_wrong_file_names_its_columns(tmp_path):
    (tmp_path / "off").mkdir()
    assert sets.build_eval_pano(tmp_path / "off", tmp_path / "out", EvalPano()).rows == 0
    assert dict(sets.read_set(tmp_path / "out").schema) == PANO_SCHEMA
    (tmp_path / "s/data").mkdir(parents=True)
    pl.DataFrame({"image": [1], "latitude": ["1"]}).write_parquet(tmp_path / "s/data/x.parquet")
    with pytest.raises(DataError, match="country_iso_alpha2, longitude"):
        sets.build_eval_pano(tmp_path / "s", tmp_path / "out2", EvalPano())


@pytest.mark.parametrize(
    "data", [b"version https://git-lfs.github.com/spec/v1\n", b"", b"PAR1" + bytes(500) + b"PAR1"]
)
def test_a_file_that_is_no_parquet_is_one_line_with_the_remedy(tmp_path, data):
    (tmp_path / "s/data").mkdir(parents=True)
    (tmp_path / "s/data/x.parquet").write_bytes(data)
    with pytest.raises(DataError, match=r"x.parquet cannot be read .*materialize pano_source again") as error:
        sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano())
    assert "\n" not in str(error.value)


def test_damage_inside_a_file_is_one_line_too(tmp_path):
    write_source(tmp_path / "s", [pano_row(n, jpeg(n, (300, 60))) for n in range(6)])
    (path,) = (tmp_path / "s/data").iterdir()
    data = bytearray(path.read_bytes())
    data[40:4000] = bytes(3960)
    path.write_bytes(data)
    with pytest.raises(DataError, match="cannot be read"):
        sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano())


def test_images_that_are_not_a_struct_are_named(tmp_path):
    rows = [{**pano_row(0, PANO), "image": PANO}]
    write_source(tmp_path / "s", rows)
    with pytest.raises(DataError, match=r"images as .*binary, not as a struct"):
        sets.build_eval_pano(tmp_path / "s", tmp_path / "out", EvalPano())
