"""Text generation behind one interface: `make(...)` gives a backend, `generate(requests)` answers."""

from __future__ import annotations

from pathlib import Path

from geo_assets.backends.base import Backend, Completion, Request, Sampling
from geo_assets.settings import Runtime, Task

__all__ = ["Backend", "Completion", "Request", "Sampling", "make"]


def make(runtime: Runtime, task: Task, model_dir: Path, adapter_dir: Path | None = None) -> Backend:
    """The backend that `runtime.backend` names, with the model of `model_dir` and an optional adapter.

    Raises:
        ModelError: the backend is not installed, or model and adapter do not fit.
    """
    if runtime.backend == "transformers":
        from geo_assets.backends.transformers import TransformersBackend

        return TransformersBackend.load(runtime, task, model_dir, adapter_dir)
    if runtime.backend == "vllm":
        from geo_assets.backends.vllm import VllmBackend

        return VllmBackend(runtime, task, model_dir, adapter_dir)
    from geo_assets.backends.unsloth import load_for_inference

    return load_for_inference(runtime, task, model_dir, adapter_dir)
