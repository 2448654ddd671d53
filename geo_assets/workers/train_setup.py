"""Everything a GRPO run is made of: TRL's trainer and configuration, LoRA, the rows, the callbacks.

`train.py` runs it. What it leaves out: how rollouts are generated with vLLM (`rollout_engine.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from geo_assets.backends.vllm_engine import import_vllm
from geo_assets.errors import TrainingError
from geo_assets.models.loading import (
    Photos,
    device_of,
    load_model,
    load_processor,
    refuse_visual_adapter,
    start_model_dir,
)
from geo_assets.settings import Settings, Train
from geo_assets.workers import scoring
from geo_assets.workers.harness import Job
from geo_assets.workers.rollout_settings import engine_arguments, uses_vllm

SAMPLES = "samples.jsonl"


@dataclass(frozen=True)
class Subject:
    """What a run is about: the model it starts from, its rows, and what earns how much."""

    folder: Path
    rows: Any
    reward_functions: list[Callable[..., list[float]]]
    reward_weights: list[float]
    trainer_class: type | None = None
    """A subclass of `GeoTrainer`, for rollouts without vLLM."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of TRL's trainer."""
    more_config: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of TRL's configuration."""


def rollout_cycle(train: Train) -> int:
    """How many optimizer steps one rollout serves.

    Raises:
        TrainingError: batch sizes do not divide, or a checkpoint would fall between two rollouts.
    """
    per_step = train.per_device_train_batch_size * train.gradient_accumulation_steps
    whole = max(train.generation_batch_size, per_step)
    if (
        whole % min(train.generation_batch_size, per_step)
        or train.generation_batch_size % train.per_device_train_batch_size
    ):
        raise TrainingError(
            f"train.generation_batch_size ({train.generation_batch_size}) and per_device_train_batch_size x "
            f"gradient_accumulation_steps ({per_step}) must divide one another; make the first a multiple"
        )
    if train.generation_batch_size % train.num_generations:
        raise TrainingError(
            f"train.generation_batch_size ({train.generation_batch_size}) must be a multiple of "
            f"train.num_generations ({train.num_generations})"
        )
    cycle = max(1, train.generation_batch_size // per_step)
    for name in ("save_steps", "max_steps"):
        value = getattr(train, name)
        if value % cycle:
            raise TrainingError(
                f"train.{name} ({value}) must be a multiple of {cycle}, the steps that one rollout serves, "
                f"so that a checkpoint can be resumed exactly; set it to {-(-value // cycle) * cycle}"
            )
    return cycle


def geo_subject(job: Job, settings: Settings) -> Subject:
    """The product's own run: train_learnable from the start model, with the profile's reward."""
    from geo_assets.task.rewards import trl_reward_functions

    folder = start_model_dir(job.upstream["warm_start"])
    rows = dataset(job.upstream["train_learnable"], settings)
    return Subject(folder, rows, *trl_reward_functions(settings.task.reward))


def build_trainer(
    job: Job, settings: Settings, cycle: int, subject: Subject | None = None
) -> tuple[Any, Any]:
    """The trainer, ready to run, and the callback that measures its steps; no `subject`: the main line's."""
    from transformers import PrinterCallback
    from transformers.trainer_callback import ProgressCallback

    from geo_assets.models.lora_targets import lora_config
    from geo_assets.workers.callbacks import Failures, Progress, WholeCheckpoints
    from geo_assets.workers.disk_watch import DiskWatch
    from geo_assets.workers.grpo_trainer import GeoTrainer

    train, task, smoke = settings.train, settings.task, job.asset == "smoke_test"
    subject = subject or geo_subject(job, settings)
    folder = subject.folder
    progress, failures = Progress(), Failures()
    callbacks: list[Any] = [progress, failures]
    if not smoke:
        callbacks += [WholeCheckpoints(job.out, train.keep_checkpoints, cycle), DiskWatch(job.out)]
    with remedies():
        arguments = {
            "model": load_policy(folder, settings),
            "processing_class": load_processor(folder, task),
            "args": grpo_config(job, settings, subject.reward_weights, subject.more_config),
            "train_dataset": subject.rows,
            "peft_config": None if settings.runtime.backend == "unsloth" else lora_config(train.lora),
            "reward_funcs": subject.reward_functions,
            "callbacks": callbacks,
            **subject.more,
        }
        if uses_vllm(settings):
            import_vllm(job.runtime)
            from geo_assets.workers import rollout_trainer

            trainer: Any = rollout_trainer.build(settings, folder, strict=smoke, **arguments)
        else:
            trainer = (subject.trainer_class or GeoTrainer)(**arguments)
    for printer in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(printer)
    failures.trainer = trainer
    refuse_visual_adapter(trainer.model, train.lora.targets)
    trainer.watch(job.out / SAMPLES, train.shuffle_rewards)
    return trainer, progress


def load_policy(folder: Path, settings: Settings) -> Any:
    """The model to train; unsloth brings the adapter with it.

    Raises:
        ModelError: the adapter's targets are not in the model, or in its vision tower.
    """
    from geo_assets.models.lora_targets import lora_targets

    train, runtime = settings.train, settings.runtime
    if runtime.backend == "unsloth":
        from geo_assets.backends.unsloth import load_for_training

        return load_for_training(runtime, train, folder)
    model = load_model(folder, runtime, train.dtype, train.attention)
    lora_targets(model, train.lora)
    return model


def grpo_config(
    job: Job, settings: Settings, reward_weights: list[float], more: Mapping[str, Any] | None = None
) -> Any:
    """TRL's configuration from the profile."""
    from trl import GRPOConfig

    train, task = settings.train, settings.task
    cpu = device_of(job.runtime) == "cpu"
    return GRPOConfig(
        output_dir=str(job.out),
        seed=train.seed,
        learning_rate=train.learning_rate,
        lr_scheduler_type=train.lr_scheduler,
        warmup_steps=train.warmup_steps,
        adam_beta2=train.adam_beta2,
        weight_decay=0.0,
        max_grad_norm=train.max_grad_norm,
        per_device_train_batch_size=train.per_device_train_batch_size,
        gradient_accumulation_steps=train.gradient_accumulation_steps,
        num_generations=train.num_generations,
        generation_batch_size=train.generation_batch_size,
        max_completion_length=task.max_completion_length,
        temperature=train.temperature,
        top_p=train.top_p,
        top_k=0,
        loss_type=train.loss_type,
        beta=train.beta,
        epsilon=train.epsilon,
        epsilon_high=train.epsilon_high,
        scale_rewards=train.scale_rewards,
        mask_truncated_completions=train.mask_truncated_completions,
        reward_weights=reward_weights,
        max_steps=train.max_steps,
        save_strategy="no" if job.asset == "smoke_test" else "steps",
        save_steps=train.save_steps,
        save_total_limit=None,  # TRL deletes by time of change; `checkpoint_files.prune` goes by step
        logging_steps=1,
        report_to="none",  # `learn` adds the tracker: one that cannot start is replaced there
        disable_tqdm=True,
        **engine_arguments(settings) if uses_vllm(settings) else {},
        use_cpu=cpu,
        bf16=not cpu and train.dtype == "bfloat16",
        gradient_checkpointing=not cpu,
        remove_unused_columns=False,
        dataloader_pin_memory=not cpu,
        log_completions=False,
        **(more or {}),
    )


def dataset(folder: Path, settings: Settings) -> Any:
    """train_learnable as TRL reads it: prompt, photos at their final size, and the labels."""
    from datasets import Dataset

    from geo_assets.task.prompt import messages

    photos = Photos(settings.task)
    rows = scoring.rows_of(folder)
    columns = ("id", "latitude", "longitude", "country_iso2", "region", "city")
    data = {name: [row[name] for row in rows] for name in columns}
    data["photos"] = [[str(path) for path in scoring.photos_of(folder, row)] for row in rows]
    prompt = list(messages(settings.task.prompt))

    def opened(batch: dict[str, list[Any]]) -> dict[str, list[Any]]:
        paths = batch.pop("photos")
        images = [list(photos.all(map(Path, group))) for group in paths]
        return {**batch, "prompt": [prompt] * len(images), "images": images}

    made = Dataset.from_dict(data)
    made.set_transform(opened)
    return made


class remedies:
    """Turns the failures of the table in the guide into one line with the remedy."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        import torch

        if isinstance(error, torch.OutOfMemoryError):
            raise TrainingError(
                "out of GPU memory; set train.per_device_train_batch_size: 4 and "
                "train.gradient_accumulation_steps: 8, or with vLLM runtime.vllm_memory_share: 0.25"
            ) from error
        if isinstance(error, ValueError) and "target modules" in str(error).lower():
            raise TrainingError(
                f"LoRA was rejected ({error}); name modules of the model in train.lora.targets"
            ) from error
