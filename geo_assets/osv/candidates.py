"""The rows a set may choose from: labelled, with a member in the zips, ranked by seed.

One pass over the CSV in blocks. Of each country only the rows of highest rank are kept, enough for its quota
and a reserve, so memory does not grow with the file: the members' table and one block are what counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from geo_assets.osv import labels, sampling, schema
from geo_assets.osv.labels import LabelCounts
from geo_assets.osv.mirror import Mirror, Split

RESERVE_SHARE = 0.5
RESERVE_ROWS = 100
COMPACT_ROWS = 300_000


@dataclass(frozen=True)
class Exclusions:
    """Ids and sequences that must stay out, with the reason to count for each id list."""

    ids: dict[str, pl.Series] = field(default_factory=dict)
    sequences: pl.Series = field(default_factory=lambda: pl.Series([], dtype=pl.String))

    def apply(self, rows: pl.DataFrame, dropped: Counter[str]) -> pl.DataFrame:
        """The rows that are not excluded."""
        for reason, ids in self.ids.items():
            rows = _drop(rows, pl.col("id").is_in(ids.implode()), reason, dropped)
        shared = pl.col("sequence").is_in(self.sequences.implode())
        return _drop(rows, shared.fill_null(False), "sequence_in_test", dropped)


def _drop(rows: pl.DataFrame, which: pl.Expr, reason: str, dropped: Counter[str]) -> pl.DataFrame:
    kept = rows.filter(~which)
    dropped[reason] += rows.height - kept.height
    return kept


@dataclass
class Candidates:
    """Ranked rows of one split and what was left out on the way."""

    rows: pl.DataFrame
    """Columns of `schema.USED_COLUMNS` (the country as country_iso2), priority and rank."""
    members: pl.DataFrame
    """Member table of the split, by id."""
    counts: LabelCounts
    skipped_members: Counter[str]
    rows_read: int = 0

    def dropped(self) -> Counter[str]:
        """Everything that was left out before a photo was opened, by reason."""
        members = Counter({f"member_{reason}": n for reason, n in self.skipped_members.items()})
        return +(self.counts.dropped + members)


class _Members:
    """Which ids have a member, in 9 bytes a member."""

    def __init__(self, ids: pl.Series) -> None:
        self.keys = np.sort(sampling.keys(ids))
        self.seen = np.zeros(len(self.keys), dtype=bool)

    def first_rows(self, ids: pl.Series, dropped: Counter[str]) -> pl.Series:
        """Mask of the rows that have a member and are the first with their id; the others are counted."""
        keys = sampling.keys(ids)
        at = np.searchsorted(self.keys, keys).clip(max=max(0, len(self.keys) - 1))
        has = (self.keys[at] == keys) if len(self.keys) else np.zeros(len(keys), dtype=bool)
        has &= ids.is_not_null().to_numpy()
        dropped["row_without_member"] += int((~has & ids.is_not_null().to_numpy()).sum())
        _, first = np.unique(keys, return_index=True)
        repeated = np.ones(len(keys), dtype=bool)
        repeated[first] = False
        repeated |= has & self.seen[at] if len(self.keys) else False
        dropped["id_repeated"] += int((has & repeated).sum())
        self.seen[at[has]] = True
        return pl.Series(has & ~repeated)


def read_candidates(
    mirror: Mirror, split: Split, seed: int, per_country: int, exclusions: Exclusions | None = None
) -> Candidates:
    """Rank the rows of a split that have a usable label and a member.

    Args:
        mirror: where the CSV and the zips are.
        split: "train" or "test".
        seed: of the ranking.
        per_country: rows a set may take of one country; half as many again are kept in reserve.
        exclusions: rows that must stay out.
    """
    table, skipped = mirror.members(split)
    found = Candidates(_no_rows(seed), table, LabelCounts(), skipped)
    if table.is_empty() and not mirror.csv(split).exists():
        return found
    members, reserve = _Members(table["id"]), int(per_country * (1 + RESERVE_SHARE)) + RESERVE_ROWS
    dropped, pool = found.counts.dropped, [found.rows]
    for block in schema.read_blocks(mirror.csv(split)):
        found.rows_read += block.height
        first = members.first_rows(block["id"], dropped)
        rows = labels.clean(block.filter(first | block["id"].is_null()), found.counts)
        if exclusions:
            rows = exclusions.apply(rows, dropped)
        pool.append(sampling.ranked(rows, seed))
        if sum(part.height for part in pool) > COMPACT_ROWS:
            pool = [_best(pool, reserve)]
    dropped["member_without_row"] += int((~members.seen).sum())
    rows = _best(pool, reserve).join(table.select("id"), on="id", how="semi", maintain_order="left")
    far = labels.far_labels(rows)
    dropped["label_far_from_point"] += int(far.sum())
    found.rows = _best([rows.filter(~far)], reserve)
    return found


def _best(parts: list[pl.DataFrame], reserve: int) -> pl.DataFrame:
    """The first `reserve` rows of each country, ranked anew."""
    rows = pl.concat(parts).sort("country_iso2", "priority", "id")
    rank = pl.int_range(pl.len(), dtype=pl.UInt32).over("country_iso2").alias("rank")
    return rows.with_columns(rank).filter(pl.col("rank") < reserve)


def _no_rows(seed: int) -> pl.DataFrame:
    types: dict[str, pl.DataType | type[pl.DataType]] = dict.fromkeys(schema.USED_COLUMNS, pl.String)
    empty = pl.DataFrame(schema={**types, "latitude": pl.Float64, "longitude": pl.Float64})
    return sampling.ranked(empty.rename({"country": "country_iso2"}), seed)
