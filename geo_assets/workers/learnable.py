"""Find the rows that GRPO can learn from: several sampled answers a row, scored, then selected.

Completions are appended to `completions.jsonl` as they come and never asked for twice; any threshold or
reward can be replayed from that file. What it leaves out: the rule of selection
(`task/learnability.py`).
"""

from __future__ import annotations

import json
import logging
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from geo_assets import backends, progress
from geo_assets.backends.base import Completion, Sampling
from geo_assets.files import link_or_copy
from geo_assets.models.loading import start_model_dir
from geo_assets.settings import Learnable
from geo_assets.workers import scoring
from geo_assets.workers.harness import Job, exit_when_stopped, run, saves_on_signal

logger = logging.getLogger(__name__)

COMPLETIONS = "completions.jsonl"
ROWS_PER_APPEND = 64


def main(job: Job) -> None:
    """Leave `train_learnable.parquet`, its images, the completions and `filter_stats.json`."""
    section, pool = job.settings.learnable, job.upstream["train_pool"]
    rows = sample_rows(scoring.rows_of(pool), section)
    with saves_on_signal():
        answers = _answers(job, rows)
    predictions = scoring.predictions(rows, [answers[row["id"]] for row in rows], job.settings.task.reward)
    _write(job, pool, rows, predictions)


def sample_rows(rows: Sequence[dict[str, Any]], section: Learnable) -> list[dict[str, Any]]:
    """Up to `section.rows` rows, at most `cap_per_country` of each country; seeded, in sampling order."""
    order = sorted(rows, key=lambda row: row["id"])
    random.Random(section.seed).shuffle(order)
    taken: Counter[str] = Counter()
    chosen: list[dict[str, Any]] = []
    for row in order:
        if len(chosen) < section.rows and taken[row["country_iso2"]] < section.cap_per_country:
            taken[row["country_iso2"]] += 1
            chosen.append(row)
    return chosen


def cached_completions(path: Path) -> dict[str, list[Completion]]:
    """The completions of a killed run, by row; a line that was cut off is dropped from the file."""
    found: dict[str, list[Completion]] = {}
    if not path.exists():
        return found
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
        path.write_text("".join(lines), encoding="utf-8")
    for line in lines:
        record = json.loads(line)
        completion = Completion(record["text"], record["n_tokens"], record["finish_reason"])
        found.setdefault(record["id"], []).append(completion)
    return found


def _answers(job: Job, rows: Sequence[dict[str, Any]]) -> dict[str, list[Completion]]:
    """`learnable.completions` answers for each row, from the cache where it has them."""
    section, task = job.settings.learnable, job.settings.task
    path = job.out / COMPLETIONS
    found = {
        row_id: texts
        for row_id, texts in cached_completions(path).items()
        if len(texts) == section.completions
    }
    missing = [row for row in rows if row["id"] not in found]
    if found:
        # Rows are appended whole and in order, so whatever is not whole is at the end.
        _rewrite(path, found)
        logger.info("%d of %d rows are answered already", len(found), len(rows))
    if not missing:
        return found
    backend = backends.make(job.runtime, task, start_model_dir(job.upstream["warm_start"]))
    sampling = Sampling(
        section.temperature, section.top_p, section.completions, task.max_completion_length, section.seed
    )
    began = time.monotonic()
    with path.open("a", encoding="utf-8") as file:
        for first in range(0, len(missing), ROWS_PER_APPEND):
            chunk = missing[first : first + ROWS_PER_APPEND]
            answers = backend.generate(scoring.requests_of(job.upstream["train_pool"], chunk, task, sampling))
            for row, completions in zip(chunk, answers, strict=True):
                found[row["id"]] = completions
                file.write("".join(_lines(row["id"], completions)))
            file.flush()
            done = first + len(chunk)
            rate = done / (time.monotonic() - began)
            left = (len(missing) - done) / rate
            progress.report(
                logger,
                {"rows": done, "rows_per_second": rate, "seconds_left": left},
                "%d of %d rows, %.1f a second, %.0f s left", done, len(missing), rate, left,
            )  # fmt: skip
            exit_when_stopped()
    return found


def _lines(row_id: str, completions: Sequence[Completion]) -> Iterable[str]:
    for k, completion in enumerate(completions):
        yield json.dumps({"id": row_id, "k": k, **vars(completion)}) + "\n"


def _rewrite(path: Path, found: dict[str, list[Completion]]) -> None:
    aside = path.with_suffix(".new")
    aside.write_text(
        "".join(line for row_id, texts in found.items() for line in _lines(row_id, texts)), encoding="utf-8"
    )
    aside.replace(path)


def _write(job: Job, pool: Path, rows: Sequence[dict[str, Any]], predictions: Sequence[Any]) -> None:
    import polars as pl

    from geo_assets.osv import schema
    from geo_assets.task.learnability import select

    selection = select(predictions, job.settings.learnable)
    by_id = {row["id"]: row for row in rows}
    chosen = [
        {
            **by_id[row.id],
            "reward_mean": row.reward_mean,
            "reward_std": row.reward_std,
            "hits": row.hits,
            "set": row.set,
        }
        for row in selection.rows
    ]
    shutil.rmtree(job.out / "images", ignore_errors=True)
    (job.out / "images").mkdir()
    for row in chosen:
        link_or_copy(pool / row["image_path"], job.out / row["image_path"])
    frame = pl.DataFrame(chosen, infer_schema_length=None)
    schema.write_parquet(frame, job.out / "train_learnable.parquet")
    scoring.write_json(job.out / "filter_stats.json", selection.stats)
    shutil.copyfile(pool / "dropped.json", job.out / "dropped.json")  # for the report
    job.metadata({"rows": len(chosen), "sampled_rows": len(rows), **selection.stats})


if __name__ == "__main__":
    run(main)
