"""The demo profile end to end, as a newcomer runs it. Takes about as long as the demo itself.

Set GEO_TEST_DEMO to an artifact home that already holds a demo run to skip the first materialization.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from geo_assets.graph import GRAPH
from geo_assets.task.intervals import paired
from geo_assets.task.predictions import Prediction
from geo_assets.workers.checkpoint_files import MARKER
from geo_assets_tests.dagster_cli import Finished, Project

pytestmark = [pytest.mark.slow, pytest.mark.graph, pytest.mark.timeout(3600)]

AFTER_TRAINING = {"lora_checkpoints", "checkpoint_metrics", "rl_metrics", "report", "merged_model"}
SHORT = {"GEO_TRAIN__MAX_STEPS": "6", "GEO_TRAIN__SAVE_STEPS": "2", "GEO_TRAIN__LR_SCHEDULER": "linear"}
VALUE: dict[str, Callable[[Prediction], float]] = {
    "country_acc": lambda p: float(p.country_iso2 == p.true_country_iso2),
    "mean_geoscore": lambda p: p.geoscore,
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A home with the whole graph of the demo profile."""
    ready = os.environ.get("GEO_TEST_DEMO")
    project = Project(tmp_path_factory.mktemp("demo"), Path(ready) if ready else None)
    finished = project.materialize("*")
    assert finished.code == 0, finished.output[-8000:]
    return project


@pytest.fixture(scope="module")
def short_run(demo: Project) -> Finished:
    """The same home after training six steps instead."""
    return demo.materialize("*", **SHORT)


def predictions(folder: Path) -> list[Prediction]:
    lines = (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    return [Prediction.from_json(line) for line in lines]


def test_every_asset_is_there_and_small(demo: Project) -> None:
    assert {asset for asset in GRAPH if demo.manifests(asset)} == set(GRAPH)
    assert list(demo.leftovers()) == []
    peaks = {a: m["metadata"].get("peak_memory_gib", 0) for a in GRAPH for m in demo.manifests(a)}
    assert max(peaks.values()) < 6, peaks


@pytest.mark.parametrize("decoding", ["greedy", "sampled"])
@pytest.mark.parametrize("metric", ["country_acc", "mean_geoscore"])
def test_training_gains_on_scenes_used_for_nothing_else(demo: Project, decoding: str, metric: str) -> None:
    start = predictions(demo.latest("base_metrics") / "start" / "eval_osv" / decoding)
    policy = predictions(demo.latest("rl_metrics") / "policy" / "eval_osv" / decoding)
    chose = {p.id for p in predictions(demo.latest("rl_metrics") / "policy" / "eval_quick" / decoding)}
    fresh = [[VALUE[metric](p) for p in side if p.id not in chose] for side in (start, policy)]
    assert len(fresh[0]) >= 300
    found = paired(*fresh)
    assert found["difference"] > 0
    assert found["excludes_zero"], found


def test_the_report_says_so_and_says_what_the_demo_is(demo: Project) -> None:
    report = (demo.latest("report") / "report.md").read_text(encoding="utf-8")
    assert "Training improved the model" in report
    for word in ("drawn", "look-alike", "greedy", "sampled"):
        assert word in report
    html = (demo.latest("report") / "report.html").read_text(encoding="utf-8")
    assert "http://" not in html.replace("http://www.w3.org/", "")


def test_again_reuses_everything(demo: Project) -> None:
    before = {asset: [m["created"] for m in demo.manifests(asset)] for asset in GRAPH}
    finished = demo.materialize("*")
    assert finished.code == 0, finished.output[-8000:]
    assert finished.of("reused") == set(GRAPH)
    assert {asset: [m["created"] for m in demo.manifests(asset)] for asset in GRAPH} == before


def test_other_max_steps_rebuild_training_and_what_follows(short_run: Finished) -> None:
    assert short_run.code == 0, short_run.output[-8000:]
    assert short_run.of("built") == AFTER_TRAINING
    assert short_run.of("reused") == set(GRAPH) - AFTER_TRAINING


def test_a_cap_that_changes_no_learnable_row_reuses_training(demo: Project) -> None:
    finished = demo.materialize("train_pool,warm_start,train_learnable,smoke_test,lora_checkpoints",
                                GEO_TRAIN_POOL__CAP_PER_COUNTRY="100000")  # fmt: skip
    assert finished.code == 0, finished.output[-8000:]
    assert finished.of("built") == {"train_pool"}
    assert "lora_checkpoints" in finished.of("reused")


def test_a_killed_training_run_ends_like_one_that_never_was(
    demo: Project, short_run: Finished, tmp_path: Path
) -> None:
    assert short_run.code == 0
    whole = demo.latest("lora_checkpoints")
    other = Project(tmp_path)
    for asset in set(GRAPH) - AFTER_TRAINING:
        shutil.copytree(demo.artifacts / asset, other.artifacts / asset, symlinks=True, copy_function=os.link)
    run = other.start("lora_checkpoints", **SHORT)
    _kill_worker_after(other, "checkpoint-2")
    run.communicate()
    run = other.start("lora_checkpoints", **SHORT)
    _wait_for(other, "checkpoint-4")
    os.killpg(run.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
    run.communicate()
    assert _workers(other) == []
    resumed = other.materialize("lora_checkpoints", **SHORT)
    assert resumed.code == 0, resumed.output[-8000:]
    again = other.latest("lora_checkpoints")
    assert losses(again) == losses(whole)
    last = "checkpoint-6/adapter_model.safetensors"
    assert (again / last).read_bytes() == (whole / last).read_bytes()


def losses(folder: Path) -> list[float]:
    records = map(json.loads, (folder / "log_history.jsonl").read_text(encoding="utf-8").splitlines())
    return [record["loss"] for record in records if "loss" in record]


def _kill_worker_after(project: Project, checkpoint: str) -> None:
    """SIGKILL the training worker, twice (it is tried again once), when `checkpoint` is whole."""
    killed: set[int] = set()
    _wait_for(project, checkpoint)
    end = time.monotonic() + 600
    while len(killed) < 2:
        assert time.monotonic() < end, "no worker to kill"
        for process in _workers(project):
            if process.pid not in killed:
                process.kill()
                killed.add(process.pid)
        time.sleep(0.05)


def _wait_for(project: Project, checkpoint: str) -> None:
    end = time.monotonic() + 600
    while not list(project.artifacts.glob(f"lora_checkpoints/*.partial/{checkpoint}/{MARKER}")):
        assert time.monotonic() < end, f"{checkpoint} did not appear"
        time.sleep(0.02)


def _workers(project: Project) -> list[psutil.Process]:
    """The training workers of this project that are alive."""
    found = []
    for process in psutil.process_iter():
        try:
            if (
                "geo_assets.workers.train" in process.cmdline()
                and process.environ().get("GEO_HOME") == str(project.artifacts)
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
        except psutil.Error:  # it ended meanwhile, or is not ours to look at
            continue
    return found
