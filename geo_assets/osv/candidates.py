"""The rows a set may choose from: labelled, with a member in the zips, ranked by seed.

One pass over the CSV in blocks. Of each country only the rows of best priority are kept, enough for its
quota and a reserve, so memory does not grow with the file: the members' table and a block are what counts.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from geo_assets.osv import labels, sampling, schema
from geo_assets.osv.labels import REASON, LabelCounts
from geo_assets.osv.membership import Keys, Mask, Membership
from geo_assets.osv.mirror import Mirror, Split

RESERVE_SHARE = 0.5
RESERVE_ROWS = 100
COMPACT_ROWS = 200_000


@dataclass(frozen=True)
class Exclusions:
    """Ids and sequences that must stay out, with the reason to count for each list."""

    ids: dict[str, pl.Series] = field(default_factory=dict)
    sequences: dict[str, pl.Series] = field(default_factory=dict)

    def apply(self, rows: pl.DataFrame, usable: Mask, dropped: Counter[str]) -> Mask:
        """`usable` less what is excluded."""
        for column, lists in (("id", self.ids), ("sequence", self.sequences)):
            for reason, values in lists.items():
                out = rows[column].is_in(values.implode()).fill_null(False).to_numpy() & usable
                dropped[reason] += int(out.sum())
                usable = usable & ~out
        return usable


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
    available: dict[str, dict[str, int]] = field(default_factory=dict)
    """Usable rows by zip and country, before any cap: what a choice of zips can give."""

    def dropped(self) -> Counter[str]:
        """Everything that was left out before a photo was opened, by reason."""
        members = Counter({f"member_{reason}": n for reason, n in self.skipped_members.items()})
        return +(self.counts.dropped + members)


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
    found = Candidates(_no_rows(), table, LabelCounts(), skipped)
    best = _Best(found.rows, int(per_country * (1 + RESERVE_SHARE)) + RESERVE_ROWS, seed)
    if not table.is_empty() or mirror.csv(split).exists():
        _read(mirror, split, found, best, exclusions or Exclusions())
    by_key = best.rows()
    rows = by_key.join(table.select("id"), on="id", how="semi", maintain_order="left")
    found.counts.dropped["row_without_image"] += by_key.height - rows.height
    far = labels.far_labels(rows)
    found.counts.dropped["label_far_from_point"] += int(far.sum())
    found.rows = sampling.ranked(rows.filter(~far))
    return found


def _read(mirror: Mirror, split: Split, found: Candidates, best: _Best, exclusions: Exclusions) -> None:
    """Pass over the CSV once and keep the best; every row is kept or counted under one reason."""
    members, dropped = Membership(found.members), found.counts.dropped

    def keep(rows: pl.DataFrame) -> None:
        keys = sampling.keys(rows["id"])
        usable, at = members.first_rows(keys, dropped)
        usable = exclusions.apply(rows, usable, dropped)
        members.count(rows["country"], at, usable)
        best.add(rows, keys, usable)

    for block in schema.read_blocks(mirror.csv(split), schema.USED_COLUMNS, labels.reason().alias(REASON)):
        found.rows_read += block.height
        if block[REASON].null_count() < block.height:
            wrong = block.drop_nulls(REASON)
            members.see(sampling.keys(wrong["id"]))
            keep(labels.clean(wrong, found.counts))
            block = block.filter(pl.col(REASON).is_null())
        keep(block)
    dropped["image_without_row"] += int((~members.seen).sum())
    found.available = members.available()


class _Best:
    """The rows of best priority, `reserve` a country, of all that were added."""

    def __init__(self, rows: pl.DataFrame, reserve: int, seed: int) -> None:
        self.reserve, self.seed, self.parts, self.columns = reserve, seed, [rows], rows.columns
        self.bar = pl.DataFrame(schema={"country_iso2": pl.String, "bar": pl.UInt64})

    def add(self, rows: pl.DataFrame, keys: Keys, usable: Mask) -> None:
        """Add the usable rows, less those that can no longer be among the best of their country."""
        order = sampling.priority_of_keys(keys, self.seed)
        hopeful = usable & (order <= self._bars(rows["country"]))
        rows = rows.filter(pl.Series(hopeful)).with_columns(pl.Series("priority", order[hopeful]))
        self.parts.append(
            compact(schema.parse_details(rows).rename({"country": "country_iso2"}).select(self.columns))
        )
        if sum(part.height for part in self.parts) > COMPACT_ROWS + self.parts[0].height:
            self.rows()

    def _bars(self, countries: pl.Series) -> Keys:
        """The priority that a row of each country must not exceed."""
        if self.bar.is_empty():
            return np.full(len(countries), np.iinfo(np.uint64).max)
        bars = countries.to_frame("country_iso2").join(
            self.bar, "country_iso2", "left", maintain_order="left"
        )
        return bars["bar"].fill_null(np.iinfo(np.uint64).max).to_numpy()

    def rows(self) -> pl.DataFrame:
        """The best rows so far, by country and priority."""
        ranked = sampling.ranked(pl.concat(self.parts)).filter(pl.col("rank") < self.reserve)
        full = ranked.filter(pl.col("rank") == self.reserve - 1)
        self.bar = full.select("country_iso2", pl.col("priority").alias("bar"))
        self.parts = [compact(ranked.drop("rank"))]
        return self.parts[0]


def compact(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows in buffers of their own: filtered text columns keep the text of every row alive."""
    return pl.DataFrame(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))


def _no_rows() -> pl.DataFrame:
    types: dict[str, pl.DataType | type[pl.DataType]] = dict.fromkeys(schema.USED_COLUMNS, pl.String)
    empty = pl.DataFrame(schema={**types, "latitude": pl.Float64, "longitude": pl.Float64})
    return empty.rename({"country": "country_iso2"}).with_columns(sampling.priorities(empty["id"], 0))
