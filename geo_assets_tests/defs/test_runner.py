"""The runner: what a worker says reaches the run, and no process outlives it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

RUN = Path(__file__).with_name("acting_run.py")
pytestmark = pytest.mark.slow


def start(folder: Path, act: str) -> subprocess.Popen[bytes]:
    (folder / "act.txt").write_text(act)
    environment = {**os.environ, "PYTHONPATH": str(RUN.parents[2])}
    return subprocess.Popen(
        [sys.executable, str(RUN), str(folder)],
        env=environment,
        start_new_session=True,
        stderr=(folder / "stderr.txt").open("wb"),
    )


def finished(folder: Path, act: str) -> tuple[dict[str, Any], str]:
    start(folder, act).wait(120)
    events = json.loads((folder / "events.json").read_text())
    return json.loads((folder / "result.json").read_text()), "\n".join(message for _, message in events)


def wait_for(path: Path, lines: int = 0) -> list[int]:
    for _ in range(600):
        if path.exists() and len(path.read_text().splitlines()) >= lines:
            return [int(line) for line in path.read_text().split()]
        time.sleep(0.1)
    raise TimeoutError(f"{path} did not appear")


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def all_gone(pids: list[int], within_seconds: float = 20) -> bool:
    end = time.monotonic() + within_seconds
    while any(map(alive, pids)):
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def test_metadata_and_log_lines_reach_the_run(tmp_path: Path) -> None:
    result, log = finished(tmp_path, "work")
    assert result["success"]
    assert result["metadata"]["rows"] == 3
    assert result["metadata"]["peak_memory_gib"] > 0
    assert "acting: work" in log


def test_progress_becomes_observations_while_the_worker_runs(tmp_path: Path) -> None:
    result, _ = finished(tmp_path, "progress")
    assert result["success"]
    observed = json.loads((tmp_path / "observed.json").read_text())
    # The first is kept, the next two are too close to it, the last always is.
    assert observed == [
        {"step": 1, "reward": 0.1, "seconds_left": 3},
        {"step": 4, "reward": 0.4, "seconds_left": 0},
    ]
    events = json.loads((tmp_path / "events.json").read_text())
    first = next(place for place, (kind, _) in enumerate(events) if kind == "ASSET_OBSERVATION")
    end = next(place for place, (_, message) in enumerate(events) if "about to end" in message)
    assert first < end
    assert sum("of 4" in message for _, message in events) == 4


def test_a_known_fault_is_one_line_and_is_not_tried_again(tmp_path: Path) -> None:
    result, log = finished(tmp_path, "fail")
    assert not result["success"]
    assert "acting: fail" in log
    assert log.count("acting: fail") == 1


def test_a_bug_is_not_tried_again(tmp_path: Path) -> None:
    result, log = finished(tmp_path, "bug")
    assert not result["success"]
    assert log.count("acting: bug") == 1


def test_a_crash_is_tried_again_and_resumes(tmp_path: Path) -> None:
    result, log = finished(tmp_path, "crash once")
    assert result["success"]
    assert result["metadata"]["resumed"]
    assert log.count("acting: crash once") == 2


def test_a_second_crash_fails_the_run(tmp_path: Path) -> None:
    result, log = finished(tmp_path, "crash")
    assert not result["success"]
    assert log.count("acting: crash") == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_step(tmp_path: Path, number: signal.Signals) -> None:
    step = start(tmp_path, "linger")
    pids = wait_for(tmp_path / "out" / "pid.txt", lines=2)
    assert all(map(alive, pids))
    step.send_signal(number)
    assert all_gone(pids), f"alive after {number.name}: {[pid for pid in pids if alive(pid)]}"
    step.wait(60)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_worker_has_time_to_save(tmp_path: Path, number: signal.Signals) -> None:
    step = start(tmp_path, "save")
    wait_for(tmp_path / "out" / "ready.txt")
    pids = wait_for(tmp_path / "out" / "pid.txt", lines=1)
    step.send_signal(number)
    assert all_gone(pids)
    step.wait(60)
    assert (tmp_path / "out" / "saved.txt").read_text() == "checkpoint"
