"""What the smoke test measures in its few GRPO steps, and when it says no.

`smoke.json` holds what the same inputs always give; times and memory are in `timings.json`.
"""

from __future__ import annotations

import logging
import math
from typing import Any

from geo_assets.errors import TrainingError
from geo_assets.models.loading import adapter_names
from geo_assets.workers import scoring
from geo_assets.workers.callbacks import FORMAT_KEY
from geo_assets.workers.harness import Job, peak_memory_gib

logger = logging.getLogger(__name__)

# Mean |log-probability difference| between rollout and trainer, in nats; healthy runs stay far below.
GAP_LIMITS = {"float32": 1e-3, "bfloat16": 3e-2}
FIRST_TIMED_STEP = 5
SLOW_SECONDS_PER_STEP = 40.0


def audit(trainer: Any, rows: int) -> dict[str, float]:
    """Compare log-probabilities of one rollout before the first step."""
    return trainer.logprob_gap(
        [trainer.train_dataset[index] for index in range(min(rows, len(trainer.train_dataset)))]
    )


def recommended_max_steps(budget_hours: float, seconds_per_step: float) -> int:
    """How many steps fit the budget.

    >>> recommended_max_steps(8, 20)
    1440
    """
    return math.floor(budget_hours * 3600 / seconds_per_step)


def conclude(job: Job, trainer: Any, step_seconds: list[float], gap: dict[str, float]) -> None:
    """Write the figures and refuse a run that would fail.

    Raises:
        TrainingError: answers lose their form, or rollout and trainer disagree.
    """
    smoke, train = job.settings.smoke, job.settings.train
    history = [record for record in trainer.state.log_history if "reward" in record]
    late = [record for record in history if record["step"] > smoke.format_after_step] or history[-1:]
    format_rate = sum(float(record[FORMAT_KEY]) for record in late) / len(late)
    limit = smoke.max_mean_logprob_gap or GAP_LIMITS[train.dtype]
    modules = adapter_names(trainer.model)
    figures = {
        "steps": len(history),
        "format_rate": round(format_rate, 6),
        "format_after_step": smoke.format_after_step,
        "logprob": {**{name: float(f"{value:.6g}") for name, value in gap.items()}, "limit": limit},
        "lora_modules": len(modules),
        "visual_lora_modules": [name for name in modules if "visual" in name],
        "first_reward": round(float(history[0]["reward"]), 6),
        "last_reward": round(float(history[-1]["reward"]), 6),
    }
    scoring.write_json(job.out / "smoke.json", figures)
    timed = step_seconds[FIRST_TIMED_STEP - 1 : 20] or step_seconds
    seconds_per_step = round(sum(timed) / len(timed), 4)
    hours = job.runtime.budget_hours
    timings = {
        "seconds_per_step": seconds_per_step,
        "recommended_max_steps": recommended_max_steps(hours, seconds_per_step),
        "budget_hours": hours,
        "budget_dollars": round(hours * job.runtime.gpu_dollars_per_hour, 2),
        "peak_memory_gib": round(peak_memory_gib(), 2),
        "peak_gpu_memory_gib": _peak_gpu_memory_gib(),
    }
    scoring.write_json(job.out / "timings.json", timings)
    job.metadata({**figures, **timings})
    if seconds_per_step > SLOW_SECONDS_PER_STEP:
        logger.warning(
            "a step takes %.0f s; task.max_completion_length: 384 and task.max_cells: 768 make it shorter",
            seconds_per_step,
        )
    if format_rate < smoke.min_format_rate:
        for text in list(trainer.recent_completions)[:10]:
            logger.error("raw completion: %r", text)
        raise TrainingError(
            f"only {format_rate:.0%} of the answers after step {smoke.format_after_step} have the right form "
            f"(smoke.min_format_rate is {smoke.min_format_rate:.0%}); read the raw completions above, then "
            "lower train.learning_rate or train.temperature"
        )
    if gap["mean_abs_gap"] > limit:
        raise TrainingError(
            f"rollout and trainer disagree by {gap['mean_abs_gap']:.2g} nats a token (limit {limit:g}); "
            "check that both use the same pixel budget and dtype, with train.top_p: 1.0"
        )


def _peak_gpu_memory_gib() -> float:
    import torch

    return round(torch.cuda.max_memory_allocated() / 2**30, 2) if torch.cuda.is_available() else 0.0
