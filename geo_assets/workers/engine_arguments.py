"""What TRL is told to start vLLM inside the trainer's process. It imports neither TRL nor vLLM."""

from __future__ import annotations

from typing import Any

from geo_assets.settings import Settings


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
