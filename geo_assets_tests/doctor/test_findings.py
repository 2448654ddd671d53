"""Each finding of the doctor, on machines that the tests make up."""

from __future__ import annotations

import http.server
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from types import SimpleNamespace

import pytest

from geo_assets.doctor import gpu, hub, machine, packages, state
from geo_assets.doctor.finding import Finding
from geo_assets.profile import load_profile
from geo_assets.settings import Settings

GIB = 2**30


class NoGpu(Exception):
    """What the driver's library raises."""


def pretend_gpus(
    monkeypatch: pytest.MonkeyPatch, totals_gib: list[float], *, free_gib: float | None = None,
    driver: str = "580.65.06", capability: tuple[int, int] = (9, 0), pids: tuple[int, ...] = (),
) -> None:  # fmt: skip
    def init() -> None:
        if not totals_gib:
            raise NoGpu("Driver Not Loaded")

    fake = SimpleNamespace(
        NVMLError=NoGpu, nvmlInit=init, nvmlShutdown=lambda: None,
        nvmlSystemGetDriverVersion=lambda: driver, nvmlSystemGetCudaDriverVersion=lambda: 13000,
        nvmlDeviceGetCount=lambda: len(totals_gib), nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda index: "NVIDIA H100 80GB HBM3",
        nvmlDeviceGetCudaComputeCapability=lambda index: capability,
        nvmlDeviceGetMemoryInfo=lambda index: SimpleNamespace(
            total=int(totals_gib[index] * GIB), free=int((free_gib or totals_gib[index]) * GIB)
        ),
        nvmlDeviceGetComputeRunningProcesses=lambda index: [SimpleNamespace(pid=pid) for pid in pids],
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "pynvml", fake)


@pytest.fixture
def pod() -> Settings:
    return load_profile("pod", {})


def faults(found: Iterator[Finding] | list[Finding]) -> list[Finding]:
    return [finding for finding in found if finding.level != "ok"]


def test_a_right_gpu_has_no_fault(monkeypatch: pytest.MonkeyPatch, pod: Settings) -> None:
    pretend_gpus(monkeypatch, [79.6])
    assert faults(gpu.examine(pod, {})) == []


@pytest.mark.parametrize(
    ("machine_", "level", "words"),
    [
        ({"totals_gib": []}, "fail", "no NVIDIA GPU (Driver Not Loaded); this profile needs 79 GiB"),
        ({"totals_gib": [44.5]}, "fail", "GEO_PROFILE=pod-2b"),
        ({"totals_gib": [79.6], "free_gib": 20.0, "pids": (4242,)}, "fail", "in use by process 4242"),
        ({"totals_gib": [79.6], "driver": "550.54"}, "fail", "needs driver 580"),
        ({"totals_gib": [79.6], "capability": (7, 5)}, "fail", "capability 8.0"),
        ({"totals_gib": [79.6, 79.6]}, "warn", "CUDA_VISIBLE_DEVICES=0"),
    ],
)
def test_a_wrong_gpu_is_told(
    monkeypatch: pytest.MonkeyPatch, pod: Settings, machine_: dict, level: str, words: str
) -> None:
    pretend_gpus(monkeypatch, **machine_)
    found = faults(gpu.examine(pod, {}))
    assert [finding.level for finding in found] == [level]
    assert words in str(found[0])


def test_two_gpus_are_fine_once_one_is_chosen(monkeypatch: pytest.MonkeyPatch, pod: Settings) -> None:
    pretend_gpus(monkeypatch, [79.6, 79.6])
    assert faults(gpu.examine(pod, {"CUDA_VISIBLE_DEVICES": "0"})) == []


def test_the_demo_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_gpus(monkeypatch, [])
    assert faults(gpu.examine(load_profile("demo", {}), {})) == []


class Answers(http.server.BaseHTTPRequestHandler):
    """A Hub that answers every HEAD with `status` and a clock that is `skew` seconds off."""

    status, skew = 200, 0.0

    def do_HEAD(self) -> None:
        self.send_response_only(self.status)
        self.send_header("Date", formatdate(time.time() + self.skew, usegmt=True))
        self.send_header("X-Repo-Commit", "0123456789abcdef")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def hub_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Answers, "status", 200)
    monkeypatch.setattr(Answers, "skew", 0.0)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_the_hub_answers_for_each_repository(pod: Settings, hub_at: str) -> None:
    found = list(hub.examine(pod, {"HF_ENDPOINT": hub_at}))
    assert faults(found) == []
    assert [repo for _, repo, _, _ in hub.repositories(pod) if any(repo in f.what for f in found)] == [
        "osv5m/osv5m",
        "stochastic/random_streetview_images_pano_v0.0.2",
        "Qwen/Qwen3-VL-4B-Instruct",
    ]
    assert "at 01234567" in found[0].what


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "HF_TOKEN"), (404, "revision in the profile"), (429, "wait five minutes"), (503, "try again")],
)
def test_what_the_hub_refuses_is_told(
    monkeypatch: pytest.MonkeyPatch, pod: Settings, hub_at: str, status: int, remedy: str
) -> None:
    monkeypatch.setattr(Answers, "status", status)
    found = faults(hub.examine(pod, {"HF_ENDPOINT": hub_at}))
    assert len(found) == 3
    assert all(finding.level == "fail" and remedy in finding.remedy for finding in found)


def test_a_clock_that_is_off_is_told(monkeypatch: pytest.MonkeyPatch, pod: Settings, hub_at: str) -> None:
    monkeypatch.setattr(Answers, "skew", -900.0)
    found = faults(hub.examine(pod, {"HF_ENDPOINT": hub_at}))
    assert {finding.level for finding in found} == {"warn"}
    assert re.search(r"\+90\d s off", found[0].what)


def test_no_hub_at_all(pod: Settings) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
        found = faults(hub.examine(pod, {"HF_ENDPOINT": endpoint}))
    assert found and all("source: local" in finding.remedy for finding in found)


@pytest.mark.parametrize("name", hub.OFFLINE_VARIABLES)
def test_offline_variables_are_named(pod: Settings, name: str) -> None:
    found = faults(hub.examine(pod, {name: "1"}))
    assert [finding.level for finding in found] == ["warn"]
    assert f"unset {name}" in found[0].remedy


def test_a_taken_port_names_who_holds_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        found = machine.port(number, "the Dagster page")
    assert found.level == "warn"
    assert f"port {number}" in found.what
    assert machine.port(number, "the Dagster page").level == "ok"


def test_disk(tmp_path: Path) -> None:
    assert machine.disk(tmp_path / "not" / "yet", 0.001, "GEO_HOME").level == "ok"
    full = machine.disk(tmp_path, 10**9, "GEO_HOME")
    assert full.level == "fail" and "larger volume" in full.remedy


def test_versions_are_read_from_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = packages.installed_version
    monkeypatch.setattr(
        packages, "installed_version", lambda name: "5.30.0" if name == "transformers" else real(name)
    )
    found = faults(packages.installed(load_profile("demo", {})))
    assert any("transformers 5.30.0 is outside" in finding.what for finding in found)
    monkeypatch.setattr(packages, "installed_version", lambda name: None if name == "trl" else real(name))
    assert any(f.what == "trl is not installed" for f in packages.installed(load_profile("demo", {})))


def test_vllm_and_torch_that_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    requires = {"vllm": ["torch==2.13.0", "transformers>=5.10.4,<5.18"], "trl": [], "torchvision": []}
    versions = {
        "vllm": "0.31.0",
        "torch": "2.14.1",
        "transformers": "5.17.0",
        "trl": "1.16.0",
        "wandb": "0.31.0",
    }
    monkeypatch.setattr(packages.metadata, "requires", lambda name: requires.get(name, []))
    monkeypatch.setattr(packages, "_version", versions.get)
    found = faults(packages.fits())
    assert [finding.what for finding in found] == [
        "vllm 0.31.0 wants torch==2.13.0, but 2.14.1 is installed",
        "wandb 0.31.0 breaks dagster-wandb",
    ]


def test_dagster_home(tmp_path: Path) -> None:
    assert faults(state.dagster_home({})) == []
    assert faults(state.dagster_home({"DAGSTER_HOME": "relative"}))[0].level == "fail"
    assert faults(state.dagster_home({"DAGSTER_HOME": str(tmp_path)}))[0].level == "warn"
    (own := tmp_path / "dagster.yaml").write_text("storage:\n  sqlite:\n    base_dir: .dagster/storage\n")
    assert "of the folder you start in" in faults(state.dagster_home({"DAGSTER_HOME": str(tmp_path)}))[0].what
    own.write_text(f"storage:\n  sqlite:\n    base_dir: {tmp_path}/storage\n")
    assert faults(state.dagster_home({"DAGSTER_HOME": str(tmp_path)})) == []


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ({"GEO_TRAIN__TOP_P": "0.95"}, "train.top_p: 1.0"),
        ({"GEO_LEARNABLE__TEMPERATURE": "0.7"}, "as in train"),
        ({"GEO_TASK__MAX_CELLS": "256"}, "at least 512"),
        ({"GEO_RUNTIME__VLLM_MAX_MODEL_LENGTH": "1024"}, "photo + prompt + answer"),
        ({"GEO_TRAIN__GENERATION_BATCH_SIZE": "60"}, "set 64 and 8"),
    ],
)
def test_contradictions_in_the_profile(override: dict[str, str], words: str) -> None:
    assert faults(state.profile(load_profile("pod", {}))) == []
    assert any(words in finding.remedy for finding in faults(state.profile(load_profile("pod", override))))
