"""The rows a set may choose from: labelled, with a member in the zips, ranked by seed.

Two lazy passes over the CSV: the first reads the labels only and ranks the rows, the second reads the other
columns of the chosen few. Memory is bounded by the labels of the rows that have a member.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from geo_assets.osv import labels, sampling, schema
from geo_assets.osv.labels import LabelCounts
from geo_assets.osv.mirror import Mirror, Split

RESERVE_SHARE = 0.5
RESERVE_ROWS = 100


@dataclass
class Candidates:
    """Ranked rows of one split and what was left out on the way."""

    ranks: pl.DataFrame
    """Columns id, latitude, longitude, country_iso2, priority, rank."""
    members: pl.DataFrame
    """Member table of the split, by id."""
    counts: LabelCounts
    skipped_members: Counter[str] = field(default_factory=Counter)
    rows_read: int = 0

    def dropped(self) -> Counter[str]:
        """Everything that was left out before a photo was opened, by reason."""
        members = Counter({f"member_{reason}": n for reason, n in self.skipped_members.items()})
        return +(self.counts.dropped + members)


def read_candidates(mirror: Mirror, split: Split, seed: int, per_country: int) -> Candidates:
    """Rank the rows of a split that have a usable label and a member.

    Args:
        mirror: where the CSV and the zips are.
        split: "train" or "test".
        seed: of the ranking.
        per_country: rows a set may take of one country; half as many again are kept in reserve.
    """
    members, skipped = mirror.members(split)
    counts = LabelCounts()
    if members.is_empty() and not mirror.csv(split).exists():
        return Candidates(_no_ranks(), members, counts, skipped)
    text = schema.scan_csv(mirror.csv(split), schema.LABEL_COLUMNS)
    has_member = pl.col("id").is_in(members["id"].implode()) | pl.col("id").is_null()
    rows = schema.parse(text.filter(has_member)).collect(engine="streaming")
    rows_read = text.select(pl.len()).collect(engine="streaming").item()
    counts.dropped["row_without_member"] += rows_read - rows.height
    counts.dropped["member_without_row"] += members.join(rows, on="id", how="anti").height
    kept = sampling.ranked(labels.clean(rows, counts), seed)
    reserve = int(per_country * (1 + RESERVE_SHARE)) + RESERVE_ROWS
    return Candidates(kept.filter(pl.col("rank") < reserve), members, counts, skipped, rows_read)


def _no_ranks() -> pl.DataFrame:
    types = {"id": pl.String, "latitude": pl.Float64, "longitude": pl.Float64, "country_iso2": pl.String}
    return pl.DataFrame(schema={**types, "priority": pl.UInt64, "rank": pl.UInt32})


def read_details(path: Path, ids: pl.Series) -> pl.DataFrame:
    """Region, city, sequence and creator of the given rows, one row an id, in no particular order."""
    wanted = ("id", "region", "city", "sequence", "creator_id", "creator_username")
    text = schema.scan_csv(path, wanted).filter(pl.col("id").is_in(ids.implode()))
    return (
        schema.parse_creator(text).collect(engine="streaming").unique("id", keep="first", maintain_order=True)
    )
