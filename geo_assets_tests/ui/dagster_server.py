"""`dagster dev` for a test: a port of its own, a process group of its own, and the whole group ended."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import psutil

from geo_assets_tests.dagster_cli import REPOSITORY, Project

START_SECONDS = 180


@contextlib.contextmanager
def dagster_dev(project: Project, **overrides: str) -> Iterator[str]:
    """Serve the definitions of the repository; yields the page's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (project.dagster_home / "dev.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", "dagster", "dev", "-h", "127.0.0.1", "-p", str(port)],
        cwd=REPOSITORY,
        env={**project.environment(overrides), "DAGSTER_DISABLE_TELEMETRY": "yes"},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        # A shell's `&` leaves SIGINT ignored, and Dagster then ignores SIGTERM as well.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process)
        yield address
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        log.close()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"dagster dev ended with {process.returncode}")
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address + "/server_info", timeout=2).close()
            return
        time.sleep(0.3)
    raise TimeoutError(f"no page at {address} in {START_SECONDS} s")


def graphql(address: str, query: str) -> Any:
    request = urllib.request.Request(
        address + "/graphql", json.dumps({"query": query}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        found = json.load(answer)
    assert "errors" not in found, found
    return found["data"]


def runs(address: str) -> dict[str, str]:
    """Run id to state."""
    data = graphql(address, "{runsOrError(limit:50){... on Runs{results{id status}}}}")
    return {run["id"]: run["status"] for run in data["runsOrError"]["results"]}


def new_run(address: str, before: set[str], seconds: float = 60) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if new := set(runs(address)) - before:
            return new.pop()
        time.sleep(0.3)
    raise TimeoutError("no run was launched")


def finished(address: str, run: str, seconds: float = 300) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = runs(address)[run]
        if state in {"SUCCESS", "FAILURE", "CANCELED"}:
            return state
        time.sleep(0.5)
    raise TimeoutError(f"run {run} did not end")


def processes_of(project: Project) -> set[int]:
    """Every process whose environment names the project's home for artifacts."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("GEO_HOME") == str(project.artifacts):
                found.add(process.pid)
    return found


def resource_trackers(parents: set[int]) -> set[int]:
    """Processes that Python's multiprocessing starts beside a server and keeps."""
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.ppid() in parents and "resource_tracker" in " ".join(process.cmdline()):
                found.add(process.pid)
    return found


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("it did not come to hold")
        time.sleep(0.2)
