"""The GRPO run: `smoke_test` (its first steps, measured) and `lora_checkpoints` (all of it).

TRL's GRPOTrainer with LoRA on the language model. Photos are brought to their final size once, when
the data set opens them. A killed run continues from its last whole checkpoint and ends like one that was
never killed. What it leaves out: several GPUs, and choosing the best checkpoint (`checkpoints.py`).
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from geo_assets.backends.vllm import import_vllm
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
from geo_assets.workers import checkpoint_files, scoring
from geo_assets.workers.harness import Job, exit_when_stopped, peak_memory_gib, run, saves_on_signal
from geo_assets.workers.rollout_settings import engine_arguments, uses_vllm

logger = logging.getLogger(__name__)

SAMPLES, LOG_HISTORY = "samples.jsonl", "log_history.jsonl"
AUDIT_ROWS = 8
FLAT_REWARD_GAIN = 0.02


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


def main(job: Job) -> None:
    """Train, resume where a killed run stopped, and leave what the asset promises."""
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0")
    smoke = job.asset == "smoke_test"
    settings = (
        job.settings.model_copy(update={"train": _smoke_train(job.settings)}) if smoke else job.settings
    )
    cycle = rollout_cycle(settings.train)
    trainer, progress = build_trainer(job, settings, cycle)
    gap: dict[str, float] = {}
    if smoke and not uses_vllm(settings):
        from geo_assets.workers.smoke import audit

        gap = audit(trainer, AUDIT_ROWS)
    learn(job, settings, trainer, resumes=not smoke)
    if smoke:
        from geo_assets.workers.smoke import conclude

        if uses_vllm(settings):
            gap = trainer.rollout_audit.summary()
            logger.info("%s", trainer.rollout_audit)
        conclude(job, trainer, progress.step_seconds, gap)
    else:
        finish(job, settings, trainer, progress.step_seconds)


def learn(job: Job, settings: Settings, trainer: Any, resumes: bool) -> None:
    """Train to the last step, from the last whole checkpoint, and write the log; a signal saves and ends."""
    resume = checkpoint_files.last_complete(job.out) if resumes else None
    _rewind_samples(job.out / SAMPLES, checkpoint_files.step_of(resume) if resume else 0)
    with saves_on_signal(), _remedies():
        trainer.train(resume_from_checkpoint=str(resume) if resume else None)
    if trainer.state.global_step < settings.train.max_steps:
        exit_when_stopped()
    _write_log_history(job.out / LOG_HISTORY, trainer.state.log_history)


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


def _smoke_train(settings: Settings) -> Train:
    """The training values of the smoke test: few steps, no checkpoint, the learning rate held."""
    steps, cycle = settings.smoke.steps, 1
    per_step = settings.train.per_device_train_batch_size * settings.train.gradient_accumulation_steps
    cycle = max(1, settings.train.generation_batch_size // per_step)
    steps = -(-steps // cycle) * cycle
    return settings.train.model_copy(
        update={"max_steps": steps, "save_steps": steps, "lr_scheduler": "constant_with_warmup"}
    )


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
    with _remedies():
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
    trackers = _trackers(job)
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
        report_to=trackers,
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


def _trackers(job: Job) -> list[str]:
    """Weights & Biases where a key is set, else TensorBoard under the artifact; none for the smoke test."""
    wanted = job.runtime.tracker
    if wanted == "none" or job.asset == "smoke_test":
        return []
    if wanted == "wandb" or (wanted == "auto" and os.environ.get("WANDB_API_KEY")):
        os.environ.setdefault("WANDB_DIR", str(job.out))
        os.environ.setdefault("WANDB_PROJECT", "geo_assets")
        return ["wandb"]
    os.environ["TENSORBOARD_LOGGING_DIR"] = str(job.out / "tensorboard")
    return ["tensorboard"]


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


def _rewind_samples(path: Path, step: int) -> None:
    """Drop the samples after `step`: the resumed run makes them again."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
    path.write_text("".join(kept), encoding="utf-8")


def _write_log_history(path: Path, history: list[dict[str, Any]]) -> None:
    """TRL's records, one a line, without NaN."""
    with path.open("w", encoding="utf-8") as file:
        for record in history:
            clean = {
                k: v if not isinstance(v, float) or math.isfinite(v) else None for k, v in record.items()
            }
            file.write(json.dumps(clean) + "\n")


class _remedies:
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


def finish(job: Job, settings: Settings, trainer: Any, step_seconds: list[float]) -> None:
    """Statistics of the run; then nothing but adapters stays in the checkpoints."""
    from geo_assets.workers.grpo_trainer import spread

    history = [record for record in trainer.state.log_history if "reward" in record]
    _warn_of_flat_countries(history)
    top_share, effective = spread(trainer.recent_guesses)
    stats = {
        "steps": trainer.state.global_step,
        "checkpoints": [checkpoint_files.step_of(folder) for folder in checkpoint_files.checkpoints(job.out)],
        "tokens_seen": int(trainer.state.num_input_tokens_seen),
        "trainable_parameters": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
        "rows": len(trainer.train_dataset),
        "first_reward": _mean(history[:10], "reward"),
        "last_reward": _mean(history[-10:], "reward"),
        "last_format_rate": _mean(history[-10:], "rewards/format_reward/mean"),
        "top_country_share": top_share,
        "effective_countries": effective,
        "shuffled_rewards": settings.train.shuffle_rewards,
        "versions": {name: version(name) for name in ("torch", "transformers", "trl", "peft")},
        "losses_finite": all(math.isfinite(float(record["loss"])) for record in history if "loss" in record),
    }
    scoring.write_json(job.out / "train_stats.json", stats)
    timings = {
        "seconds_per_step": round(sum(step_seconds) / len(step_seconds), 4),
        "measured_steps": len(step_seconds),
        "seconds": round(sum(step_seconds), 1),
        "peak_memory_gib": round(peak_memory_gib(), 2),
    }
    scoring.write_json(job.out / "timings.json", timings)
    checkpoint_files.strip(job.out, base_name="warm_start")
    for leftover in ("README.md", "completions"):
        path = job.out / leftover
        if path.is_file():
            path.unlink()
    job.metadata({**stats, **timings})


def _warn_of_flat_countries(history: list[dict[str, Any]]) -> None:
    """A reward that rises on distances alone often hides a collapse on a few countries."""
    window = max(1, min(50, len(history) // 4))
    reward, country = (
        _mean(history[-window:], key) - _mean(history[:window], key)
        for key in ("reward", "rewards/country_reward/mean")
    )
    if reward > FLAT_REWARD_GAIN and country <= 0:
        logger.warning(
            "the reward rose by %.3f but the country rate did not (%+.3f): look at the top countries of the "
            "samples; train_pool.cap_per_country: 250 balances the rows",
            reward, country,
        )  # fmt: skip


def _mean(history: list[dict[str, Any]], key: str) -> float:
    values = [float(record[key]) for record in history if record.get(key) is not None]
    return round(sum(values) / len(values), 6) if values else 0.0


if __name__ == "__main__":
    run(main)
