"""What the pages of several assets show alike: the rows of a set, its countries, its schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Whole


def describe_set(name: str, whole: Whole) -> Mapping[str, Any]:
    """Rows, columns, countries and a few photos of the set `<name>.parquet`."""
    import polars as pl  # loads a thread pool, so not before the step's own process

    from geo_assets.report import previews

    rows = pl.read_parquet(whole.path / f"{name}.parquet")
    countries = rows.group_by("country_iso2").len().sort(["len", "country_iso2"], descending=[True, False])
    figures: dict[str, Any] = {
        "dagster/row_count": rows.height,
        "dagster/column_schema": metadata.schema({name: str(type_) for name, type_ in rows.schema.items()}),
        "n_countries": countries.height,
        "dropped": json.loads(dropped.read_text())
        if (dropped := whole.path / "dropped.json").exists()
        else {},
    }
    if rows.height:
        counts = dict(zip(countries["country_iso2"], countries["len"], strict=True))
        figures["countries"] = MetadataValue.md(previews.country_bars(counts))
        figures["photos"] = MetadataValue.md(_photos(whole.path, rows))
    return figures


def _photos(folder: Path, rows: Any) -> str:
    from geo_assets.report import previews

    step = max(1, rows.height // 8)
    chosen = rows.gather_every(step).head(8).select("image_path", "country_iso2").rows()
    return previews.image_grid([(folder / path, country) for path, country in chosen])


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
