"""Budget arithmetic: from seconds per step and hours to steps, tokens and dollars. Pure functions."""

from __future__ import annotations

import math

from geo_assets.settings import Settings


def recommended_max_steps(seconds_per_step: float, budget_hours: float) -> int:
    """Steps that fit the budget.

    >>> recommended_max_steps(seconds_per_step=20, budget_hours=8)
    1440
    """
    return math.floor(budget_hours * 3600 / seconds_per_step)


def completions_per_step(settings: Settings) -> int:
    """Completions that one optimizer step learns from."""
    return settings.train.per_device_train_batch_size * settings.train.gradient_accumulation_steps


def plan_budget(settings: Settings, seconds_per_step: float, budget_hours: float) -> str:
    """The budget in lines for a person."""
    steps = recommended_max_steps(seconds_per_step, budget_hours)
    train = settings.train
    hours = train.max_steps * seconds_per_step / 3600
    price = settings.runtime.gpu_dollars_per_hour
    completions = completions_per_step(settings)
    tokens = train.max_steps * completions * settings.task.max_completion_length
    return "\n".join(
        (
            f"budget: {budget_hours:g} h at {seconds_per_step:g} s a step: recommended max_steps = {steps}",
            f"  train.max_steps = {train.max_steps}: {hours:.1f} h, ${hours * price:.2f} at ${price:g} an hour",
            f"  {completions} completions a step ({completions // train.num_generations} prompts), "
            f"at most {tokens:,} completion tokens in all",
        )
    )
