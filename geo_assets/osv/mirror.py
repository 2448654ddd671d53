"""A directory in the Hub's own layout: `train.csv`, `test.csv`, `images/<split>/NN.zip`.

The reader of what `sources.py` puts there, whatever the source. It can be pickled, so that processes that
extract share nothing but the path.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from geo_assets.osv import archive
from geo_assets.osv.archive import MEMBER_SCHEMA

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Mirror:
    """The files of OSV-5M under one directory."""

    root: Path

    def csv(self, split: Split) -> Path:
        """Path of a split's CSV."""
        return self.root / f"{split}.csv"

    def zips(self, split: Split) -> list[Path]:
        """A split's zips, sorted by name."""
        return sorted((self.root / "images" / split).glob("*.zip"))

    def members(self, split: Split) -> tuple[pl.DataFrame, Counter[str]]:
        """Member table of all zips of a split, sorted by id, and counts of what was skipped."""
        tables, skipped = [pl.DataFrame(schema=MEMBER_SCHEMA)], Counter[str]()
        for path in self.zips(split):
            table, left_out = archive.list_members(path, path.relative_to(self.root).as_posix())
            tables.append(table)
            skipped.update(left_out)
        members = pl.concat(tables)
        unique = members.unique("id", keep="first", maintain_order=True)
        skipped["repeated_stem"] += members.height - unique.height
        return unique.sort("id"), +skipped

    def read(self, member: dict) -> bytes:
        """Content of a member (a row of the member table), checked against its CRC-32."""
        return archive.read_member(self.root / member["zip"], member)
