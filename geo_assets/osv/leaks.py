"""What two sets share: ids, sequences, creators, bytes, pictures, and the distance between their places.

Distances are km on the sphere of `geo.geodesy`. What makes two pictures near-identical is in
`fingerprint.py`. Left out: the same place seen from another angle, which the distance covers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from geo_assets.osv import sphere
from geo_assets.osv.fingerprint import HashTable, near_pairs
from geo_assets.osv.folder import PRINTS, read_set

NEAR_KM = 1.0


def nearest_km(points: pl.DataFrame, others: pl.DataFrame) -> np.ndarray:
    """Distance in km from each row (columns latitude, longitude) to the nearest other; inf if none."""
    columns = [frame[name].to_numpy() for frame in (points, others) for name in ("latitude", "longitude")]
    return sphere.nearest_km(*columns)


def ladder(train: pl.DataFrame, split: pl.DataFrame) -> pl.DataFrame:
    """The leak ladder of a split: per row whether its creator also has training photos, and how far they are.

    Args:
        train: the training set (columns latitude, longitude, creator_id).
        split: the evaluation set.

    Returns:
        Columns id, same_creator (bool), nearest_train_km (float64), in the order of the split.
    """
    creators = set(train["creator_id"].drop_nulls())
    return pl.DataFrame(
        {
            "id": split["id"],
            "same_creator": [creator in creators for creator in split["creator_id"]],
            "nearest_train_km": nearest_km(split, train),
        },
        schema={"id": pl.String, "same_creator": pl.Boolean, "nearest_train_km": pl.Float64},
    )


@dataclass(frozen=True)
class LeakReport:
    """What an evaluation split shares with the training set, by the split's ids."""

    ids: tuple[str, ...]
    sequences: tuple[str, ...]
    """Rows whose sequence has training photos."""
    identical: tuple[tuple[str, str], ...]
    """(split id, train id) of byte-identical photos."""
    near_identical: tuple[tuple[str, str], ...]
    within_1_km: int
    """Rows of the split with a training photo nearer than 1 km."""
    n: int
    """Rows of the split."""

    def shared(self) -> dict[str, list[str]]:
        """Ids of the split's rows that the training set has too, by kind; all empty where nothing leaks."""
        return {
            "id": list(self.ids),
            "sequence": list(self.sequences),
            "identical": [pair[0] for pair in self.identical],
            "near_identical": [pair[0] for pair in self.near_identical],
        }

    @property
    def clean(self) -> bool:
        """Whether nothing but proximity was found."""
        return not any(self.shared().values())


def compare(train_dir: Path, split_dir: Path) -> LeakReport:
    """Look for everything that a split must not share with the training set."""
    train, split = read_set(train_dir), read_set(split_dir)
    train_prints, split_prints = pl.read_parquet(train_dir / PRINTS), pl.read_parquet(split_dir / PRINTS)
    train_ids, sequences = set(train["id"]), set(train["sequence"].drop_nulls())
    by_bytes = dict(train_prints.select("sha256", "id").iter_rows())
    identical = {
        i: by_bytes[sha] for i, sha in split_prints.select("id", "sha256").iter_rows() if sha in by_bytes
    }
    pairs = near_pairs(HashTable.of_frame(split_prints), HashTable.of_frame(train_prints)).tolist()
    near = ((split_prints["id"][i], train_prints["id"][j]) for i, j in pairs)
    return LeakReport(
        ids=tuple(i for i in split["id"] if i in train_ids),
        sequences=tuple(i for i, s in split.select("id", "sequence").iter_rows() if s in sequences),
        identical=tuple(identical.items()),
        near_identical=tuple(pair for pair in near if pair[0] not in identical),
        within_1_km=int((nearest_km(split, train) < NEAR_KM).sum()),
        n=split.height,
    )
