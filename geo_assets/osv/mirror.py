"""A directory in the Hub's own layout: `train.csv`, `test.csv`, `images/<split>/NN.zip`.

The reader of what `sources.py` puts there, whatever the source. A zip that stayed on the Hub is represented
by its member table, `NN.zip.members.parquet`; its chosen members pass through a spool directory
(`spool.py`). A mirror can be pickled, so that processes that extract share nothing but paths.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl

from geo_assets.osv import archive, spool
from geo_assets.osv.archive import MEMBER_SCHEMA

Split = Literal["train", "test"]
TABLE_SUFFIX = ".members.parquet"


@dataclass(frozen=True)
class Mirror:
    """The files of OSV-5M under one directory."""

    root: Path
    spool_dir: Path | None = None
    """Where fetched members of zips on the Hub are kept."""

    def csv(self, split: Split) -> Path:
        """Path of a split's CSV."""
        return self.root / f"{split}.csv"

    def members(self, split: Split) -> tuple[pl.DataFrame, Counter[str]]:
        """Member table of all zips of a split, sorted by id, and counts of what was skipped."""
        tables, skipped = [pl.DataFrame(schema=MEMBER_SCHEMA)], Counter[str]()
        folder = self.root / "images" / split
        for path in sorted([*folder.glob("*.zip"), *folder.glob(f"*.zip{TABLE_SUFFIX}")]):
            table, left_out = self._table(path)
            tables.append(table)
            skipped.update(left_out)
        members = pl.concat(tables)
        unique = members.unique("id", keep="first", maintain_order=True)
        skipped["repeated_stem"] += members.height - unique.height
        return unique.sort("id"), +skipped

    def _table(self, path: Path) -> tuple[pl.DataFrame, Counter[str]]:
        if path.suffix == ".zip":
            return archive.list_members(path, path.relative_to(self.root).as_posix())
        return read_table(path)

    def with_spool(self, spool_dir: Path) -> Mirror:
        """The same mirror with a place for fetched members."""
        return replace(self, spool_dir=spool_dir)

    def bring(self, members: list[dict]) -> None:
        """Have the members at hand: fetches those of zips that stayed on the Hub."""
        remote = spool.RemoteZips.of(self.root)
        if remote and self.spool_dir:
            spool.bring(remote, members, self.spool_dir)

    def read(self, member: dict) -> bytes:
        """Content of a member (a row of the member table), checked against its CRC-32.

        Raises:
            DamagedMember: the bytes are not what the archive promises.
        """
        if self.spool_dir and (raw := spool.raw_path(self.spool_dir, member["id"])).exists():
            return archive.member_bytes(raw.read_bytes(), member)
        return archive.read_member(self.root / member["zip"], member)


def write_table(path: Path, table: pl.DataFrame, skipped: Counter[str]) -> None:
    """Keep the member table of a zip that stays on the Hub, with the counts of what was skipped."""
    partial = path.with_name(f"{path.name}.tmp")
    table.with_columns(pl.col("zip").cast(pl.String)).write_parquet(
        partial, compression="zstd", metadata={f"skipped.{reason}": str(n) for reason, n in skipped.items()}
    )
    partial.replace(path)


def read_table(path: Path) -> tuple[pl.DataFrame, Counter[str]]:
    """What `write_table` wrote."""
    metadata = pl.read_parquet_metadata(path)
    skipped = {k.removeprefix("skipped."): int(v) for k, v in metadata.items() if k.startswith("skipped.")}
    return pl.read_parquet(path).cast({"zip": pl.Categorical}), Counter(skipped)
