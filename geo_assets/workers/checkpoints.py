"""Score every checkpoint of the GRPO run on eval_quick and choose one.

The criterion and decoding come from the profile; on a tie the earlier checkpoint wins, because it has moved
less. eval_quick's rows are part of eval_osv: the report says so beside the final figures.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import Any

from geo_assets import backends, progress
from geo_assets.errors import TrainingError
from geo_assets.models.loading import start_model_dir
from geo_assets.workers import scoring
from geo_assets.workers.checkpoint_files import checkpoints, step_of
from geo_assets.workers.harness import Job, run
from geo_assets.workers.predict import decodings

logger = logging.getLogger(__name__)


def main(job: Job) -> None:
    """Leave predictions and metrics per checkpoint, `checkpoints.json` and `best.json`."""
    settings, split = job.settings, job.upstream["eval_quick"]
    section = settings.checkpoint_metrics
    rows = scoring.rows_of(split)
    sampling = decodings(settings.evaluate, settings.task).get(section.decoding)
    if sampling is None:
        raise TrainingError(
            "checkpoint_metrics.decoding is sampled but evaluate.samples is 0; set one of them"
        )
    requests = scoring.requests_of(split, rows, settings.task, sampling)
    start = start_model_dir(job.upstream["warm_start"])
    folders = checkpoints(job.upstream["lora_checkpoints"])
    todo = [folder for folder in folders if not (job.out / folder.name / "metrics.json").exists()]
    entries = {
        folder: _entry(job.out / folder.name, section.criterion) for folder in folders if folder not in todo
    }
    seconds: dict[str, float] = {}
    began = time.monotonic()
    for folder, backend in backends.with_adapters(job.runtime, settings.task, start, todo):
        answers = backend.generate(requests)
        scoring.save(job.out / folder.name, scoring.predictions(rows, answers, settings.task.reward))
        seconds[folder.name] = round(time.monotonic() - began, 2)
        began = time.monotonic()
        entries[folder] = _entry(job.out / folder.name, section.criterion)
    table = [entries[folder] for folder in folders]
    if not table:
        raise TrainingError("lora_checkpoints holds no checkpoint; materialize lora_checkpoints with force")
    best = max(table, key=lambda entry: (entry["criterion_value"], -entry["step"]))
    scoring.write_json(job.out / "checkpoints.json", table)
    scoring.write_json(job.out / "best.json", {**choice(table, best, section.decoding), "n": len(rows)})
    scoring.write_json(job.out / "timings.json", seconds)
    job.metadata(
        {"best_step": best["step"], "criterion": section.criterion, "checkpoints_scored": len(table)}
    )


def _entry(folder: Path, criterion: str) -> dict[str, Any]:
    """The row of a scored checkpoint in `checkpoints.json`; says its figures in the log."""
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    value, step = criterion_value(criterion, scoring.load(folder), metrics), step_of(folder)
    figures = {name: float(metrics[name]) for name in ("mean_geoscore", "country_acc", "format_rate")}
    progress.report(
        logger,
        {"checkpoint_step": step, **figures, criterion: value},
        "%s: %s %.4f, format %.3f", folder.name, criterion, value, metrics["format_rate"],
    )  # fmt: skip
    return {"step": step, **metrics, "criterion": criterion, "criterion_value": value}


def criterion_value(criterion: str, predictions: list[Any], metrics: dict[str, Any]) -> float:
    """The figure that checkpoints are compared by."""
    if criterion == "mean_reward":
        return sum(prediction.total for prediction in predictions) / max(1, len(predictions))
    return float(metrics[criterion])


def choice(table: list[dict[str, Any]], best: dict[str, Any], decoding: str) -> dict[str, Any]:
    """`best.json`: which checkpoint, and why in one sentence."""
    others = ", ".join(
        f"{entry['criterion_value']:.4f} at step {entry['step']}"
        for entry in table
        if entry["step"] != best["step"]
    )
    why = (
        f"highest {best['criterion']} on eval_quick ({decoding}): "
        f"{best['criterion_value']:.4f} at step {best['step']}"
    )
    return {
        "step": best["step"],
        "checkpoint": f"checkpoint-{best['step']}",
        "why": f"{why}; {others}" if others else f"{why}, the only checkpoint",
    }


if __name__ == "__main__":
    run(main)
