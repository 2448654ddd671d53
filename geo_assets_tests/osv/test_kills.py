"""SIGKILL at random moments, then again: the result of an undisturbed run."""

import random
import time

import psutil
import pytest

from geo_assets.osv import sets, sources
from geo_assets.settings import Runtime
from geo_assets_tests.fakehub import FakeHub
from geo_assets_tests.osv.jobs import BY_RANGES, POOL, QUICK, start
from geo_assets_tests.osv.mirrors import write_mirror

KILLS = 10


def content(directory):
    return {p.relative_to(directory).as_posix(): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


def kill_at(arguments, progress, enough, moment):
    """SIGKILL a job `moment` seconds after `progress()` grew by `enough`; False if it was done by then."""
    before, job = progress(), start(*arguments)
    while job.poll() is None and progress() < before + enough:
        time.sleep(0.002)
    children = [] if job.poll() is not None else psutil.Process(job.pid).children(recursive=True)
    time.sleep(moment)
    killed = job.poll() is None
    job.kill()
    job.wait()
    _, left = psutil.wait_procs(children, timeout=30)
    assert not left, "worker processes outlive a killed build"
    return killed


@pytest.mark.slow
def test_kills_during_download(tmp_path, monkeypatch):
    write_mirror(tmp_path / "hub/datasets/osv5m/osv5m", train=400)
    rng, out = random.Random(1), tmp_path / "out"
    with FakeHub(tmp_path / "hub", bandwidth=150_000) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        progress = lambda: sum(r.sent for r in server.log)  # noqa: E731
        for _ in range(KILLS):
            assert kill_at(["download", out], progress, 30_000, rng.uniform(0, 0.3))
        sent = progress()
        assert not (out / "files.json").exists()
        server.bandwidth = None
        assert start("download", out).wait() == 0
        assert start("download", tmp_path / "undisturbed").wait() == 0
        assert content(out) == content(tmp_path / "undisturbed")
        size = sum(p.stat().st_size for p in (tmp_path / "hub").rglob("*") if p.is_file())
    assert progress() - sent < 2 * size - 300_000  # the first of the two did not start from nothing


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "kills"), [(1, KILLS), (2, 4)])
def test_kills_during_extraction(tmp_path, workers, kills):
    mirror = write_mirror(tmp_path / "mirror", train=1500, test=40)
    rng, out = random.Random(workers), tmp_path / "out"
    journal = out / "extract.jsonl"
    progress = lambda: journal.stat().st_size if journal.exists() else 0  # noqa: E731
    for _ in range(kills):
        assert kill_at(["pool", mirror, out, workers], progress, 1000, rng.uniform(0, 0.03))
    assert not (out / "train_pool.parquet").exists()
    assert start("pool", mirror, out, workers).wait() == 0
    sets.build_train_pool(mirror, tmp_path / "undisturbed", POOL)
    assert content(out) == content(tmp_path / "undisturbed")


@pytest.mark.slow
def test_kills_during_range_reads(tmp_path, monkeypatch):
    write_mirror(tmp_path / "hub/datasets/osv5m/osv5m", train=1200)
    rng, out = random.Random(3), tmp_path / "out"
    with FakeHub(tmp_path / "hub", bandwidth=100_000) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        server.bandwidth = None
        sources.build_osv_zips(BY_RANGES, tmp_path / "zips", Runtime(), QUICK)
        server.bandwidth = 100_000
        progress = lambda: sum(r.sent for r in server.log)  # noqa: E731
        for _ in range(KILLS):
            assert kill_at(["pool", tmp_path / "zips", out, 1], progress, 50_000, rng.uniform(0, 0.2))
        assert not (out / "train_pool.parquet").exists()
        server.bandwidth = None
        assert start("pool", tmp_path / "zips", out, 1).wait() == 0
        sets.build_train_pool(tmp_path / "zips", tmp_path / "undisturbed", POOL)
    assert content(out) == content(tmp_path / "undisturbed")


def test_a_torn_journal_and_missing_photos_are_done_again(tmp_path, monkeypatch):
    mirror = write_mirror(tmp_path / "mirror", train=40)
    monkeypatch.setattr(sets.Extractor, "finish", lambda self, kept: None)
    sets.build_train_pool(mirror, tmp_path / "pool", POOL)
    undisturbed = {n: d for n, d in content(tmp_path / "pool").items() if n.startswith("images/")}
    journal = tmp_path / "pool/extract.jsonl"
    journal.write_bytes(journal.read_bytes()[:-25])
    for path in list((tmp_path / "pool/images").iterdir())[:7]:
        path.unlink()
    (tmp_path / "pool/images/100000.tmp").write_bytes(b"torn")
    monkeypatch.undo()
    sets.build_train_pool(mirror, tmp_path / "pool", POOL)
    again = content(tmp_path / "pool")
    assert {n: d for n, d in again.items() if n.startswith("images/")} == undisturbed
    assert not journal.exists() and "images/100000.tmp" not in again
