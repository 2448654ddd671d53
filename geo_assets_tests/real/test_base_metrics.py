"""The 89 real photos of a local mirror, own photos and panoramas, through the graph to base_metrics."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from geo_assets_tests.dagster_cli import Project
from geo_assets_tests.real.panoramas import write_real_panoramas

pytestmark = [pytest.mark.slow, pytest.mark.graph]


def test_real_photos_reach_base_metrics(shared_data: Path, tmp_path: Path) -> None:
    project = Project(tmp_path)
    panoramas = write_real_panoramas(shared_data, tmp_path / "panoramas")
    finished = project.materialize(
        "+key:base_metrics",
        GEO_OSV_ZIPS__SOURCE="local",
        GEO_OSV_ZIPS__LOCAL_DIR=str(shared_data / "osv_real"),
        GEO_OSV_ZIPS__TRAIN_ZIPS="[]",
        GEO_EVAL_OSV__ROWS="1000",
        GEO_EVAL_PHOTOS__FOLDER=str(shared_data / "own_photos"),
        GEO_EVAL_PHOTOS__MANIFEST=str(shared_data / "own_photos" / "photos.csv"),
        GEO_PANO_SOURCE__SOURCE="local",
        GEO_PANO_SOURCE__LOCAL_DIR=str(tmp_path / "panoramas"),
        GEO_WARM_START__MODE="none",
        GEO_EVALUATE__SAMPLES="0",
        GEO_TASK__MAX_COMPLETION_LENGTH="8",
    )
    assert finished.code == 0, finished.output[-8000:]
    assert json.loads((project.latest("eval_osv") / "dropped.json").read_text())["rows"] == 89
    seen = _pixels(project.latest("eval_osv") / "images")
    with zipfile.ZipFile(shared_data / "osv_real/images/test/00.zip") as archive:
        archive.extractall(tmp_path / "originals")
    assert seen == _pixels(tmp_path / "originals")
    summary = json.loads((project.latest("base_metrics") / "summary.json").read_text())
    assert summary["start"] == "same as base"
    assert {split: cells["greedy"]["n"] for split, cells in summary["base"].items()} == {
        "eval_osv": 89, "eval_quick": 89, "eval_photos": 30, "eval_pano": panoramas,
    }  # fmt: skip


def _pixels(folder: Path) -> dict[str, str]:
    """Digest of the pixels of every photo below a folder, by id."""
    return {
        path.stem: hashlib.sha256(Image.open(path).convert("RGB").tobytes()).hexdigest()
        for path in folder.rglob("*.jpg")
    }
