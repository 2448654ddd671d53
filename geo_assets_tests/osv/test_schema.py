"""Reading CSVs of OSV-5M: nothing is guessed, nothing but the empty cell is null."""

import csv
import json
import sys

import polars as pl
import pytest

from geo_assets.errors import DataError
from geo_assets.osv import schema
from geo_assets_tests.osv.mirrors import row, write_csv


def read(path):
    return schema.read_csv(path)


def test_namibia_and_null_like_words_are_text(tmp_path):
    cells = {"region": "NA", "sequence": "null", "city": "nan", "sub-region": "None"}
    write_csv(tmp_path / "a.csv", [row("123", "NA", **cells), row("124", "", region="")])
    first, second = read(tmp_path / "a.csv").to_dicts()
    assert first["country"] == "NA"
    assert {name: first[name] for name in cells} == cells
    assert second["country"] is None and second["region"] is None


def test_namibia_survives_csv_json_and_parquet_round_trips(tmp_path):
    frame = pl.DataFrame({"country_iso2": ["NA", "NZ"], "city": ["nan", None]})
    frame.write_csv(tmp_path / "a.csv")
    again = pl.read_csv(tmp_path / "a.csv", infer_schema=False)
    assert again.rows() == frame.rows()
    assert json.loads(json.dumps(frame.rows())) == [["NA", "nan"], ["NZ", None]]
    schema.write_parquet(frame, tmp_path / "a.parquet")
    assert pl.read_parquet(tmp_path / "a.parquet").rows() == frame.rows()


def test_ids_keep_their_digits(tmp_path):
    ids = ["0123456789", "10160003412345679", "99999999999999999999", ""]
    write_csv(tmp_path / "a.csv", [row(i) for i in ids])
    assert read(tmp_path / "a.csv")["id"].to_list() == [*ids[:3], None]


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("111336221091714.0", "111336221091714"),
        ("111336221091714", "111336221091714"),
        ("1.5", "1.5"),
        ("", None),
    ],
)
def test_creator_ids_written_as_floats(tmp_path, written, read_as):
    write_csv(tmp_path / "a.csv", [row("1", creator_id=written)])
    assert read(tmp_path / "a.csv")["creator_id"].item() == read_as


@pytest.mark.parametrize("cell", ["abc", "", "1e400", "nan", "--3", "12,5"])
def test_coordinates_that_are_no_finite_number(tmp_path, cell):
    write_csv(tmp_path / "a.csv", [row("1", latitude=cell)])
    value = read(tmp_path / "a.csv")["latitude"].item()
    assert value is None or not abs(value) <= 90


def test_a_missing_column_is_named(tmp_path):
    (tmp_path / "a.csv").write_text("id,latitude,longitude,country,region\n1,2,3,FR,x\n")
    with pytest.raises(DataError, match=r"sub-region, city, sequence, creator_id"):
        read(tmp_path / "a.csv")


def test_an_empty_and_an_absent_file_say_what_to_do(tmp_path):
    (tmp_path / "a.csv").write_text("")
    for name in ("a.csv", "b.csv"):
        with pytest.raises(DataError, match="materialize osv_zips again"):
            read(tmp_path / name)


@pytest.mark.parametrize("data", [bytes(400_000), b"a" * 400_000, b'"' + b"a" * 400_000])
@pytest.mark.parametrize("limit", [1 << 17, sys.maxsize])
def test_a_file_that_is_no_text_says_what_to_do(tmp_path, data, limit):
    """Whatever a library has set csv's limit of a field to: it is one for the whole process."""
    (tmp_path / "a.csv").write_bytes(data)
    before = csv.field_size_limit(limit)
    try:
        with pytest.raises(DataError, match=r"is no CSV .*materialize osv_zips again"):
            read(tmp_path / "a.csv")
    finally:
        csv.field_size_limit(before)


def test_what_cannot_be_printed_is_not(tmp_path):
    write_csv(tmp_path / "a.csv", [row("1")])
    with (tmp_path / "a.csv").open("ab") as file:
        file.write(b'"unclosed \x1b[31m\x07' + b"x" * 100)
    with pytest.raises(DataError, match="cannot be read") as error:
        read(tmp_path / "a.csv")
    assert str(error.value).isprintable()


def test_column_order_byte_order_mark_quotes_and_line_ends(tmp_path):
    names = [*reversed(schema.OSV_COLUMNS), "extra"]
    cells = {**row("7", "FR", city='Saint "A",\nB'), "extra": "x"}
    line = ",".join('"' + str(cells[n]).replace('"', '""') + '"' for n in names)
    (tmp_path / "a.csv").write_bytes(("\ufeff" + ",".join(names) + "\r\n" + line + "\r\n").encode())
    found = read(tmp_path / "a.csv").to_dicts()[0]
    assert (found["id"], found["city"], found["region"]) == ("7", 'Saint "A",\nB', "R")


def test_a_ragged_or_badly_encoded_row_does_not_end_the_run(tmp_path):
    write_csv(tmp_path / "a.csv", [row("1"), row("2")])
    with (tmp_path / "a.csv").open("ab") as file:
        file.write(b"3,1.0\n4" + b",x" * 40 + b"\n5,1.0,2.0,,FR,\xff\xfe" + b"," * 26 + b"\n")
    found = read(tmp_path / "a.csv")
    assert found["id"].to_list() == ["1", "2", "3", "4", "5"]
    assert found.row(2, named=True)["country"] is None


def test_blocks_keep_the_order_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "BLOCK_ROWS", 500)
    write_csv(tmp_path / "a.csv", [row(str(n)) for n in range(1800)])
    blocks = list(schema.read_blocks(tmp_path / "a.csv", ("id",)))
    assert pl.concat(blocks)["id"].to_list() == [str(n) for n in range(1800)]


def test_parquet_bytes_depend_on_the_rows_alone(tmp_path):
    frame = pl.DataFrame({"id": [str(n) for n in range(500)]})
    schema.write_parquet(frame, tmp_path / "a.parquet")
    schema.write_parquet(pl.concat([frame[:200], frame[200:]]), tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]
