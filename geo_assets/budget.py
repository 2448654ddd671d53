"""Budget arithmetic: from seconds per step and hours to steps, tokens, dollars and disk. Pure functions.

Sizes are in GiB, times in hours or seconds, prices in dollars. Estimates say so; what was measured comes from
smoke_test.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from geo_assets.settings import Settings

GIB_PER_ZIP = 259e9 / 103 / 2**30
"""OSV-5M: 259 GB in 98 train and 5 test zips."""
GIB_OF_CSVS = (2.92e9 + 116e6) / 2**30
GIB_OF_PANORAMAS = 4.0
GIB_OF_SETS = 4.0
"""Chosen photos: about 40,000 of 70 kB, and the evaluation sets."""
GIB_PER_BILLION_PARAMETERS = 2.2e9 / 2**30
"""bfloat16, and a model called "4B" has 4.4 billion parameters."""
GIB_OF_TRAINING = 5.0
"""Adapter and optimizer of four checkpoints, logs and predictions."""
GIB_OF_A_DEMO = 1.5
TOKENS_OF_THE_PROMPT = {"expert": 300, "short": 30}


@dataclass(frozen=True)
class Cost:
    """What a training run takes at a given speed and price."""

    steps: int
    hours: float
    dollars: float
    completions: int
    completion_tokens: int
    """At most: every completion at its limit."""
    prompt_tokens: int
    """At most: every photo at its limit."""


def recommended_max_steps(seconds_per_step: float, budget_hours: float) -> int:
    """Steps that fit the budget.

    >>> recommended_max_steps(seconds_per_step=20, budget_hours=8)
    1440
    """
    return math.floor(budget_hours * 3600 / seconds_per_step)


def completions_per_step(settings: Settings) -> int:
    """Completions that one optimizer step learns from."""
    return settings.train.per_device_train_batch_size * settings.train.gradient_accumulation_steps


def training_cost(settings: Settings, seconds_per_step: float, steps: int | None = None) -> Cost:
    """Cost of `steps` optimizer steps (default: `train.max_steps`)."""
    steps = settings.train.max_steps if steps is None else steps
    hours = steps * seconds_per_step / 3600
    completions = steps * completions_per_step(settings)
    prompt = settings.task.max_cells + TOKENS_OF_THE_PROMPT[settings.task.prompt]
    return Cost(
        steps=steps,
        hours=hours,
        dollars=hours * settings.runtime.gpu_dollars_per_hour,
        completions=completions,
        completion_tokens=completions * settings.task.max_completion_length,
        prompt_tokens=completions * prompt,
    )


def evaluation_completions(settings: Settings) -> Mapping[str, int]:
    """Completions that filtering and evaluation ask for, by asset; every split at its full size."""
    rows = settings.eval_osv.rows + settings.eval_pano.rows
    each = 1 + settings.evaluate.samples
    controls = 2 * settings.eval_quick.rows if settings.evaluate.controls else 0
    checkpoints = min(settings.train.keep_checkpoints, settings.train.max_steps // settings.train.save_steps)
    models = 1 if settings.warm_start.mode == "none" else 2
    return {
        "base_metrics": models * (rows * each + controls),
        "train_learnable": settings.learnable.rows * settings.learnable.completions,
        "checkpoint_metrics": checkpoints * settings.eval_quick.rows,
        "rl_metrics": rows * each + controls,
    }


def plan_budget(settings: Settings, seconds_per_step: float, budget_hours: float) -> str:
    """The budget in lines for a person."""
    steps = recommended_max_steps(seconds_per_step, budget_hours)
    price, group = settings.runtime.gpu_dollars_per_hour, settings.train.num_generations
    per_step = completions_per_step(settings)
    lines = [
        f"budget: {budget_hours:g} h at {seconds_per_step:g} s a step: recommended max_steps = {steps} "
        f"(${budget_hours * price:.2f} at ${price:g} an hour)",
        f"  {per_step} completions a step: {per_step // group} photos, {group} answers each",
    ]
    for label, count in (("train.max_steps", settings.train.max_steps), ("recommended", steps)):
        cost = training_cost(settings, seconds_per_step, count)
        lines.append(
            f"  {label} = {cost.steps}: {cost.hours:.1f} h, ${cost.dollars:.2f}, "
            f"{cost.completions:,} completions, at most {cost.completion_tokens / 1e6:.1f} million tokens "
            f"written and {cost.prompt_tokens / 1e6:.1f} million read"
        )
    asked = evaluation_completions(settings)
    lines.append(
        "  besides training, completions: " + ", ".join(f"{name} {n:,}" for name, n in asked.items())
    )
    return "\n".join(lines)


def model_gib(settings: Settings) -> float:
    """Size of the model's files, estimated from the size in its name.

    >>> round(model_gib(Settings(name="pod")), 1)
    8.2
    """
    if settings.base_model.source == "tiny":
        return 0.02
    found = re.search(r"(\d+(?:\.\d+)?)B\b", settings.base_model.repo)
    return float(found[1]) * GIB_PER_BILLION_PARAMETERS if found else 10.0


def disk_gib(settings: Settings) -> Mapping[str, float]:
    """Disk that a run needs, estimated: `artifacts` under GEO_HOME and `hub_cache` under HF_HOME."""
    osv, model = settings.osv_zips, model_gib(settings)
    if osv.source == "demo":
        sources = GIB_OF_A_DEMO
    elif osv.source == "hub" and osv.reach == "zips":
        sources = (len(osv.train_zips) + len(osv.test_zips)) * GIB_PER_ZIP + GIB_OF_CSVS + GIB_OF_SETS
    else:
        sources = GIB_OF_CSVS + GIB_OF_SETS
    panoramas = GIB_OF_PANORAMAS if settings.pano_source.source == "hub" else 0.0
    training = GIB_OF_TRAINING if settings.base_model.source != "tiny" else 0.5
    merged, base = model, model
    return {
        "artifacts": sources + panoramas + training + merged + base,
        "hub_cache": model if settings.base_model.source == "hub" else 0.0,
    }
