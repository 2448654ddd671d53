"""Evaluation: `base_metrics`, `checkpoint_metrics`, `rl_metrics`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Whole, geo_asset
from geo_assets.defs.previews import curves, read_lines

_COLUMNS = {
    "n": "n_photos",
    "score": "mean_geoscore",
    "country right": "country_acc",
    "median km": "median_km",
    "form": "format_rate",
}
"""Columns of a table of metrics, and their keys in metrics.json."""


def _row(metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {name: metadata.near(metrics.get(key)) for name, key in _COLUMNS.items()}


def _answers(path: Path) -> dict[str, Any]:
    """Sample answers with their reward parts, and a world map of errors."""
    from geo_assets.report import previews
    from geo_assets.task.predictions import Prediction

    predictions = [Prediction.from_json(record) for record in read_lines(path)]
    step = max(1, len(predictions) // 8)
    return {
        "errors": MetadataValue.md(previews.error_map(predictions)),
        "answers": MetadataValue.md(previews.completions_table(predictions[::step])),
    }


def _describe_metrics(whole: Whole) -> Mapping[str, Any]:
    summary = json.loads((whole.path / "summary.json").read_text(encoding="utf-8"))
    rows = [
        {"model": who, "split": split, "answers": decoding, **_row(metrics)}
        for who, splits in summary.items()
        if isinstance(splits, Mapping)  # else a note: "same as base"
        for split, decodings in splits.items()
        for decoding, metrics in decodings.items()
    ]
    # Of several models the last is the one that RL starts from.
    found = sorted(whole.path.glob("*/eval_osv/greedy/predictions.jsonl")) or sorted(
        whole.path.glob("*/*/greedy/predictions.jsonl")
    )
    return {"metrics": metadata.table(rows), **(_answers(found[-1]) if found else {})}


def _describe_checkpoints(whole: Whole) -> Mapping[str, Any]:
    best = json.loads((whole.path / "best.json").read_text(encoding="utf-8"))
    table = json.loads((whole.path / "checkpoints.json").read_text(encoding="utf-8"))
    rows = [
        {"step": c["step"], c["criterion"]: metadata.near(c["criterion_value"]), **_row(c)} for c in table
    ]
    series = {
        name: [(c["step"], float(c[name])) for c in table if c.get(name) is not None]
        for name in ("mean_reward", "country_acc")
    }
    chosen = next(c for c in table if c["step"] == best["step"])
    return {
        "best_step": best["step"],
        "why": best["why"],
        "checkpoints": metadata.table(rows),
        **curves(series),
        **_answers(whole.path / best["checkpoint"] / "predictions.jsonl"),
        **{f"best/{name}": chosen.get(name) for name in ("mean_geoscore", "country_acc", "mean_reward")},
    }


base_metrics = geo_asset("base_metrics", describe=_describe_metrics)
checkpoint_metrics = geo_asset("checkpoint_metrics", describe=_describe_checkpoints)
rl_metrics = geo_asset("rl_metrics", describe=_describe_metrics)

ASSETS = (base_metrics, checkpoint_metrics, rl_metrics)
