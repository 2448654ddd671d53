"""Keep pictures of the test zips out of training.

The evaluation split and the training pool are built from one mirror without knowing of each other, so the
rule must be one that the pool can follow alone: whatever lies in the *test* zips, chosen for evaluation or
not, may not be in the pool. Identical bytes show in the zip directories (CRC-32 and size); near-identical
pictures show in the perceptual hashes of every test photo, which cost a reduced decode each (about 1 ms: a
minute of one core for a test zip of OSV-5M).
"""

from __future__ import annotations

import io
import logging
from functools import partial
from pathlib import Path

import polars as pl

from geo_assets.osv import images, schema
from geo_assets.osv.archive import DamagedMember
from geo_assets.osv.extract import Outcome
from geo_assets.osv.fingerprint import COPY_PX, Hashes, HashTable, hashes, near_pairs
from geo_assets.osv.mirror import Mirror
from geo_assets.osv.processes import Processes

logger = logging.getLogger(__name__)

CACHE = "test_hashes.parquet"
CACHE_SCHEMA = {"id": pl.String, "phash": pl.UInt64, "long_hash": pl.Binary}
MARGIN_BITS = 100
"""More than `fingerprint.SAME_BITS`, so that the leak check never finds what this rule let pass."""


def hash_member(member: dict, mirror: Mirror) -> Hashes | None:
    """Hashes of a member from a decode at reduced size; None where it is damaged."""
    try:
        data = mirror.read(member)
        with images.refusing():
            image = images.open_photo(io.BytesIO(data))
            images.check_size(*image.size)
            image.draft("L", (COPY_PX, COPY_PX))
            image.load()
        return hashes(images.luma_of(image))
    except (DamagedMember, images.BadImage):
        return None  # a test photo that does not decode can be no twin


class TestTwins:
    """Answers whether training photos have a twin in the test zips."""

    __test__ = False

    def __init__(self, mirror: Mirror, cache_dir: Path, processes: Processes) -> None:
        members, _ = mirror.members("test")
        self.contents = set(members.select("crc32", "bytes").iter_rows())
        self.table = HashTable.of_frame(_hash_table(mirror, members, cache_dir / CACHE, processes))

    def reasons(self, members: list[dict], outcomes: list[Outcome]) -> dict[str, str]:
        """Why stored photos must go, by id; `members` and `outcomes` are in the same order."""
        found = {
            outcome.id: "identical_to_test"
            for member, outcome in zip(members, outcomes, strict=True)
            if outcome.reason is None and (member["crc32"], member["bytes"]) in self.contents
        }
        rest = [o for o in outcomes if o.reason is None and o.id not in found]
        hashed = HashTable.of([o.phash for o in rest], [bytes.fromhex(o.long_hash) for o in rest])
        for i in near_pairs(hashed, self.table, MARGIN_BITS)[:, 0]:
            found[rest[int(i)].id] = "near_identical_to_test"
        return found


def _hash_table(mirror: Mirror, members: pl.DataFrame, cache: Path, processes: Processes) -> pl.DataFrame:
    """Columns id, phash, long_hash of every readable member, kept in `cache` for a resumed build."""
    if cache.exists():
        return pl.read_parquet(cache)
    logger.info(f"hashing {members.height:,} test photos, to keep their twins out of training")
    found = list(processes.map(partial(hash_member, mirror=mirror), members.to_dicts()))
    rows = [(i, h.phash, h.long_hash) for i, h in zip(members["id"], found, strict=True) if h]
    frame = pl.DataFrame(rows, schema=CACHE_SCHEMA, orient="row")
    schema.write_parquet(frame, cache)
    return frame
