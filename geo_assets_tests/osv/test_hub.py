"""Downloads from a Hub that misbehaves: every fault ends right, or in one line that says what to do."""

import hashlib
import json
import logging
import signal
import time

import pytest

from geo_assets.errors import DataError
from geo_assets.osv import download, hub, sources, transfer
from geo_assets.osv.hub import Patience
from geo_assets.settings import OsvZips, PanoSource, Runtime
from geo_assets_tests.fakehub import FakeHub
from geo_assets_tests.osv.jobs import start
from geo_assets_tests.osv.mirrors import write_mirror

QUICK = Patience(tries=4, first_wait=0.01, longest_wait=0.05, timeout=1.0)
SETTINGS = OsvZips(train_zips=(0, 1), test_zips=(0,))
ZIP = r"images/train/00\.zip"


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    write_mirror(root / "datasets/osv5m/osv5m")
    return root


@pytest.fixture
def fake(published, monkeypatch):
    with FakeHub(published) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setattr(transfer, "PROGRESS_SECONDS", 0.0)
        yield server


def build(out, settings=SETTINGS, patience=QUICK):
    return sources.build_osv_zips(settings, out, Runtime(), patience)


def mirrored(root, out, settings=SETTINGS):
    source = root / "datasets/osv5m/osv5m"
    return all((out / n).read_bytes() == (source / n).read_bytes() for n in sources.wanted_files(settings))


def test_only_the_named_files_travel_and_are_described(fake, published, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    settings = OsvZips(train_zips=(), test_zips=(0,))
    files = build(tmp_path, settings)
    assert sorted(files) == ["images/test/00.zip", "test.csv"]
    assert mirrored(published, tmp_path, settings)
    data = (tmp_path / "test.csv").read_bytes()
    assert files["test.csv"]["size"] == len(data)
    assert files["test.csv"]["sha256"] == hashlib.sha256(data).hexdigest()
    assert files["test.csv"]["source"].startswith("hub:osv5m/osv5m@")
    assert files["images/test/00.zip"]["damaged_members"] == 0
    assert json.loads((tmp_path / "files.json").read_text()) == files
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["00.zip", "files.json", "test.csv"]
    assert "MB/s" in caplog.text and "s left" in caplog.text


FAULTS = {
    "drop": {"drop_after": 50_000}, "drop thrice": {"drop_after": 5_000, "times": 3},
    "truncate": {"truncate": 60_000}, "stall": {"stall": 3.0, "stall_after": 40_000}, "503": {"status": 503},
    "429": {"status": 429, "headers": {"Retry-After": "1"}}, "500 twice": {"status": 500, "times": 2},
    "flipped byte": {"flip": 70_000}, "stale address": {"status": 403},
    "ignored range": {"ignore_range": True}, "408": {"status": 408},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_faults_of_the_bytes_are_survived(fake, published, tmp_path, name):
    fake.fault("GET", f"cdn/.*{ZIP}", **FAULTS[name])
    build(tmp_path)
    assert mirrored(published, tmp_path)


@pytest.mark.parametrize("pattern", [r"/api/datasets/", "paths-info", rf"resolve/.*{ZIP}"])
@pytest.mark.parametrize("status", [429, 503])
def test_faults_of_the_api_are_survived(fake, published, tmp_path, pattern, status):
    fake.fault("*", pattern, status=status, times=2)
    build(tmp_path)
    assert mirrored(published, tmp_path)


def test_bytes_that_came_are_not_fetched_again(fake, published, tmp_path):
    size = (published / "datasets/osv5m/osv5m/images/train/00.zip").stat().st_size
    fake.fault("GET", f"cdn/.*{ZIP}", drop_after=100_000)
    build(tmp_path)
    sent = [r.sent for r in fake.log if "cdn" in r.path and "train/00.zip" in r.path]
    assert len(sent) == 2 and size <= sum(sent) < size + 70_000


def test_a_broken_off_run_goes_on_where_it_was(fake, published, tmp_path):
    fake.fault("GET", f"cdn/.*{ZIP}", drop_after=100_000)
    fake.fault("GET", f"cdn/.*{ZIP}", status=503, times=-1)
    with pytest.raises(
        DataError, match=r"1 of 5 files are missing \(images/train/00.zip\).*materialize again"
    ):
        build(tmp_path)
    part = download.part_of(tmp_path / "images/train/00.zip")
    kept = part.stat().st_size
    assert kept >= 65_536 and not (tmp_path / "files.json").exists()
    fake.faults.clear()
    fake.log.clear()
    build(tmp_path)
    assert mirrored(published, tmp_path)
    assert [r.range for r in fake.log if "cdn" in r.path] == [f"bytes={kept}-"]


def test_a_rate_limit_after_two_files_names_the_others_and_costs_them_alone(fake, published, tmp_path):
    rate = {"status": 429, "headers": {"Retry-After": "0"}, "times": -1}
    done = 0
    for missing in (3, 3):
        fake.fault("GET", "cdn/", skip=2 - done, **rate)
        with pytest.raises(DataError, match=rf"{missing} of 5 files are missing \(.*HF_TOKEN"):
            build(tmp_path)
        whole = {n for n in sources.wanted_files(SETTINGS) if (tmp_path / n).exists()}
        done = len(whole)
        assert done == 2 and not (tmp_path / "files.json").exists()
        fake.faults.clear()
    fake.log.clear()
    build(tmp_path)
    assert mirrored(published, tmp_path)
    fetched = {r.path.partition("osv5m/osv5m/")[2].partition("?")[0] for r in fake.log if "/cdn/" in r.path}
    assert fetched == set(sources.wanted_files(SETTINGS)) - whole


def test_an_interrupt_ends_a_download_at_once_and_keeps_what_came(tmp_path, monkeypatch):
    """A zip of the real set takes an hour; whoever terminates a run does not want to wait for it."""
    write_mirror(tmp_path / "hub/datasets/osv5m/osv5m", train=1000)
    size = sum(path.stat().st_size for path in (tmp_path / "hub").rglob("*.zip"))
    with FakeHub(tmp_path / "hub", bandwidth=300_000) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        job = start("download", tmp_path / "out")
        while sum(r.sent for r in server.log) < size / 10:
            time.sleep(0.01)
        job.send_signal(signal.SIGINT)
        assert job.wait() != 0
        parts = {path: path.stat().st_size for path in (tmp_path / "out").rglob("*.part")}
        assert sum(r.sent for r in server.log) < size / 2 and all(parts.values())
        server.bandwidth, server.log = None, []
        build(tmp_path / "out")
    assert mirrored(tmp_path / "hub", tmp_path / "out")
    asked = {r.range for r in server.log if "/cdn/" in r.path}
    assert {f"bytes={kept}-" for kept in parts.values()} <= asked


def test_what_a_kill_between_two_renames_leaves_is_cleared_away(fake, published, tmp_path):
    build(tmp_path)
    whole = sorted(p.name for p in tmp_path.rglob("*"))
    (tmp_path / "files.json").unlink()
    download.note_of(tmp_path / "images/train/00.zip").write_text("{}")
    fake.log.clear()
    assert ".part.json" not in "".join(build(tmp_path))
    assert sorted(p.name for p in tmp_path.rglob("*")) == whole
    assert not [r for r in fake.log if "cdn" in r.path]


def test_a_file_that_changed_is_started_anew(fake, published, tmp_path):
    target = tmp_path / "images/train/00.zip"
    target.parent.mkdir(parents=True)
    download.part_of(target).write_bytes(b"x" * 5000)
    target.with_name("00.zip.part.json").write_text(json.dumps({"etag": "of another content", "size": 9999}))
    build(tmp_path)
    assert mirrored(published, tmp_path)


def test_a_file_that_changes_meanwhile_is_an_error(fake, tmp_path):
    fake.fault("HEAD", f"resolve/.*{ZIP}", etag="f" * 64, times=-1)
    with pytest.raises(
        DataError, match=r"images/train/00\.zip changed on the Hub meanwhile: materialize again"
    ):
        build(tmp_path)


def test_wrong_bytes_twice_are_an_error(fake, tmp_path):
    fake.fault("GET", f"cdn/.*{ZIP}", flip=70_000, times=-1)
    with pytest.raises(DataError, match="2 times the bytes differ"):
        build(tmp_path)
    assert not (tmp_path / "images/train/00.zip").exists()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ({"status": 429, "times": -1}, "wait five minutes.*HF_TOKEN"),
        ({"status": 404, "times": -1}, "check repo"),
        ({"status": 401, "times": -1}, "HF_TOKEN"), ({"status": 503, "times": -1}, "source: local"),
    ],
)  # fmt: skip
def test_refusals_are_one_line_with_the_remedy(fake, tmp_path, fault, message):
    fake.fault("*", ".", **fault)
    with pytest.raises(DataError, match=message) as error:
        build(tmp_path)
    assert "\n" not in str(error.value)


def test_files_that_the_repository_lacks_are_listed(fake, tmp_path):
    with pytest.raises(DataError, match=r"images/train/07.zip, images/test/03.zip"):
        build(tmp_path, OsvZips(train_zips=(0, 7), test_zips=(0, 3)))


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "http://nowhere.invalid"])
def test_no_network_is_one_clear_line_after_a_few_tries(monkeypatch, tmp_path, address, caplog):
    monkeypatch.setenv("HF_ENDPOINT", address)
    message = r"no answer from the Hub in 3 tries.*HTTPS_PROXY, or set source: local"
    with pytest.raises(DataError, match=message) as error:
        build(tmp_path)
    assert "\n" not in str(error.value) and caplog.text.count("trying again") == 2


def test_a_network_that_fails_later_gets_all_the_patience(fake, tmp_path, caplog):
    patience = Patience(tries=5, first_tries=1, first_wait=0.01, longest_wait=0.05, timeout=1.0)
    repo = hub.open_repo("osv5m/osv5m", "main", patience)
    lost = hub.HubRepo(repo.repo, repo.revision, "http://127.0.0.1:9", patience)
    with pytest.raises(DataError, match="in 5 tries"):
        lost.locate("test.csv")


def test_offline_mode_is_one_clear_line(monkeypatch, fake, tmp_path):
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(DataError, match="HF_HUB_OFFLINE is set"):
        build(tmp_path)
    assert not fake.log


def test_a_full_disk_is_refused_before_a_byte_travels(monkeypatch, fake, tmp_path):
    usage = type("Usage", (), {"free": 300 << 20})
    monkeypatch.setattr(download.shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(download, "SPARE_BYTES", 300 << 20)
    with pytest.raises(DataError, match=r"314,572,800 bytes free and 31\d,\d{3},\d{3} are needed"):
        build(tmp_path)
    assert not [r for r in fake.log if "cdn" in r.path]


def test_a_disk_that_fills_up_is_named_with_the_bytes_needed(monkeypatch, fake, tmp_path):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "_append", full)
    with pytest.raises(DataError, match=r"no space left for .*part: free \d[\d,]* bytes"):
        build(tmp_path)


def test_the_commit_is_pinned_for_an_interrupted_run(fake, tmp_path):
    fake.fault("GET", f"cdn/.*{ZIP}", status=503, times=-1)
    with pytest.raises(DataError):
        build(tmp_path)
    commit = json.loads((tmp_path / "pin.json").read_text())["commit"]
    assert commit == fake.commit("datasets", "osv5m/osv5m")
    fake.faults.clear()
    fake.log.clear()
    build(tmp_path)
    assert all(
        f"/revision/{commit}" in r.path
        for r in fake.log
        if r.path.startswith("/api") and "info" not in r.path
    )
    assert all(f"/resolve/{commit}/" in r.path for r in fake.log if "/resolve/" in r.path)


def test_rate_limit_headers():
    import httpx

    assert hub.asked_wait(httpx.Headers({"Retry-After": "7"})) == 7.0
    assert hub.asked_wait(httpx.Headers({"RateLimit": '"resolvers";r=0;t=42'})) == 42.0
    assert hub.asked_wait(httpx.Headers({"RateLimit": '"resolvers";r=2999;t=42'})) is None


def test_panoramas_come_from_their_data_folder(tmp_path, monkeypatch):
    repo = tmp_path / "hub/datasets/some/panos"
    for name in ("data/train-0.parquet", "data/train-1.parquet", "README.md"):
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_bytes(name.encode() * 300)
    with FakeHub(tmp_path / "hub") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        files = sources.build_pano_source(PanoSource(repo="some/panos"), tmp_path / "out", Runtime(), QUICK)
    assert sorted(files) == ["data/train-0.parquet", "data/train-1.parquet"]
    assert (tmp_path / "out/data/train-1.parquet").read_bytes() == b"data/train-1.parquet" * 300
