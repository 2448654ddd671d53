"""GRPO on an environment of the gym, with the trainer of the main line.

Leaves `start/` (the start model after a warm-up on the environment's solutions, where the profile asks for
one), `checkpoint-<step>/` with the adapters, and the same logs as `lora_checkpoints`. Environments of one
turn train as prompt and reward, environments with tools through TRL's `environment_factory`. A killed run
continues from its last whole checkpoint. What it leaves out: tools with vLLM inside the trainer, and choosing
a checkpoint: the last one counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from geo_assets.gym import tasks
from geo_assets.gym.environment import Environment
from geo_assets.gym.play import fit
from geo_assets.gym.tool_use import ToolUse, trained_environment
from geo_assets.gym.training import require_sound, reward_functions
from geo_assets.models.loading import Photos, start_model_dir
from geo_assets.settings import Settings
from geo_assets.workers import train, train_setup
from geo_assets.workers.gym_warm_up import warm_up
from geo_assets.workers.harness import Job, run

START = "start"
TOOL_ANSWER_TOKENS = 48
"""Tokens of the words and marks around an image that a tool returns."""


def main(job: Job) -> None:
    """Warm up where asked, train, and leave what the asset promises."""
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
    gym = job.settings.gym
    if not gym.is_on:
        job.metadata(tasks.write_off(job.out))
        return
    environment = require_sound(tasks.environment_of(gym, job.settings.task, "train"))
    start, figures = start_of(job, environment)
    settings = training_settings(job.settings, environment)
    trainer, progress = train_setup.build_trainer(
        job, settings, train_setup.rollout_cycle(settings.train), subject(job, settings, environment, start)
    )
    train.learn(job, settings, trainer, resumes=True)
    train.finish(job, settings, trainer, progress.step_seconds)
    job.metadata({"environment": environment.name, **{f"warm_up_{k}": v for k, v in figures.items()}})


def start_of(job: Job, environment: Environment) -> tuple[Path, dict[str, Any]]:
    """The folder of the model that GRPO starts from, after its warm-up, and the warm-up's figures."""
    gym, folder = job.settings.gym, start_model_dir(job.upstream["warm_start"])
    if gym.warm_up.steps == 0:
        return folder, {}
    figures = warm_up(environment, gym.warm_up, job.settings.task, job.runtime, folder, job.out / START)
    return job.out / START, figures


def training_settings(settings: Settings, environment: Environment) -> Settings:
    """The settings with the gym's GRPO run in the place of the main one, and room for an episode."""
    limits = environment.limits
    length, train_ = limits.max_tokens, settings.gym.train
    if isinstance(environment, ToolUse):
        per_call = limits.max_tokens + settings.task.max_cells + TOOL_ANSWER_TOKENS
        length += (limits.max_turns - 1) * per_call
        train_ = train_.model_copy(update={"rollout_engine": "transformers"})
    task = settings.task.model_copy(update={"max_completion_length": length})
    return settings.model_copy(update={"train": train_, "task": task})


def subject(job: Job, settings: Settings, environment: Environment, start: Path) -> train_setup.Subject:
    """What the trainer is given."""
    from geo_assets.workers.gym_trainer import GymTrainer

    functions, weights = reward_functions(environment)
    rows = dataset(job.upstream["gym_tasks"], settings)
    more: dict[str, Any] = {}
    config: dict[str, Any] = {}
    if isinstance(environment, ToolUse):
        more["environment_factory"] = trained_environment(
            environment, lambda image: fit(image, settings.task)
        )
        config["max_tool_calling_iterations"] = environment.limits.max_turns - 1
    return train_setup.Subject(start, rows, functions, weights, GymTrainer, more, config)


def dataset(folder: Path, settings: Settings) -> Any:
    """The train tasks as TRL reads them: prompt, images at their final size, and the task's index."""
    from datasets import Dataset

    photos = Photos(settings.task)
    records = tasks.read_tasks(folder, "train")
    made = Dataset.from_dict({"index": [record["index"] for record in records]})

    def opened(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        chosen = [records[index] for index in batch["index"]]
        return {
            "index": batch["index"],
            "id": [str(record["index"]) for record in chosen],
            "prompt": [record["messages"] for record in chosen],
            "images": [list(photos.all(record["images"])) for record in chosen],
        }

    made.set_transform(opened)
    return made


if __name__ == "__main__":
    run(main)
