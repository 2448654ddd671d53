"""What the evaluating workers share: rows to requests, completions to predictions, predictions on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from geo_assets.backends.base import Completion, Request, Sampling
from geo_assets.osv.sets import read_set
from geo_assets.settings import Task
from geo_assets.task.answer import is_truncated, parse_answer
from geo_assets.task.metrics import Prediction, summarise
from geo_assets.task.prompt import messages
from geo_assets.task.rewards import get_reward
from geo_assets.task.terms import Terms

Row = Mapping[str, Any]


def rows_of(folder: Path) -> list[dict[str, Any]]:
    """The rows of a set or of train_learnable, in order; none where the set is empty."""
    learnable = folder / "train_learnable.parquet"
    return (pl.read_parquet(learnable) if learnable.exists() else read_set(folder)).to_dicts()


def photos_of(folder: Path, row: Row) -> tuple[Path, ...]:
    """The photos of a row: its views where it has some."""
    return tuple(folder / path for path in row.get("views") or [row["image_path"]])


def requests_of(folder: Path, rows: Iterable[Row], task: Task, sampling: Sampling) -> list[Request]:
    """One request per row, with the prompt that fits its number of photos."""
    made = []
    for row in rows:
        photos = photos_of(folder, row)
        made.append(Request(row["id"], messages(task.prompt, len(photos)), photos, sampling))
    return made


def predictions(
    rows: Sequence[Row], answers: Sequence[Sequence[Completion]], reward: str
) -> list[Prediction]:
    """Parsed answers, scored with `reward`: rows in order, samples within a row in order."""
    units = [
        (row, k, completion)
        for row, completions in zip(rows, answers, strict=True)
        for k, completion in enumerate(completions)
    ]
    terms = get_reward(reward).score(
        [completion.text for _, _, completion in units],
        [row["latitude"] for row, _, _ in units],
        [row["longitude"] for row, _, _ in units],
        [row["country_iso2"] for row, _, _ in units],
    )
    return [_prediction(*unit, earned) for unit, earned in zip(units, terms, strict=True)]


def _prediction(row: Row, k: int, completion: Completion, earned: Terms) -> Prediction:
    guess = parse_answer(completion.text)
    cut_off = completion.finish_reason == "length" or is_truncated(completion.text)
    return Prediction(
        id=row["id"],
        k=k,
        completion=completion.text,
        country=guess.country if guess else None,
        country_iso2=guess.country_iso2 if guess else None,
        lat_deg=guess.lat_deg if guess else None,
        lon_deg=guess.lon_deg if guess else None,
        parsed=guess is not None,
        truncated=guess is None and cut_off,
        true_latitude=row["latitude"],
        true_longitude=row["longitude"],
        true_country_iso2=row["country_iso2"],
        true_region=row.get("region"),
        true_city=row.get("city"),
        d_km=earned.d_km,
        geoscore=earned.geoscore,
        format=earned.format,
        country_reward=earned.country,
        dist=earned.dist,
        total=earned.total,
        n_tokens=completion.n_tokens,
        finish_reason=completion.finish_reason,
    )


def save(folder: Path, made: Sequence[Prediction]) -> dict[str, Any]:
    """Write `predictions.jsonl`, then `metrics.json`, which marks the folder as whole; return the metrics."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(prediction.to_json() + "\n" for prediction in made)
    (folder / "predictions.jsonl").write_text(lines, encoding="utf-8")
    metrics = summarise(list(made))
    write_json(folder / "metrics.json", metrics)
    return metrics


def load(folder: Path) -> list[Prediction]:
    """The predictions that `save` wrote."""
    with (folder / "predictions.jsonl").open(encoding="utf-8") as lines:
        return [Prediction.from_json(line) for line in lines]


def write_json(path: Path, value: Any) -> None:
    """Write JSON so that a reader sees the old file or the whole new one."""
    aside = path.with_name(path.name + ".new")
    aside.write_text(json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    aside.replace(path)
