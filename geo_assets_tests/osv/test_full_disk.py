"""A full disk: nothing short gets its final name, and more room is all that is needed."""

import subprocess

import pytest

from geo_assets.errors import DataError
from geo_assets.osv import download, extract, sets, sources
from geo_assets.osv.hub import Patience
from geo_assets.settings import OsvZips, Runtime, TrainPool
from geo_assets_tests.fakehub import FakeHub
from geo_assets_tests.osv.mirrors import write_mirror

QUICK = Patience(tries=3, first_wait=0.01, longest_wait=0.02, timeout=2.0)
ZIPS = OsvZips(train_zips=(0, 1), test_zips=(0,))


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """A file system of 1 MiB; `small_disk.parent` lies on a large one."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    for module in (download, extract):
        monkeypatch.setattr(module, "check_space", lambda *_: None)  # it would refuse to start
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def grow(folder):
    subprocess.run(["mount", "-o", "remount,size=32M", folder], check=True)


def content(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_download_names_path_and_bytes_and_goes_on_with_more_room(small_disk, tmp_path, monkeypatch):
    repo = write_mirror(tmp_path / "hub/datasets/osv5m/osv5m", train=600)
    with FakeHub(tmp_path / "hub") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        with pytest.raises(DataError, match=r"no space left for \S+\.part: free \d[\d,]* bytes"):
            sources.build_osv_zips(ZIPS, small_disk, Runtime(), QUICK)
        for path in small_disk.rglob("*.zip"):
            assert path.read_bytes() == (repo / path.relative_to(small_disk)).read_bytes()
        grow(small_disk)
        server.log.clear()
        sources.build_osv_zips(ZIPS, small_disk, Runtime(), QUICK)
        sent = sum(request.sent for request in server.log)
        sources.build_osv_zips(ZIPS, tmp_path / "large", Runtime(), QUICK)
    assert content(small_disk) == content(tmp_path / "large")
    assert sent < sum(len(data) for data in content(tmp_path / "large").values()) - 500_000


def test_an_extraction_goes_on_with_more_room(small_disk, tmp_path):
    mirror = write_mirror(tmp_path / "mirror", train=600)
    with pytest.raises(OSError, match="No space left"):
        sets.build_train_pool(mirror, small_disk, TrainPool())
    whole = sets.build_train_pool(mirror, tmp_path / "large", TrainPool())
    expected = content(tmp_path / "large")
    for path in small_disk.rglob("*.jpg"):
        assert path.read_bytes() == expected[path.relative_to(small_disk).as_posix()]
    grow(small_disk)
    assert sets.build_train_pool(mirror, small_disk, TrainPool()).rows == whole.rows == 600
    assert content(small_disk) == expected


def test_room_is_checked_before_the_first_photo(tmp_path, monkeypatch):
    usage = type("Usage", (), {"free": 1 << 20})
    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: usage)
    mirror = write_mirror(tmp_path / "mirror", train=8)
    with pytest.raises(DataError, match=r"has 1,048,576 bytes free and 268,\d{3},\d{3} are needed"):
        sets.build_train_pool(mirror, tmp_path / "out", TrainPool())
    assert not list((tmp_path / "out/images").iterdir())
