"""What the pages of several assets show alike: the rows of a set, where they are, its columns, curves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Whole

COLUMNS = {
    "id": "Identifier of the photo in its source",
    "image_path": "The photo, relative to the artifact",
    "latitude": "Where it was taken, degrees north",
    "longitude": "Where it was taken, degrees east",
    "country_iso2": "Country, ISO 3166-1 alpha-2",
    "region": "Region of the nearest place",
    "city": "The nearest place",
    "sequence": "The drive that the photo belongs to",
    "creator_id": "Who took it (a Mapillary account)",
    "width": "Pixels",
    "height": "Pixels",
    "views": "The views of a panorama, in order",
    "reward_mean": "Mean reward of the sampled answers",
    "reward_std": "Spread of those rewards: what GRPO learns from",
    "hits": "How many of the sampled answers name the right country",
    "set": "A: sometimes right; B: a share of the rest",
}


def describe_set(name: str, whole: Whole) -> Mapping[str, Any]:
    """Photos, countries, places, columns and losses of the set `<name>.parquet`."""
    import polars as pl  # loads a thread pool, so not before the step's own process

    from geo_assets.report import previews

    rows = pl.read_parquet(whole.path / f"{name}.parquet")
    figures: dict[str, Any] = {}
    if rows.height:
        counts = rows.group_by("country_iso2").len().rows()
        figures["photos"] = MetadataValue.md(_photos(whole.path, rows))
        figures["map"] = MetadataValue.md(previews.place_map(rows.select("latitude", "longitude").rows()))
        figures["countries"] = MetadataValue.md(previews.country_bars(dict(counts)))
    else:
        figures["photos"] = MetadataValue.text("This set is empty: the profile names nothing for it.")
    types = {column: str(type_) for column, type_ in rows.schema.items()}
    return {
        **figures,
        "n_countries": rows["country_iso2"].n_unique(),
        "dropped": _json(whole.path / "dropped.json"),
        "dagster/row_count": rows.height,
        "dagster/column_schema": metadata.schema(types, COLUMNS),
    }


def curves(series: Mapping[str, Sequence[tuple[float, float]]]) -> dict[str, Any]:
    """A picture of each curve that has at least two points."""
    from geo_assets.report import previews

    pictures = {name: previews.sparkline(points, name) for name, points in series.items()}
    return {f"{name}_curve": MetadataValue.md(picture) for name, picture in pictures.items() if picture}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _photos(folder: Path, rows: Any) -> str:
    from geo_assets.report import previews, wording

    step = max(1, rows.height // 8)
    chosen = rows.gather_every(step).head(8).select("image_path", "country_iso2").rows()
    return previews.image_grid([(folder / path, wording.country(country)) for path, country in chosen])


def _json(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
