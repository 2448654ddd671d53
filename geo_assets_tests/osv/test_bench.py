"""The bench runs at small size, and its CSV has the shape of the real one."""

import pytest

from geo_assets.__main__ import main
from geo_assets.osv import bench, bench_photos, fullsize, schema


def test_full_size_rows_have_the_real_shape(tmp_path):
    size = fullsize.write_full_size_csv(tmp_path / "a.csv", rows=2000)
    assert schema.csv_header(tmp_path / "a.csv") == list(schema.OSV_COLUMNS)
    assert 560 < size / 2000 < 630  # the published file has 596 bytes a row
    frame = schema.read_csv(tmp_path / "a.csv")
    assert frame["id"].n_unique() == 2000 and frame["id"].str.len_chars().is_between(15, 17).all()
    assert frame["latitude"].is_between(-90, 90).all() and frame["country"].str.contains("^[A-Z]{2}$").all()
    fullsize.write_full_size_csv(tmp_path / "b.csv", rows=2000)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.slow
def test_bench_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench_photos, "DIFFERENT", 3)
    monkeypatch.setattr(bench_photos, "ROUNDS", 1)
    monkeypatch.setattr(bench, "PHOTOS_PER_ZIP", 60)
    monkeypatch.setattr(bench, "CHOSEN", (5, 10, 20))
    assert main(["bench", "data", "--folder", str(tmp_path), "--rows", "30000"]) == 0
    out = capsys.readouterr().out
    assert "csv, all zips" in out and "x the speed" in out and "copy 20 from 4 zip(s)" in out


def test_every_way_gives_the_chosen_photos(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_photos, "DIFFERENT", 3)
    mirror = bench_photos.write_zips(tmp_path / "zips", 2, 12)
    for way in bench_photos.WAYS.values():
        (tmp_path / "out/images").mkdir(parents=True, exist_ok=True)
        assert way(mirror, tmp_path / "out", 2, 6) == 6
    assert len(list((tmp_path / "out/images").iterdir())) == 6
