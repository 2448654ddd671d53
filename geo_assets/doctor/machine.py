"""Python, CPUs, memory, disks and ports. Sizes are in GiB and respect the limits of a container."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import psutil
from packaging.specifiers import SpecifierSet

from geo_assets.budget import disk_gib
from geo_assets.doctor.finding import Finding
from geo_assets.settings import Settings

PORTS = {3000: "the Dagster page", 7860: "the demo page"}
FEW_INODES = 100_000
MEMORY_GIB_OF_A_GPU_RUN = 22.0
MEMORY_GIB = 6.0


def python() -> Finding:
    wanted = metadata.metadata("geo_assets")["Requires-Python"] or ">=3.11"
    here = platform.python_version()
    if here in SpecifierSet(wanted):
        return Finding("ok", f"Python {here} on {platform.platform()}, {sys.prefix}")
    return Finding(
        "fail", f"Python {here}", f"geo_assets runs on {wanted}; make the environment with Python 3.11"
    )


def size(settings: Settings) -> Finding:
    """CPUs and memory against what the profile needs."""
    cpus, memory = cpu_count(), memory_gib()
    need = MEMORY_GIB_OF_A_GPU_RUN if settings.runtime.gpu_memory_gib else MEMORY_GIB
    what = f"{cpus:g} CPUs, {memory:.0f} GiB of memory ({need:g} needed)"
    if memory < need:
        return Finding(
            "warn",
            what,
            "a worker may be killed for memory; rent a machine with more or lower runtime.workers",
        )
    return Finding("ok", what)


def cpu_count() -> float:
    """CPUs that this process may use."""
    cpus = (
        float(len(os.sched_getaffinity(0)))
        if hasattr(os, "sched_getaffinity")
        else float(os.cpu_count() or 1)
    )
    quota = _read("/sys/fs/cgroup/cpu.max").split()
    if len(quota) == 2 and quota[0] != "max":
        cpus = min(cpus, int(quota[0]) / int(quota[1]))
    return cpus


def memory_gib() -> float:
    total = psutil.virtual_memory().total
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        if (text := _read(limit)).isdigit():
            total = min(total, int(text))
    return total / 2**30


def disks(settings: Settings, environment: Mapping[str, str], home: Path) -> Iterator[Finding]:
    """Room for artifacts (GEO_HOME) and for the Hub's cache (HF_HOME)."""
    needs = disk_gib(settings)
    yield disk(home, needs["artifacts"], "GEO_HOME")
    if needs["hub_cache"]:
        cache = Path(environment.get("HF_HOME") or "~/.cache/huggingface").expanduser()
        yield disk(cache, needs["hub_cache"], "HF_HOME")


def disk(path: Path, need_gib: float, variable: str) -> Finding:
    """Whether `path`, or the nearest folder above it that exists, is writable and has `need_gib` free."""
    while not path.exists():
        path = path.parent
    free = shutil.disk_usage(path).free / 2**30
    try:
        with tempfile.NamedTemporaryFile(dir=path):
            pass
    except OSError as error:
        return Finding(
            "fail", f"{path} is not writable: {error.strerror}", f"set {variable} to a folder you can write"
        )
    what = f"{variable} on {path}: {free:.0f} GiB free, about {need_gib:.0f} needed"
    if free < need_gib:
        return Finding("fail", what, f"set {variable} to a folder on a larger volume")
    inodes = os.statvfs(path)
    if inodes.f_files and inodes.f_favail < FEW_INODES:
        return Finding(
            "warn", f"{what}, but only {inodes.f_favail} files more", f"set {variable} to another volume"
        )
    return Finding("ok", what)


def ports() -> Iterator[Finding]:
    for number, purpose in PORTS.items():
        yield port(number, purpose)


def port(number: int, purpose: str) -> Finding:
    """Whether a port on loopback is free. `dagster dev` runs on without a page where it is not."""
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # a connection just closed is no reason to complain
        try:
            probe.bind(("127.0.0.1", number))
        except OSError:
            return Finding(
                "warn",
                f"port {number} ({purpose}) is taken by {_listener(number)}",
                "end it, or pass -p with another port",
            )
    return Finding("ok", f"port {number} is free ({purpose})")


def _listener(number: int) -> str:
    try:
        for connection in psutil.net_connections("tcp"):
            local = connection.laddr
            if connection.status == psutil.CONN_LISTEN and local and local[1] == number and connection.pid:
                return f"{psutil.Process(connection.pid).name()}, process {connection.pid}"
    except psutil.Error:
        pass  # other users' sockets are hidden without privileges; the port is taken all the same
    return "another process"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""
