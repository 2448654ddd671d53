"""Evaluation: `base_metrics`, `checkpoint_metrics`, `rl_metrics`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Whole, geo_asset
from geo_assets.defs.previews import read_lines

_COLUMNS = ("n", "format_rate", "country_acc", "mean_geoscore", "median_km", "truncated_rate")


def _describe_metrics(whole: Whole) -> Mapping[str, Any]:
    from geo_assets.report import previews
    from geo_assets.task.predictions import Prediction

    summary = json.loads((whole.path / "summary.json").read_text(encoding="utf-8"))
    rows: list[Mapping[str, Any]] = []
    figures: dict[str, Any] = {}
    for who, splits in summary.items():
        if not isinstance(splits, Mapping):  # "same as base"
            continue
        for split, decodings in splits.items():
            for decoding, values in decodings.items():
                rows.append(
                    {"who": who, "split": split, "decoding": decoding, **{c: values.get(c) for c in _COLUMNS}}
                )
                if decoding == "greedy" and split in {"eval_osv", "eval_pano"}:
                    figures[f"{who}_{split}_mean_geoscore"] = values.get("mean_geoscore")
                    figures[f"{who}_{split}_country_acc"] = values.get("country_acc")
    answers = next(iter(sorted(whole.path.glob("*/eval_quick/greedy/predictions.jsonl"), reverse=True)), None)
    if answers is not None:
        predictions = [Prediction.from_json(record) for record in read_lines(answers)]
        figures["answers"] = MetadataValue.md(previews.completions_table(predictions))
        figures["errors"] = MetadataValue.md(previews.error_map(predictions))
    return {"metrics": metadata.table(rows), **figures}


def _describe_checkpoints(whole: Whole) -> Mapping[str, Any]:
    best = json.loads((whole.path / "best.json").read_text(encoding="utf-8"))
    checkpoints = json.loads((whole.path / "checkpoints.json").read_text(encoding="utf-8"))
    rows = [
        {key: value for key, value in c.items() if key in {"step", "criterion", *_COLUMNS}}
        for c in checkpoints
    ]
    return {"best_step": best["step"], "why": best["why"], "checkpoints": metadata.table(rows)}


base_metrics = geo_asset("base_metrics", describe=_describe_metrics)
checkpoint_metrics = geo_asset("checkpoint_metrics", describe=_describe_checkpoints)
rl_metrics = geo_asset("rl_metrics", describe=_describe_metrics)

ASSETS = (base_metrics, checkpoint_metrics, rl_metrics)
