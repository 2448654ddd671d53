"""Rollouts with vLLM inside the trainer: their settings, and what must hold. Imports neither TRL nor vLLM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geo_assets.errors import TrainingError
from geo_assets.settings import Settings


def uses_vllm(settings: Settings) -> bool:
    """Whether vLLM, inside the trainer's process, generates during training."""
    engine = settings.train.rollout_engine
    return (settings.runtime.backend if engine == "auto" else engine) == "vllm"


def engine_arguments(settings: Settings) -> dict[str, Any]:
    """Arguments of TRL's GRPOConfig. Sleep mode stays off: it discards the engine's weights."""
    runtime = settings.runtime
    return {
        "use_vllm": True,
        "vllm_mode": "colocate",
        "vllm_gpu_memory_utilization": runtime.vllm_memory_share,
        "vllm_max_model_length": runtime.vllm_max_model_length,
        "vllm_importance_sampling_correction": True,
        "vllm_enable_sleep_mode": False,
    }


def refuse_biased_sampling(settings: Settings) -> None:
    """The engine's probabilities must be those of the trainer's softmax at the same temperature.

    Raises:
        TrainingError: the profile cuts the distribution, or drops out adapter weights.
    """
    train = settings.train
    if train.top_p < 1.0:
        raise TrainingError(
            f"train.top_p is {train.top_p:g}: the engine renormalises what it keeps, the trainer does not, "
            "and the importance ratio is biased; set train.top_p: 1.0"
        )
    if train.lora.dropout > 0:
        raise TrainingError(
            f"train.lora.dropout is {train.lora.dropout:g}: the trainer scores with dropout, the engine "
            "without; set train.lora.dropout: 0.0"
        )


def collapse_placeholders(ids: Sequence[int], image_token: int) -> list[int]:
    """`ids` with each run of image placeholders shortened to one.

    >>> collapse_placeholders([1, 9, 9, 9, 2, 9, 9], image_token=9)
    [1, 9, 2, 9]
    """
    return [
        token
        for index, token in enumerate(ids)
        if token != image_token or index == 0 or ids[index - 1] != token
    ]
