"""Ask models where every evaluation photo was taken: base_metrics (base, start) and rl_metrics (policy).

Each cell `<who>/<split>/<decoding>/` is written whole and kept when a killed run starts again. Controls on
eval_quick: a blank image, and every row with another row's photo. eval_quick is a prefix of
eval_osv, so its cells are cut out of eval_osv's. What it leaves out: intervals and before/after (`report`).
"""

from __future__ import annotations

import json
import logging
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from PIL import Image

from geo_assets import backends
from geo_assets.backends.base import Backend, Request, Sampling
from geo_assets.models.loading import MODEL_DIR, PASSTHROUGH, open_photo, start_model_dir
from geo_assets.settings import Evaluate, Settings, Task
from geo_assets.workers import scoring
from geo_assets.workers.harness import Job, run

logger = logging.getLogger(__name__)

SPLITS = ("eval_osv", "eval_quick", "eval_pano", "eval_photos")
CONTROL_SPLIT = "eval_quick"
THUMB_WIDTH_PX = 320


@dataclass(frozen=True)
class Model:
    """One model to ask: its name in the layout, its folder, and an adapter."""

    who: str
    folder: Path
    adapter: Path | None = None


@dataclass(frozen=True)
class Split:
    """An evaluation set and its rows, in order."""

    name: str
    folder: Path
    rows: list[dict[str, Any]]


def main(job: Job) -> None:
    """Evaluate every model of the asset on every split that has rows."""
    splits = [split for split in _splits(job) if split.rows]
    models, notes = _models(job)
    summary: dict[str, Any] = {}
    seconds: dict[str, Any] = {}
    for model in models:
        summary[model.who], seconds[model.who] = Evaluation(job.out, job.settings, model, splits).run()
    scoring.write_json(job.out / "summary.json", {**summary, **notes})
    scoring.write_json(job.out / "timings.json", seconds)
    if job.asset == "base_metrics":
        _thumbs(job.out / "thumbs", splits)
        _dropped(job.out / "dropped", splits)
    else:
        _leaks(job, splits)
    job.metadata(_headline(summary))


def _splits(job: Job) -> Iterator[Split]:
    for name in SPLITS:
        if name in job.upstream:
            yield Split(name, job.upstream[name], scoring.rows_of(job.upstream[name]))


def _models(job: Job) -> tuple[list[Model], dict[str, str]]:
    """The models that the asset evaluates, and notes for the summary."""
    warm_start = job.upstream["warm_start"]
    if job.asset == "base_metrics":
        base = Model("base", job.upstream["base_model"] / MODEL_DIR)
        if (warm_start / PASSTHROUGH).exists():
            return [base], {"start": "same as base"}
        return [base, Model("start", start_model_dir(warm_start))], {}
    best = json.loads((job.upstream["checkpoint_metrics"] / "best.json").read_text())
    adapter = job.upstream["lora_checkpoints"] / best["checkpoint"]
    return [Model("policy", start_model_dir(warm_start), adapter)], {}


class Evaluation:
    """All cells of one model. The model is loaded when the first missing cell needs it."""

    def __init__(self, out: Path, settings: Settings, model: Model, splits: Sequence[Split]) -> None:
        self._out, self._settings, self._model = out / model.who, settings, model
        self._splits = {split.name: split for split in splits}
        self._seconds: dict[str, float] = {}

    @cached_property
    def _backend(self) -> Backend:
        return backends.make(
            self._settings.runtime, self._settings.task, self._model.folder, self._model.adapter
        )

    def run(self) -> tuple[dict[str, Any], dict[str, float]]:
        """Metrics by split and decoding, and the seconds of the cells that were computed now."""
        evaluate, task = self._settings.evaluate, self._settings.task
        summary: dict[str, Any] = {}
        for split in self._splits.values():
            for decoding, sampling in decodings(evaluate, task).items():
                metrics = self._cell(split, decoding, partial(_requests, split, task, sampling))
                summary.setdefault(split.name, {})[decoding] = metrics
        if evaluate.controls and CONTROL_SPLIT in self._splits:
            split = self._splits[CONTROL_SPLIT]
            for name, alter in (("blank", _blank), ("shuffled", _shuffled)):
                plain = _requests(split, task, decodings(evaluate, task)["greedy"])
                summary[split.name][name] = self._cell(
                    split, name, partial(alter, plain, task, evaluate.seed)
                )
        if "_backend" in self.__dict__:
            self._backend.close()
        return summary, self._seconds

    def _cell(self, split: Split, decoding: str, requests: Callable[[], list[Request]]) -> dict[str, Any]:
        folder = self._out / split.name / decoding
        if (folder / "metrics.json").exists():
            return json.loads((folder / "metrics.json").read_text())
        began = time.monotonic()
        made = self._from_whole(split, decoding)
        if made is None:
            answers = self._backend.generate(requests())
            made = scoring.predictions(split.rows, answers, self._settings.task.reward)
        metrics = scoring.save(folder, made)
        self._seconds[f"{split.name}/{decoding}"] = round(time.monotonic() - began, 3)
        logger.info(
            "%s on %s, %s: country accuracy %.3f, mean GeoScore %.0f, format %.3f (n = %d)",
            self._model.who, split.name, decoding,
            metrics["country_acc"], metrics["mean_geoscore"], metrics["format_rate"], metrics["n"],
        )  # fmt: skip
        return metrics

    def _from_whole(self, split: Split, decoding: str) -> list[Any] | None:
        """eval_quick's predictions, cut out of eval_osv's where its rows are a prefix."""
        whole = self._splits.get("eval_osv")
        if split.name != "eval_quick" or whole is None or decoding not in ("greedy", "sampled"):
            return None
        if [row["id"] for row in split.rows] != [row["id"] for row in whole.rows[: len(split.rows)]]:
            return None
        samples = decodings(self._settings.evaluate, self._settings.task)[decoding].samples
        return scoring.load(self._out / whole.name / decoding)[: len(split.rows) * samples]


def decodings(evaluate: Evaluate, task: Task) -> dict[str, Sampling]:
    """How each cell is sampled."""
    made = {"greedy": Sampling(max_tokens=task.max_completion_length)}
    if evaluate.samples:
        made["sampled"] = Sampling(
            evaluate.temperature, evaluate.top_p, evaluate.samples, task.max_completion_length, evaluate.seed
        )
    return made


def _requests(split: Split, task: Task, sampling: Sampling) -> list[Request]:
    return scoring.requests_of(split.folder, split.rows, task, sampling)


def _blank(requests: list[Request], task: Task, seed: int) -> list[Request]:
    """The same questions about a grey image of the same size."""
    made = []
    for request in requests:
        sizes = [
            open_photo(path, task.min_cells, task.max_cells).size
            for path in request.photos
            if isinstance(path, Path)
        ]
        grey = tuple(Image.new("RGB", size, (128, 128, 128)) for size in sizes)
        made.append(replace(request, photos=grey))
    return made


def _shuffled(requests: list[Request], task: Task, seed: int) -> list[Request]:
    """The same questions, each about another row's photo."""
    order = list(range(len(requests)))
    random.Random(seed).shuffle(order)
    # A step along one cycle leaves no row with its own photo.
    giver = dict(zip(order, order[1:] + order[:1], strict=True))
    return [replace(request, photos=requests[giver[index]].photos) for index, request in enumerate(requests)]


def _thumbs(folder: Path, splits: Sequence[Split]) -> None:
    """Small copies of the evaluation photos for the report's examples."""
    for split in splits:
        (folder / split.name).mkdir(parents=True, exist_ok=True)
        for row in split.rows:
            target = folder / split.name / f"{row['id']}.jpg"
            if not target.exists():
                with Image.open(scoring.photos_of(split.folder, row)[0]) as photo:
                    photo.draft("RGB", (THUMB_WIDTH_PX, THUMB_WIDTH_PX))
                    photo.thumbnail((THUMB_WIDTH_PX, THUMB_WIDTH_PX))
                    photo.convert("RGB").save(target, quality=80)


def _dropped(folder: Path, splits: Sequence[Split]) -> None:
    """What each set left out and why, for the report."""
    folder.mkdir(exist_ok=True)
    for split in splits:
        shutil.copyfile(split.folder / "dropped.json", folder / f"{split.name}.json")


def _leaks(job: Job, splits: Sequence[Split]) -> None:
    """How near each evaluation row is to the rows that RL trained on."""
    import numpy as np
    import polars as pl

    from geo_assets.geo.geodesy import haversine_km
    from geo_assets.osv import schema

    train = pl.DataFrame(scoring.rows_of(job.upstream["train_learnable"]))
    train_lat, train_lon = (train[name].to_numpy()[None, :] for name in ("latitude", "longitude"))
    creators = set(train["creator_id"].drop_nulls())
    (job.out / "leaks").mkdir(exist_ok=True)
    for split in splits:
        rows = pl.DataFrame(split.rows, infer_schema_length=None)
        lat, lon = (rows[name].to_numpy()[:, None] for name in ("latitude", "longitude"))
        nearest = np.concatenate(
            [
                haversine_km(lat[i : i + 100], lon[i : i + 100], train_lat, train_lon).min(axis=1)
                for i in range(0, len(rows), 100)
            ]
        )
        leaks = rows.select("id", same_creator=pl.col("creator_id").is_in(list(creators)).fill_null(False))
        leaks = leaks.with_columns(nearest_train_km=pl.Series(nearest))
        schema.write_parquet(leaks, job.out / "leaks" / f"{split.name}.parquet")


def _headline(summary: dict[str, Any]) -> dict[str, Any]:
    """Numbers that plot over time, a name each: `policy/eval_osv/greedy/country_acc`."""
    return {
        f"{who}/{split}/{decoding}/{name}": round(metrics[name], 4)
        for who, splits in summary.items()
        for split, cells in splits.items()
        for decoding, metrics in cells.items()
        if decoding in ("greedy", "sampled")
        for name in ("mean_geoscore", "country_acc")
    }


if __name__ == "__main__":
    run(main)
