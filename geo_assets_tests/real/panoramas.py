"""The real panoramas among the own photos, as the Hub's panorama data set would hold them."""

from __future__ import annotations

from pathlib import Path

import polars as pl


def write_real_panoramas(data: Path, repo: Path) -> int:
    """Write `data/train-00000-of-00001.parquet` of `repo`; returns its rows."""
    table = pl.read_csv(data / "own_photos/photos.csv").filter(pl.col("is_pano") == 1)
    rows = [
        {
            "image": {"bytes": (data / "own_photos" / row["file"]).read_bytes(), "path": row["file"]},
            "country_iso_alpha2": row["country_iso2"],
            "latitude": str(row["latitude"]),
            "longitude": str(row["longitude"]),
            "address": "somewhere",
        }
        for row in table.iter_rows(named=True)
    ]
    (repo / "data").mkdir(parents=True)
    pl.DataFrame(rows).write_parquet(repo / "data/train-00000-of-00001.parquet")
    return len(rows)
