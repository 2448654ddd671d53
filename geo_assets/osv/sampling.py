"""Which rows a set takes: seeded, capped, and independent of the order of the input.

Each id gets a pseudo-random priority from the seed and the id alone. A country's rows are ranked by priority,
so a bigger cap only adds rows, a second zip never reshuffles the first, and "the next row of the same
country" is well defined. Sizes are rows. What a rank is worth (damage, twins) is found out in `fill.py`.
"""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def _splitmix64(values: np.ndarray) -> np.ndarray:
    """SplitMix64's output function (Steele, Lea and Flood 2014) on uint64, wrapping."""
    with np.errstate(over="ignore"):
        z = values + _GAMMA
        z = (z ^ (z >> np.uint64(30))) * _MIX[0]
        z = (z ^ (z >> np.uint64(27))) * _MIX[1]
        return z ^ (z >> np.uint64(31))


def keys(ids: pl.Series) -> np.ndarray:
    """A uint64 per id: its number, or a hash where the id is not just that number ("07", "a", 20 digits)."""
    numbers = ids.cast(pl.UInt64, strict=False)
    plain = numbers.is_not_null() & ~ids.str.starts_with("0") & ~ids.str.starts_with("+")
    if plain.all():
        return numbers.to_numpy()
    values = numbers.fill_null(0).to_numpy().copy()
    for row in (~plain & ids.is_not_null()).fill_null(False).arg_true():
        digest = hashlib.blake2b(str(ids[row]).encode(), digest_size=8).digest()
        values[row] = int.from_bytes(digest, "little")
    return values


def priority(ids: pl.Series, seed: int, salt: str = "") -> np.ndarray:
    """Pseudo-random uint64 per id, a function of seed, salt and id alone.

    >>> priority(pl.Series(["7", "a"]), 42).tolist() == priority(pl.Series(["a", "7"]), 42).tolist()[::-1]
    True
    """
    return priority_of_keys(keys(ids), seed, salt)


def priority_of_keys(values: np.ndarray, seed: int, salt: str = "") -> np.ndarray:
    """`priority` from the ids' `keys`."""
    key = hashlib.blake2b(f"{seed}/{salt}".encode(), digest_size=8).digest()
    return _splitmix64(values ^ np.frombuffer(key, dtype="<u8")[0])


def priorities(ids: pl.Series, seed: int) -> pl.Series:
    """`priority` as a column of that name."""
    return pl.Series("priority", priority(ids, seed), dtype=pl.UInt64)


def ranked(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows by country and priority, with a column `rank` (0 is a country's first row)."""
    frame = frame.sort("country_iso2", "priority", "id")
    return frame.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).over("country_iso2").alias("rank"))


def capped_quotas(ranks: pl.DataFrame, cap: int, limit: int | None = None) -> dict[str, int]:
    """Rows to take per country: up to `cap`; under `limit`, spread as evenly as the countries allow."""
    chosen = ranks.filter(pl.col("rank") < cap)
    if limit is not None:
        chosen = chosen.sort("rank", "priority", "id").head(limit)
    return _count(chosen)


def spread_quotas(ranks: pl.DataFrame, rows: int, first_per_country: int) -> dict[str, int]:
    """Rows to take per country: up to `first_per_country` each, then at random, `rows` in all."""
    first = pl.col("rank") < first_per_country
    head = ranks.filter(first).sort("rank", "priority", "id").head(rows)
    rest = ranks.filter(~first).sort("priority", "id").head(rows - head.height)
    return _count(pl.concat([head, rest]))


def _count(chosen: pl.DataFrame) -> dict[str, int]:
    return dict(chosen.group_by("country_iso2").len().sort("country_iso2").iter_rows())
