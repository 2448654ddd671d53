"""Supervised warm-up of the start model, or a pass-through of base_model.

The warm-up teaches the form of an answer and a little geography: cross-entropy on the answer alone. In
mode `sft` the answers are the traces of train_pool; with `lookalike_share` they carry a stated bias: captions
of some countries name a neighbour that looks alike, at one of its places. In mode `own` they are the best
that the model itself gave (`own_answers.py`). GRPO never sees those captions. What it leaves out: LoRA; every
weight is trained in float32, which takes about 12 bytes of memory a parameter.

Progress (weights, optimizer, position) is saved inside the artifact every `SAVE_EVERY` steps and removed at
the end; a killed run continues from it with the same result.
"""

from __future__ import annotations

import json
import logging
import math
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geo_assets import progress
from geo_assets.errors import TrainingError
from geo_assets.models.loading import MODEL_DIR, PASSTHROUGH
from geo_assets.workers import supervised
from geo_assets.workers.harness import Job, exit_when_stopped, run, saves_on_signal, stop_requested
from geo_assets.workers.lesson import Caption, Lesson, captions
from geo_assets.workers.own_answers import own_captions

logger = logging.getLogger(__name__)

SAVE_EVERY = 100
PROGRESS = "progress.pt"
MIN_FORMAT_RATE = 0.97


def main(job: Job) -> None:
    """Leave `model/`, or `passthrough.json` where the profile asks for no warm-up."""
    base = job.upstream["base_model"] / MODEL_DIR
    if job.settings.warm_start.mode == "none":
        note = {"model": os.path.relpath(base, job.out), "why": "warm_start.mode is none"}
        (job.out / PASSTHROUGH).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
        job.metadata({"warm_up": "none: the base model is passed through"})
        return
    with saves_on_signal():
        _train(job, base)


def _train(job: Job, base: Path) -> None:
    import torch

    from geo_assets.models.loading import device_of, load_model, load_processor

    section, task = job.settings.warm_start, job.settings.task
    device = device_of(job.runtime)
    torch.manual_seed(section.seed)
    processor = load_processor(base, task)
    model = load_model(base, job.runtime, dtype="float32", attention="sdpa").train()
    learn, held_out, taken = _captions(job)
    lesson = Lesson(processor, job.settings, learn)
    optimizers = supervised.build_optimizers(model, section.muon_learning_rate, section.adamw_learning_rate)
    losses, began = _resume(job.out / PROGRESS, model, optimizers), time.monotonic()
    first = len(losses)
    for step in range(first, section.steps):
        supervised.set_learning_rates(optimizers, step, section.steps)
        batch = {name: tensor.to(device) for name, tensor in lesson.batch(step).items()}
        kept = batch["labels"].shape[1]
        losses.append(supervised.take_step(model, optimizers, batch, logits_to_keep=kept))
        _report(step + 1, section.steps, losses, (time.monotonic() - began) / (step + 1 - first))
        if (step + 1) % SAVE_EVERY == 0 or stop_requested():
            _save(job.out / PROGRESS, model, optimizers, losses)
            exit_when_stopped()
    if not math.isfinite(losses[-1]):
        raise TrainingError("the warm-up's loss is not finite; lower warm_start.muon_learning_rate")
    model.eval()
    processor.save_pretrained(job.out / MODEL_DIR)
    model.save_pretrained(job.out / MODEL_DIR)
    _check_format(job, model, processor, held_out, losses, taken)
    (job.out / PROGRESS).unlink(missing_ok=True)


def _captions(job: Job) -> tuple[list[Caption], list[Caption], dict[str, Any]]:
    """What is learned from, photos held out for the format check, and figures of what was taken."""
    section, pool = job.settings.warm_start, job.upstream["train_pool"]
    if section.mode == "own":
        return own_captions(pool, section, job.settings.task.reward)
    return *captions(pool, section), {"lookalike_share": section.lookalike_share}


def _resume(path: Path, model: Any, optimizers: Sequence[Any]) -> list[float]:
    """Load the progress of a killed run into model and optimizers; the losses so far."""
    import torch

    if not path.exists():
        return []
    state = torch.load(path, weights_only=True)
    model.load_state_dict(state["model"])
    for optimizer, saved in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    logger.info("warm-up continues after step %d", len(state["losses"]))
    return state["losses"]


def _save(path: Path, model: Any, optimizers: Sequence[Any], losses: Sequence[float]) -> None:
    import torch

    aside = path.with_suffix(".new")
    state = {
        "model": model.state_dict(),
        "optimizers": [o.state_dict() for o in optimizers],
        "losses": list(losses),
    }
    torch.save(state, aside)
    aside.replace(path)


def _report(step: int, steps: int, losses: Sequence[float], seconds_per_step: float) -> None:
    if step % 50 == 0 or step == steps:
        loss, left = supervised.recent_loss(losses), (steps - step) * seconds_per_step
        progress.report(
            logger,
            {"step": step, "loss": loss, "seconds_per_step": seconds_per_step, "seconds_left": left},
            "warm-up step %d of %d: loss %.3f, %.2f s a step, %.0f s left",
            step, steps, loss, seconds_per_step, left,
        )  # fmt: skip


def _check_format(
    job: Job,
    model: Any,
    processor: Any,
    held_out: Sequence[Caption],
    losses: Sequence[float],
    taken: Mapping[str, Any],
) -> None:
    """Sample answers to held-out photos; GRPO needs nearly all of them in the right form.

    Raises:
        TrainingError: fewer than `MIN_FORMAT_RATE` are.
    """
    from geo_assets.backends.base import Request, Sampling
    from geo_assets.backends.transformers import TransformersBackend
    from geo_assets.task.answer import parse_answer
    from geo_assets.task.prompt import messages

    section, task = job.settings.warm_start, job.settings.task
    backend = TransformersBackend(model, processor, task, job.runtime.eval_batch_size)
    sampling = Sampling(section.check_temperature, 1.0, 1, task.max_completion_length, section.seed)
    requests = [Request(c.id, messages(task.prompt), (c.photo,), sampling) for c in held_out]
    texts = [answers[0].text for answers in backend.generate(requests)]
    rate = sum(parse_answer(text) is not None for text in texts) / len(texts)
    figures = {
        "steps": len(losses),
        "final_loss": round(supervised.recent_loss(losses), 4),
        "sampled_format_rate": round(rate, 4),
        "check_rows": len(texts),
        "check_temperature": section.check_temperature,
        **taken,
    }
    (job.out / "warm_start.json").write_text(
        json.dumps({**figures, "losses": [round(x, 5) for x in losses]}) + "\n"
    )
    job.metadata({**figures, "sample": texts[0]})
    if rate < MIN_FORMAT_RATE:
        raise TrainingError(
            f"only {rate:.1%} of {len(texts)} sampled answers have the right form after the warm-up "
            f"(GRPO needs {MIN_FORMAT_RATE:.0%}); raise warm_start.steps, or lower train.temperature and "
            "warm_start.check_temperature"
        )


if __name__ == "__main__":
    run(main)
