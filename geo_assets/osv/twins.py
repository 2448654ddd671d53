"""Keep pictures of the test zips out of training.

The evaluation split and the training pool are built from one mirror without knowing of each other, so the rule
must be one that the pool can follow alone: whatever lies in the *test* zips, chosen for evaluation or not, may
not be in the pool. Identical bytes show in the zip directories (CRC-32 and size); near-identical pictures
show in the perceptual hash of every test photo, which costs one reduced decode each.
"""

from __future__ import annotations

import io
import logging
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image

from geo_assets.osv import images, leaks, schema
from geo_assets.osv.archive import DamagedMember
from geo_assets.osv.mirror import Mirror

logger = logging.getLogger(__name__)

HASHES = "test_hashes.parquet"
HASH_SCHEMA = {"id": pl.String, "phash": pl.UInt64}


def hash_member(member: dict, mirror: Mirror) -> int | None:
    """Perceptual hash of a member from a decode at an eighth of its size; None where it is damaged."""
    try:
        image = Image.open(io.BytesIO(mirror.read(member)))
        images.check_size(*image.size)
        image.draft("L", (64, 64))
        return leaks.phash(image.convert("L"))
    except (DamagedMember, images.BadImage, OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None  # a test photo that does not decode can be no twin


def hash_members(mirror: Mirror, members: pl.DataFrame, cache: Path, workers: int) -> pl.DataFrame:
    """Columns id, phash of every readable member, kept in `cache` for a resumed build."""
    if cache.exists():
        return pl.read_parquet(cache)
    rows = members.to_dicts()
    work = partial(hash_member, mirror=mirror)
    if workers == 1 or len(rows) < 256:
        hashes = [work(row) for row in rows]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            hashes = list(pool.map(work, rows, chunksize=64))
    frame = pl.DataFrame({"id": members["id"], "phash": hashes}, schema=HASH_SCHEMA).drop_nulls()
    schema.write_parquet(frame, cache)
    return frame


class TestTwins:
    """Answers whether a training photo has a twin in the test zips."""

    __test__ = False

    def __init__(self, mirror: Mirror, cache_dir: Path, workers: int) -> None:
        self.mirror = mirror
        members, _ = mirror.members("test")
        self.members = {row["id"]: row for row in members.to_dicts()}
        self.contents = {(row["crc32"], row["bytes"]) for row in self.members.values()}
        hashes = hash_members(mirror, members, cache_dir / HASHES, workers)
        self._signatures: dict[str, np.ndarray] = {}  # hashes propose many pairs of few photos
        self.hashes, self.hash_ids = hashes["phash"].to_numpy(), hashes["id"].to_list()

    def identical(self, member: dict) -> bool:
        """Whether a test member has the same CRC-32 and size."""
        return (member["crc32"], member["bytes"]) in self.contents

    def near(self, hashes: list[int], photos: list[Path]) -> list[bool]:
        """Whether each photo is the same picture as a test photo, up to encoding and scale."""
        found = [False] * len(photos)
        look = cache(leaks.signature_of)
        for i, j in leaks.near_hashes(np.array(hashes, dtype=np.uint64), self.hashes):
            if not found[i]:
                found[i] = leaks.same_picture(look(photos[i]), self._signature(self.hash_ids[j]))
        return found

    def _signature(self, test_id: str) -> np.ndarray:
        if test_id not in self._signatures:
            image = Image.open(io.BytesIO(self.mirror.read(self.members[test_id])))
            self._signatures[test_id] = leaks.signature(image)
        return self._signatures[test_id]
