"""Text generation behind one interface: `make(...)` gives a backend, `generate(requests)` answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from geo_assets.backends.base import Backend, Completion, Request, Sampling
from geo_assets.settings import Runtime, Task

__all__ = ["Backend", "Completion", "Request", "Sampling", "make", "with_adapters"]


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


def with_adapters(
    runtime: Runtime, task: Task, model_dir: Path, adapter_dirs: Sequence[Path]
) -> Iterator[tuple[Path, Backend]]:
    """Each adapter with a backend that answers with it, valid until the next one is asked for.

    The adapters belong to one training run, so they have one shape. A single vLLM engine serves all of them,
    because starting one takes a minute or more on a large model.

    Raises:
        ModelError: as `make` does.
    """
    if runtime.backend == "vllm" and adapter_dirs:
        from geo_assets.backends.vllm import VllmBackend

        with closing(VllmBackend(runtime, task, model_dir, adapter_dirs[0])) as engine:
            for adapter_dir in adapter_dirs:
                engine.use_adapter(adapter_dir)
                yield adapter_dir, engine
        return
    for adapter_dir in adapter_dirs:
        with closing(make(runtime, task, model_dir, adapter_dir)) as backend:
            yield adapter_dir, backend
