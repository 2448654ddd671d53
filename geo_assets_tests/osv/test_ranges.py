"""Reading chosen members of zips that stay on the Hub: the same sets, far fewer bytes."""

import zipfile

import httpx
import pytest

from geo_assets.errors import DataError
from geo_assets.osv import archive, ranges, sets, sources, spool
from geo_assets.osv.hub import Patience
from geo_assets.osv.mirror import Mirror
from geo_assets.settings import EvalOsv, OsvZips, Runtime, TrainPool
from geo_assets_tests.fakehub import FakeHub
from geo_assets_tests.osv.mirrors import jpeg, write_mirror, write_zip

QUICK = Patience(tries=5, first_wait=0.01, longest_wait=0.05, timeout=1.0)
BY_RANGES = OsvZips(train_zips=(0, 1), test_zips=(0,), reach="ranges")
WHOLE = OsvZips(train_zips=(0, 1), test_zips=(0,))
POOL = TrainPool(cap_per_country=5)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    root = tmp_path_factory.mktemp("hub")
    repo = write_mirror(root / "datasets/osv5m/osv5m", train=80)
    photos = {f"01/{100_000 + n}.jpg": jpeg(100_000 + n) for n in range(1, 80, 2)}
    write_zip(repo / "images/train/01.zip", {**photos, "__MACOSX/x": b"x", ".a.jpg": b"y"}, compress=True)
    return root


@pytest.fixture
def fake(published, monkeypatch):
    monkeypatch.setattr(ranges, "GAP_BYTES", 100)
    monkeypatch.setattr(ranges, "LONGEST_RUN_BYTES", 20_000)
    monkeypatch.setattr(spool, "PATIENT", QUICK)
    with FakeHub(published) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def content(directory):
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def fill(out, settings=BY_RANGES):
    sources.build_osv_zips(settings, out / "zips", Runtime(), QUICK)
    stats = sets.build_train_pool(out / "zips", out / "pool", POOL)
    return stats, content(out / "pool")


def test_the_pool_is_the_same_as_from_whole_zips(fake, undisturbed, tmp_path):
    stats, by_ranges = fill(tmp_path / "ranges")
    sent = sum(r.sent for r in fake.log if "images/train" in r.path)
    resolved = [r for r in fake.log if "/resolve/" in r.path and "images/train" in r.path]
    whole_stats, whole = fill(tmp_path / "whole", WHOLE)
    assert by_ranges == whole == undisturbed
    assert stats.countries == whole_stats.countries == {"BR": 5, "FR": 5, "JP": 5, "NA": 5}
    assert stats.dropped == whole_stats.dropped and stats.dropped["member_dotfile"] == 1
    zips = [tmp_path / f"whole/zips/images/train/0{n}.zip" for n in (0, 1)]
    assert sent < 0.8 * sum(path.stat().st_size for path in zips)
    assert len(resolved) == 4  # once a zip for its directory, once for its members


def test_the_mirror_describes_zips_that_stayed(fake, tmp_path):
    files = sources.build_osv_zips(BY_RANGES, tmp_path, Runtime(), QUICK)
    assert (
        files["images/train/00.zip"]["reach"] == "ranges" and len(files["images/train/00.zip"]["etag"]) == 64
    )
    assert not (tmp_path / "images/train/00.zip").exists() and (tmp_path / "images/test/00.zip").exists()
    table, skipped = Mirror(tmp_path).members("train")
    assert table.height == 80 and skipped == {"macos_metadata": 1, "dotfile": 1}


FAULTS = {
    "drop": {"drop_after": 2000, "times": 4}, "truncate": {"truncate": 100, "times": 4},
    "stall": {"stall": 1.5, "stall_after": 0, "times": 2}, "503": {"status": 503, "times": 6},
    "429": {"status": 429, "times": 6}, "stale address": {"status": 403, "times": 3},
}  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed(published, tmp_path_factory):
    """The pool from whole zips that came without a fault."""
    with FakeHub(published) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_ENDPOINT", server.url)
        return fill(tmp_path_factory.mktemp("undisturbed"), WHOLE)[1]


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_faults_are_survived(fake, undisturbed, tmp_path, name):
    fake.fault("GET", r"cdn/.*train/0\d\.zip", **FAULTS[name])
    fake.fault("GET", r"cdn/.*train/0\d\.zip", skip=3, **FAULTS[name])
    assert fill(tmp_path)[1] == undisturbed


def test_a_flipped_byte_is_fetched_again(fake, tmp_path):
    sources.build_osv_zips(BY_RANGES, tmp_path, Runtime(), QUICK)
    member = Mirror(tmp_path).members("train")[0].row(7, named=True)
    fake.log.clear()
    fake.fault("GET", rf"cdn/.*{member['zip']}", flip=member["offset"] + 300)
    mirror = Mirror(tmp_path).with_spool(tmp_path / "spool")
    mirror.bring([member])
    assert mirror.read(member) == jpeg(int(member["id"]))
    assert [r.status for r in fake.log if "/cdn/" in r.path] == [206, 206]


def test_what_came_is_not_fetched_again(fake, tmp_path):
    sources.build_osv_zips(BY_RANGES, tmp_path / "zips", Runtime(), QUICK)
    mirror = Mirror(tmp_path / "zips").with_spool(tmp_path / "spool")
    table, _ = mirror.members("train")
    members = table.to_dicts()
    fake.fault("GET", r"cdn/.*train/01", skip=5, status=503, times=-1)
    with pytest.raises(DataError, match=r"did not come \(HTTP 503\)"):
        mirror.bring(members)
    came = {p.stem for p in (tmp_path / "spool").glob("*.raw")}
    assert 20 < len(came) < 80
    fake.faults.clear()
    fake.log.clear()
    mirror.bring(members)
    assert len([r for r in fake.log if "/cdn/" in r.path]) <= 80 - len(came)
    assert all(mirror.read(m) == jpeg(int(m["id"])) for m in members)


def test_damage_in_the_published_zip_is_found_as_in_a_whole_one(published, tmp_path, monkeypatch):
    repo = write_mirror(tmp_path / "hub/datasets/osv5m/osv5m", train=40)
    table, _ = archive.list_members(repo / "images/train/00.zip", "x")
    data = bytearray((repo / "images/train/00.zip").read_bytes())
    for member in table.head(3).iter_rows(named=True):
        data[member["offset"] + 300] ^= 0xFF
    data[table.row(5, named=True)["offset"]] = 0
    (repo / "images/train/00.zip").write_bytes(data)
    monkeypatch.setattr(spool, "PATIENT", QUICK)
    with FakeHub(tmp_path / "hub") as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        everything = TrainPool(cap_per_country=100)
        found = []
        for settings in (BY_RANGES, WHOLE):
            out = tmp_path / settings.reach
            files = sources.build_osv_zips(settings, out / "zips", Runtime(), QUICK)
            stats = sets.build_train_pool(out / "zips", out / "pool", everything)
            found.append((stats.dropped, content(out / "pool")))
    assert found[0] == found[1] and found[0][0] == {"zip_crc": 3, "zip_header": 1}
    assert files["images/train/00.zip"]["damaged_members"] == 4


def test_a_server_without_ranges_falls_back_to_whole_zips(fake, tmp_path, caplog):
    fake.fault("GET", r"cdn/.*train/0\d\.zip", ignore_range=True, times=2)
    stats, found = fill(tmp_path)
    assert "downloading whole zips instead" in caplog.text
    assert (tmp_path / "zips/images/train/01.zip").exists()
    assert found == fill(tmp_path / "whole", WHOLE)[1] and stats.rows == 20


def test_a_zip_that_changed_on_the_hub_is_refused(fake, tmp_path):
    sources.build_osv_zips(BY_RANGES, tmp_path / "zips", Runtime(), QUICK)
    fake.fault("HEAD", r"resolve/.*train/0\d\.zip", etag="f" * 64, times=-1)
    with pytest.raises(DataError, match="changed on the Hub meanwhile"):
        sets.build_train_pool(tmp_path / "zips", tmp_path / "pool", POOL)


def test_evaluation_reads_its_whole_zip(fake, tmp_path):
    sources.build_osv_zips(BY_RANGES, tmp_path / "zips", Runtime(), QUICK)
    assert sets.build_eval_osv(tmp_path / "zips", tmp_path / "eval", EvalOsv(rows=9)).rows == 9


class _Whole:
    """A stand-in for `RemoteZip` over a file on disk."""

    def __init__(self, path):
        self.path, self.name, self.asked = path, "x.zip", []

    def locate(self):
        return type("Location", (), {"size": self.path.stat().st_size})

    def read(self, start, stop):
        self.asked.append((start, stop))
        return self.path.read_bytes()[start:stop]


@pytest.mark.parametrize("members", [0, 1, 3000])
@pytest.mark.parametrize("comment", [b"", b"comment " * 8000])
def test_directories_of_every_size(tmp_path, members, comment):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as zip_file:
        for n in range(members):
            zip_file.writestr(zipfile.ZipInfo(f"00/{n:06d}.jpg"), b"x")
        zip_file.comment = comment
    found, _ = ranges.read_directory(_Whole(path))
    assert found.equals(archive.list_members(path, "x.zip")[0])


@pytest.mark.slow
def test_a_zip64_directory(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", allowZip64=True) as zip_file:
        for n in range(65_600):
            zip_file.writestr(zipfile.ZipInfo(f"{n}.jpg"), b"")
    assert ranges.read_directory(_Whole(path))[0].height == 65_600


def test_no_zip_at_all(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"<html>" * 2000)
    with pytest.raises(DataError, match="no whole zip"):
        ranges.read_directory(_Whole(tmp_path / "a.zip"))


def member(n, offset, size=1000):
    return {"id": str(n), "offset": offset, "stored_bytes": size}


def test_runs_join_neighbours_and_never_reach_beyond_the_zip():
    near = [member(1, 0), member(2, 1100), member(3, 500_000), member(4, 990_000, 9_000)]
    runs = ranges.plan_runs(near, 999_500)
    assert [[m["id"] for m in run.members] for run in runs] == [["1", "2"], ["3"], ["4"]]
    assert runs[-1].stop == 999_500
    long = [member(n, n * 1_000_000, 1_000_000) for n in range(20)]
    assert len(ranges.plan_runs(long, 10**9)) == 3
    assert all(
        run.stop - run.start <= ranges.LONGEST_RUN_BYTES + 10_000 for run in ranges.plan_runs(long, 10**9)
    )


def test_an_address_that_keeps_failing_gives_up(fake, tmp_path):
    fake.fault("GET", "cdn/", status=403, times=-1)
    with httpx.Client(timeout=1.0) as client:
        repo = sources.open_repo("osv5m/osv5m", "main", QUICK)
        remote = ranges.RemoteZip(repo, "images/train/00.zip", client)
        with pytest.raises(DataError, match="HTTP 403"):
            remote.read(0, 10)
