"""The GPU as the driver's library sees it: 20 ms, no CUDA context, no torch."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from typing import Any

from geo_assets.doctor.finding import Finding
from geo_assets.settings import Settings

# torch 2.13 is built for CUDA 13, which needs this driver; bfloat16 and flash attention need Ampere or newer.
LEAST_DRIVER = 580
LEAST_CAPABILITY = (8, 0)


def examine(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Driver, memory, capability and number of GPUs against what the profile needs."""
    need_gib = settings.runtime.gpu_memory_gib
    try:
        nvml = importlib.import_module("pynvml")
        nvml.nvmlInit()
    except ImportError:
        yield _absent(need_gib, "nvidia-ml-py is not installed", "pip install 'geo_assets[pod]'")
        return
    except (
        Exception
    ) as error:  # the library has its own exception class, which is absent where the import fails
        remedy = "rent a GPU; GEO_PROFILE=demo runs without one"
        yield _absent(need_gib, f"no NVIDIA GPU ({error})", remedy)
        return
    try:
        yield from _driver(nvml, need_gib)
        count = nvml.nvmlDeviceGetCount()
        for index in range(count):
            yield _device(nvml, index, need_gib)
        if count > 1 and "CUDA_VISIBLE_DEVICES" not in environment:
            yield Finding(
                "warn", f"{count} GPUs, and training uses one", "rent one GPU, or set CUDA_VISIBLE_DEVICES=0"
            )
    finally:
        nvml.nvmlShutdown()
    if (
        need_gib
        and settings.train.attention == "flash_attention_2"
        and not importlib.util.find_spec("flash_attn")
    ):
        yield Finding("ok", "flash-attn is not installed: attention falls back to sdpa")


def _absent(need_gib: float, what: str, remedy: str) -> Finding:
    return (
        Finding("fail", f"{what}; this profile needs {need_gib:g} GiB", remedy)
        if need_gib
        else Finding("ok", f"{what}; none is needed")
    )


def _driver(nvml: Any, need_gib: float) -> Iterator[Finding]:
    driver, cuda = nvml.nvmlSystemGetDriverVersion(), nvml.nvmlSystemGetCudaDriverVersion()
    what = f"driver {driver} (CUDA {cuda // 1000}.{cuda % 1000 // 10})"
    if need_gib and int(driver.split(".")[0]) < LEAST_DRIVER:
        yield Finding(
            "fail",
            what,
            f"torch for CUDA 13 needs driver {LEAST_DRIVER} or newer; choose a newer image or host",
        )
    else:
        yield Finding("ok", what)


def _device(nvml: Any, index: int, need_gib: float) -> Finding:
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    capability = tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle))
    total, free = memory.total / 2**30, memory.free / 2**30
    what = (
        f"GPU {index} {nvml.nvmlDeviceGetName(handle)}: {free:.0f} of {total:.0f} GiB free, "
        f"compute capability {capability[0]}.{capability[1]}"
    )
    if need_gib and capability < LEAST_CAPABILITY:
        return Finding(
            "fail",
            what,
            "bfloat16 and flash attention need capability 8.0 (A100, L40S, H100); rent another GPU",
        )
    if total < need_gib:
        return Finding(
            "fail",
            what,
            f"this profile is laid out for {need_gib:g} GiB; rent a larger GPU or use GEO_PROFILE=pod-2b",
        )
    if free < 0.95 * need_gib:
        return Finding("fail", what, f"in use by {_users(nvml, handle)}; end that process")
    return Finding("ok", what)


def _users(nvml: Any, handle: Any) -> str:
    pids = [process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]
    return "process " + ", ".join(map(str, pids)) if pids else "a process outside this container"
