"""How a vLLM engine is started, alone and inside the trainer: variables, options, adapters, remedies.

The engine computes in the dtype that the weights were saved in and resizes photos to the profile's sizes.
vLLM is imported inside `import_vllm` only, after the variables that it reads at import.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from geo_assets.errors import ModelError
from geo_assets.models import saved
from geo_assets.models.loading import PIXELS_PER_CELL, device_of
from geo_assets.settings import Runtime, Task

MOST_PHOTOS = 3
"""Photos in one prompt: the views of a panorama."""
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM has room for; an adapter takes the next one up."""
SUPPRESSED = -100.0
"""Added to the logit of the image placeholder: no answer may hold one."""
GIB_OF_CPU_CACHE = "1"
MOST_OF_A_MESSAGE = 240


def import_vllm(runtime: Runtime) -> Any:
    """vLLM's LLM class, after setting the variables that it reads once.

    Raises:
        ModelError: vLLM is not installed.
    """
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_WORKER_MULTIPROCESSING_METHOD", "spawn")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    # The runner that a CPU has too, so that what is tested without a GPU is what runs on one.
    os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")
    if device_of(runtime) == "cpu":
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", GIB_OF_CPU_CACHE)
    try:
        from vllm import LLM
    except ImportError as error:
        raise ModelError(
            f"runtime.backend is vllm, which cannot be imported ({error}); install requirements.lock on a "
            "GPU machine, run runbook/cpu_twin.sh elsewhere, or set runtime.backend: transformers"
        ) from error
    return LLM


def engine_options(runtime: Runtime, task: Task, model_dir: Path, memory_share: float) -> dict[str, Any]:
    """What an engine is told beside its model: dtype as saved, photo sizes, lengths, caps on photos."""
    cpu = device_of(runtime) == "cpu"
    return {
        "dtype": saved.dtype(model_dir),
        "max_model_len": runtime.vllm_max_model_length,
        "max_num_seqs": runtime.eval_batch_size,
        "limit_mm_per_prompt": {"image": MOST_PHOTOS, "video": 0},
        "mm_processor_kwargs": {"size": pixel_budget(task)},
        "enforce_eager": cpu,
        "seed": 0,
    }


def pixel_budget(task: Task) -> dict[str, int]:
    """The image processor's `size`: least and most pixels of a photo."""
    return {
        "shortest_edge": task.min_cells * PIXELS_PER_CELL,
        "longest_edge": task.max_cells * PIXELS_PER_CELL,
    }


def adapter_rank(adapter_dir: Path) -> int:
    """Rank of a saved adapter, after making sure that vLLM can use all of it.

    Raises:
        ModelError: there is no adapter, or it reaches into the vision tower (vLLM would drop that part).
    """
    from safetensors import safe_open

    try:
        rank = int(json.loads((adapter_dir / "adapter_config.json").read_text(encoding="utf-8"))["r"])
        with safe_open(adapter_dir / "adapter_model.safetensors", "pt") as file:
            visual = [name for name in file.keys() if "visual" in name]  # noqa: SIM118 - no mapping
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"no adapter in {adapter_dir} ({error}); rebuild lora_checkpoints") from error
    if visual:
        raise ModelError(
            f"the adapter in {adapter_dir} has {len(visual)} tensors in the vision tower, which vLLM drops "
            "without a word; set train.lora.exclude: '.*visual.*' and train again"
        )
    return rank


def room_for(rank: int) -> int:
    """The smallest rank that vLLM has room for and that holds `rank`.

    >>> room_for(4), room_for(32), room_for(33)
    (8, 32, 64)
    """
    return next(room for room in LORA_RANKS if room >= rank)


class remedies:  # reads as a statement: `with remedies():`
    """Turns what vLLM says when it cannot start into one line with the remedy."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or not isinstance(error, Exception):
            return
        text = " ".join(str(error).split())[:MOST_OF_A_MESSAGE]
        raise ModelError(
            f"vLLM cannot start ({type(error).__name__}: {text}); read its lines above. If the "
            "GPU's memory is short, lower runtime.vllm_eval_memory_share (evaluation) or set "
            "runtime.vllm_memory_share: 0.25 (training)"
        ) from error
