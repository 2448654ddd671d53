"""The directory that holds a set: its table, its photos, their fingerprints.

`<set>.parquet` (columns of `schema.SET_SCHEMA`), `images/`, `fingerprints.parquet`, `data_card.md`,
`ATTRIBUTION.csv`, `dropped.json`. What is shared by every kind of set lives here; `cards.py` writes the
papers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from geo_assets.errors import DataError
from geo_assets.osv import schema
from geo_assets.osv.fingerprint import PRINT_SCHEMA

SETS = ("train_pool", "train_learnable", "eval_osv", "eval_quick", "eval_pano", "eval_photos")
PRINTS = "fingerprints.parquet"


@dataclass(frozen=True)
class SetStats:
    """What building a set came to."""

    rows: int
    countries: dict[str, int]
    """Rows by ISO-2 country."""
    dropped: dict[str, int]
    """Rows, members and photos left out, by reason."""
    cropped: int = 0
    """Photos that lost a band of burnt-in text."""
    copied: int = 0
    """Photos stored byte for byte."""
    seconds: float = 0.0
    usable: dict[str, dict[str, int]] = field(default_factory=dict)
    """Rows that could be used, before any cap, by choice of zips and country."""
    notes: dict[str, object] = field(default_factory=dict)


def read_set(directory: Path) -> pl.DataFrame:
    """The table of a set.

    Raises:
        DataError: the directory holds no set.
    """
    for name in SETS:
        if (path := Path(directory) / f"{name}.parquet").exists():
            return pl.read_parquet(path)
    raise DataError(f"{directory} holds no set: materialize the asset again")


def countries(frame: pl.DataFrame) -> dict[str, int]:
    """Rows by country, most frequent first."""
    table = frame.group_by("country_iso2").len().sort(["len", "country_iso2"], descending=[True, False])
    return dict(table.iter_rows())


def write_prints(out_dir: Path, prints: list[tuple[str, str, int, bytes]]) -> None:
    """Fingerprints (columns of PRINT_SCHEMA) of a set's photos in its order, for the leak checks."""
    schema.write_parquet(pl.DataFrame(prints, schema=PRINT_SCHEMA, orient="row"), out_dir / PRINTS)
