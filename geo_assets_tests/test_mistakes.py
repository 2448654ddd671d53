"""What users get wrong: one clear line each, a failed run, and no half artifact."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from geo_assets_tests.dagster_cli import Project

pytestmark = [pytest.mark.slow, pytest.mark.graph]

HEADER = (
    "id,latitude,longitude,thumb_original_url,country,sequence,captured_at,lon_bin,lat_bin,cell,region,sub-region,"
    "city,land_cover,road_index,drive_side,climate,soil,dist_sea,quadtree_10_5000,quadtree_10_25000,"
    "quadtree_10_1000,quadtree_10_50000,quadtree_10_12500,quadtree_10_500,quadtree_10_2500,unique_region,"
    "unique_sub-region,unique_city,unique_country,creator_username,creator_id"
)


def mirror(folder: Path, header: str = HEADER) -> Path:
    (folder / "images" / "test").mkdir(parents=True)
    (folder / "test.csv").write_text(header + "\n")
    with zipfile.ZipFile(folder / "images" / "test" / "00.zip", "w") as archive:
        archive.writestr("1.jpg", b"not a picture")
    return folder


def local(folder: Path) -> dict[str, str]:
    return {
        "GEO_OSV_ZIPS__SOURCE": "local",
        "GEO_OSV_ZIPS__LOCAL_DIR": str(folder),
        "GEO_OSV_ZIPS__TRAIN_ZIPS": "[]",
    }


def fails(project: Project, select: str, message: str, **overrides: str) -> None:
    finished = project.materialize(select, **overrides)
    assert finished.code != 0
    lines = [line for line in finished.output.splitlines() if message in line]
    assert lines, finished.output[-4000:]
    assert not any(project.manifests(asset) for asset in select.split(",")[-1:])


def test_unknown_profile(tmp_path: Path) -> None:
    project = Project(tmp_path)
    fails(project, "osv_zips", "geo_assets: unknown profile 'dema'; did you mean 'demo'?", GEO_PROFILE="dema")
    assert not project.artifacts.exists()


def test_unreadable_zip(tmp_path: Path) -> None:
    folder = mirror(tmp_path / "mirror")
    (folder / "images" / "test" / "00.zip").write_bytes(b"PK not a zip")
    fails(Project(tmp_path), "osv_zips", "00.zip", **local(folder))


def test_missing_csv_column(tmp_path: Path) -> None:
    folder = mirror(tmp_path / "mirror", HEADER.replace(",sequence", ""))
    fails(Project(tmp_path), "osv_zips,eval_osv", "sequence", **local(folder))


def test_required_value_that_is_unset(tmp_path: Path) -> None:
    fails(Project(tmp_path), "osv_zips", "osv_zips.local_dir", GEO_OSV_ZIPS__SOURCE="local")


def test_upstream_that_is_not_built(tmp_path: Path) -> None:
    fails(Project(tmp_path), "train_pool", "train_pool needs osv_zips, which is not built for profile 'demo'")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="mounting a small disk needs root")
def test_no_disk_space(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        project = Project(tmp_path, disk / "artifacts")
        finished = project.materialize("pano_source", GEO_PANO_SOURCE__SCENES="40")
        assert finished.code != 0
        assert "No space left on device" in finished.output
        assert "make room or set GEO_HOME elsewhere" in finished.output
        assert project.manifests("pano_source") == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "required"),
        (["plane"], 2, "invalid choice"),
        (["plan", "--seconds-per-step", "-1"], 2, "not above 0"),
        (["plan", "--seconds-per-step", "20", "--budget-hours", "8"], 0, "1440"),
        (["--help"], 0, "dagster asset materialize"),
    ],
)
def test_command_line(tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    environment = Project(tmp_path).environment({})
    done = subprocess.run(
        [sys.executable, "-m", "geo_assets", *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
