"""Write a CSV of the size and shape of OSV-5M's train.csv, for measuring.

4.9 million rows of about 600 bytes (2.9 GB): the same 32 columns, the same widths, labels from the gazetteer,
a country distribution with a long tail. The photos do not exist. Rows come in blocks, so memory stays small.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from geo_assets.geo.places import gazetteer
from geo_assets.osv.schema import OSV_COLUMNS

TRAIN_ROWS = 4_894_685
BLOCK_ROWS = 100_000
URL_CHARS = 200
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _text(rng: np.random.Generator, rows: int, chars: int) -> list[str]:
    letters = np.frombuffer(_LETTERS.encode(), dtype=np.uint8)
    return rng.choice(letters, (rows, chars)).view(f"S{chars}").ravel().astype(str).tolist()


def block(rng: np.random.Generator, first_row: int, rows: int) -> pl.DataFrame:
    """`rows` rows of the CSV; ids are unique over blocks and have 15 to 17 digits."""
    table = gazetteer()
    place = (len(table.lat_deg) * rng.random(rows) ** 2).astype(np.int64)
    latitude = np.clip(table.lat_deg[place] + rng.normal(0, 0.03, rows), -90, 90).round(6)
    longitude = np.clip(table.lon_deg[place] + rng.normal(0, 0.03, rows), -180, 180).round(6)
    country, region, city = (names[place] for names in (table.country_iso2, table.region, table.city))
    ids = 100_000_000_000_000 + (first_row + np.arange(rows)) * 2_039_039 + rng.integers(0, 2_000_000, rows)
    url = "https://scontent-cdg4-2.xx.fbcdn.net/m1/v/t6/"
    data: dict[str, object] = {
        "id": ids.astype(str),
        "latitude": latitude,
        "longitude": longitude,
        "thumb_original_url": [url + tail for tail in _text(rng, rows, URL_CHARS)],
        "country": country,
        "sequence": _text(rng, rows, 22),
        "captured_at": rng.integers(1_400_000_000_000, 1_690_000_000_000, rows),
        "lon_bin": rng.random(rows) * 100,
        "lat_bin": rng.random(rows) * 100,
        "cell": rng.integers(0, 10_000, rows),
        "region": region,
        "sub-region": region,
        "city": city,
        "drive_side": rng.integers(0, 2, rows).astype(np.float64),
        "unique_region": [f"{a}_{b}" for a, b in zip(region, country, strict=True)],
        "unique_sub-region": [f"{a}_{a}_{b}" for a, b in zip(region, country, strict=True)],
        "unique_city": [f"{c}_{a}_{a}_{b}" for a, b, c in zip(region, country, city, strict=True)],
        "unique_country": country,
        "creator_username": _text(rng, rows, 10),
        "creator_id": (110_000_000_000_000 + rng.integers(0, 60_000, rows) * 7919).astype(str),
    }
    for name in ("road_index", "dist_sea"):
        data[name] = rng.random(rows) * 100
    for name in OSV_COLUMNS:
        if name not in data:
            data[name] = rng.integers(0, 50_000, rows) if "quadtree" in name else rng.integers(0, 30, rows)
    frame = pl.DataFrame({name: data[name] for name in OSV_COLUMNS})
    return frame.with_columns(pl.when(pl.col("region") != "").then(pl.col("region")))


def write_full_size_csv(path: Path, rows: int = TRAIN_ROWS, seed: int = 0) -> int:
    """Write the CSV and return its size in bytes; the same rows and seed give the same file."""
    rng = np.random.default_rng(seed)
    with path.open("wb") as file:
        for first_row in range(0, rows, BLOCK_ROWS):
            part = block(rng, first_row, min(BLOCK_ROWS, rows - first_row))
            part.write_csv(file, include_header=first_row == 0)
    return path.stat().st_size
