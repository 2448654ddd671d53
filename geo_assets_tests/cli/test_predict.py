"""`predict`: readable lines, JSON lines, exit codes; the model is canned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geo_assets.__main__ import main
from geo_assets.app import guesser as guesser_module
from geo_assets.app.samples import gps_exif
from geo_assets_tests.app.test_page import NAIROBI, guesser, text
from geo_assets_tests.app.test_photos import photo


@pytest.fixture
def canned(monkeypatch: pytest.MonkeyPatch) -> None:
    model = guesser("after", [text("Kenya", *NAIROBI), text("Uganda", 0.3, 32.6)])
    monkeypatch.setattr(guesser_module, "guessers", lambda *_: [model])
    monkeypatch.setattr(guesser_module, "fitted_size", lambda *_: (160, 128))


@pytest.mark.usefixtures("canned")
def test_line_has_place_map_link_and_distance(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_gps = photo(tmp_path / "a.jpg", gps_exif(-1.29, 37.82))
    assert main(["predict", str(with_gps), str(photo(tmp_path / "b.png"))]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == (
        "a.jpg: Kenya (-1.29, 36.82)  https://www.openstreetmap.org/?mlat=-1.29000&mlon=36.82000"
        "#map=7/-1.29000/36.82000  111 km off, 4,641 points"
    )
    assert second.startswith("b.png: Kenya")
    assert "off" not in second


@pytest.mark.usefixtures("canned")
def test_json_lines_hold_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--json", "--samples", "2", str(photo(tmp_path / "a.jpg"))]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["country_iso2"] == "KE"
    assert (record["latitude"], record["longitude"]) == NAIROBI
    assert record["samples"] == {"Kenya": 1, "Uganda": 1}
    assert record["spread_km"] == pytest.approx(501.8, rel=0.02)
    assert record["d_km"] is None
    assert record["think"] == "red soil"


@pytest.mark.usefixtures("canned")
def test_bad_photo_is_reported_and_the_rest_is_answered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.jpg").write_text("no photo")
    assert main(["predict", str(tmp_path / "bad.jpg"), str(photo(tmp_path / "a.jpg"))]) == 1
    captured = capsys.readouterr()
    assert "is not an image" in captured.err
    assert captured.out.startswith("a.jpg: Kenya")


@pytest.mark.parametrize("arguments", [[], ["x.jpg", "--samples", "-1"], ["x.jpg", "--samples", "many"]])
def test_bad_usage_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["predict", *arguments])
    assert left.value.code == 2


def test_nothing_built_is_one_line_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEO_HOME", str(tmp_path))
    monkeypatch.delenv("GEO_PROFILE", raising=False)
    assert main(["predict", str(photo(tmp_path / "a.jpg"))]) == 1
    assert "materialize it first" in capsys.readouterr().err
