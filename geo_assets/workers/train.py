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
from importlib.metadata import version
from pathlib import Path
from typing import Any

from geo_assets.settings import Settings, Train
from geo_assets.workers import checkpoint_files, scoring
from geo_assets.workers.harness import Job, exit_when_stopped, peak_memory_gib, run, saves_on_signal
from geo_assets.workers.rollout_settings import uses_vllm
from geo_assets.workers.tracking import Tracking
from geo_assets.workers.train_setup import SAMPLES, build_trainer, remedies, rollout_cycle

logger = logging.getLogger(__name__)

LOG_HISTORY = "log_history.jsonl"
AUDIT_ROWS = 8
FLAT_REWARD_GAIN = 0.02
SPREAD_SAMPLES = 512


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
    with Tracking(job) as tracking, saves_on_signal(), remedies():
        tracking.watch(trainer)
        trainer.train(resume_from_checkpoint=str(resume) if resume else None)
    if trainer.state.global_step < settings.train.max_steps:
        exit_when_stopped()
    _write_log_history(job.out / LOG_HISTORY, trainer.state.log_history)


def _smoke_train(settings: Settings) -> Train:
    """The training values of the smoke test: few steps, no checkpoint, the learning rate held."""
    steps, cycle = settings.smoke.steps, 1
    per_step = settings.train.per_device_train_batch_size * settings.train.gradient_accumulation_steps
    cycle = max(1, settings.train.generation_batch_size // per_step)
    steps = -(-steps // cycle) * cycle
    return settings.train.model_copy(
        update={"max_steps": steps, "save_steps": steps, "lr_scheduler": "constant_with_warmup"}
    )


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


def finish(job: Job, settings: Settings, trainer: Any, step_seconds: list[float]) -> None:
    """Statistics of the run; then nothing but adapters stays in the checkpoints."""
    from geo_assets.workers.grpo_trainer import guessed_countries, spread

    history = [record for record in trainer.state.log_history if "reward" in record]
    _warn_of_flat_countries(history)
    # From the file and not from memory, which a resumed run has only part of.
    last = (job.out / SAMPLES).read_text(encoding="utf-8").splitlines()[-SPREAD_SAMPLES:]
    top_share, effective = spread(guessed_countries(json.loads(line)["completion"] for line in last))
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
        "seconds_per_step": round(sum(step_seconds) / max(1, len(step_seconds)), 4),
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
    if not any("rewards/country_reward/mean" in record for record in history):
        return  # another task of the gym
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
