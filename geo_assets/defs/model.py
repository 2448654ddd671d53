"""The models that everything starts from: `base_model` and `warm_start`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Whole, geo_asset
from geo_assets.defs.previews import curves

SMOOTHED_STEPS = 10


def _describe_base(whole: Whole) -> Mapping[str, Any]:
    from geo_assets.report.escaping import fenced
    from geo_assets.task import prompt

    style = whole.settings.task.prompt
    asked = f"{prompt.SYSTEM[style]}\n\n[photo]\n{prompt.user_text(style)}"
    return {"parts": metadata.table(_parts(whole)), "asked": MetadataValue.md(fenced(asked))}


def _parts(whole: Whole) -> list[dict[str, Any]]:
    """What the model's configuration says of its two halves."""
    config = json.loads((whole.path / "model" / "config.json").read_text(encoding="utf-8"))
    rows = []
    for part, key, layers in (
        ("language", "text_config", "num_hidden_layers"),
        ("vision", "vision_config", "depth"),
    ):
        found = config.get(key, {})
        rows.append(
            {
                "part": part,
                "type": found.get("model_type", ""),
                "layers": found.get(layers, ""),
                "width": found.get("hidden_size", ""),
                "heads": found.get("num_attention_heads", found.get("num_heads", "")),
                "vocabulary": found.get("vocab_size", ""),
            }
        )
    return rows


def _describe_start(whole: Whole) -> Mapping[str, Any]:
    from geo_assets.report.escaping import clean

    path = whole.path / "warm_start.json"
    if not path.exists():
        return {"model": "the base model, passed through: the profile asks for no warm-up"}
    found = json.loads(path.read_text(encoding="utf-8"))
    losses = found.get("losses", [])
    points = [
        (start + SMOOTHED_STEPS, sum(group) / len(group))
        for start in range(0, len(losses), SMOOTHED_STEPS)
        if (group := losses[start : start + SMOOTHED_STEPS])
    ]
    sample = whole.figures.get("sample")
    answer = {"sample": clean(str(sample))} if sample else {}
    return {**curves({"loss": points}), **answer}


base_model = geo_asset("base_model", describe=_describe_base)
warm_start = geo_asset("warm_start", describe=_describe_start)

ASSETS = (base_model, warm_start)
