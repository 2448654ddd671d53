"""What two sets share: ids, sequences, creators, bytes, pictures, and the distance between their places.

Distances are km on the sphere of `geo.geodesy`. A perceptual hash (64 bits, imagehash's pHash) proposes
near-identical pictures and a comparison of small copies decides, because pHash alone takes distinct scenes of
one drawn or real road for the same. Left out: the same place seen from another angle (the distance covers it).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import imagehash
import numpy as np
import polars as pl
from PIL import Image
from scipy.spatial import cKDTree

from geo_assets.geo.geodesy import EARTH_RADIUS_KM
from geo_assets.osv.folder import PRINTS, read_set

MAX_HASH_BITS = 10
COMPARE_PX = 48
MAX_PICTURE_ERROR = 0.20


def phash(image: Image.Image) -> int:
    """64-bit perceptual hash of an image."""
    small = image.reduce(max(1, min(image.size) // 64)) if image.mode == "L" else image
    return int(str(imagehash.phash(small)), 16)


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(data).hexdigest()


def near_hashes(left: np.ndarray, right: np.ndarray, max_bits: int = MAX_HASH_BITS) -> np.ndarray:
    """Index pairs (i, j), shape (n, 2), of uint64 hashes that differ in at most `max_bits` bits."""
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, len(left), 256):
        block = left[start : start + 256]
        i, j = np.nonzero(np.bitwise_count(block[:, None] ^ right[None, :]) <= max_bits)
        pairs.append(np.stack([i + start, j], axis=1))
    return np.concatenate(pairs)


def signature(image: Image.Image) -> np.ndarray:
    """Detail of a small grey copy, shape (COMPARE_PX, COMPARE_PX): brightness less its mean, unit length."""
    image.draft("L", (2 * COMPARE_PX, 2 * COMPARE_PX))
    small = image.convert("L").resize((COMPARE_PX, COMPARE_PX), Image.Resampling.BOX)
    values = np.asarray(small, dtype=np.float64)
    detail = values - values.mean()
    return detail / max(1e-9, float(np.linalg.norm(detail)))


def same_picture(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two signatures are of one picture up to encoding, scale and brightness."""
    return float(np.linalg.norm(left - right)) <= MAX_PICTURE_ERROR


def signature_of(path: Path) -> np.ndarray:
    """The signature of an image file."""
    with Image.open(path) as image:
        return signature(image)


def unit_vectors(latitude: np.ndarray, longitude: np.ndarray) -> np.ndarray:
    """Points (degrees, shape (n,)) on the unit sphere, shape (n, 3)."""
    lat, lon = np.radians(latitude), np.radians(longitude)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)


def nearest_km(points: pl.DataFrame, others: pl.DataFrame) -> np.ndarray:
    """Distance in km from each point to the nearest of the others (columns latitude, longitude); inf if none."""
    if others.is_empty() or points.is_empty():
        return np.full(points.height, np.inf)
    tree = cKDTree(unit_vectors(others["latitude"].to_numpy(), others["longitude"].to_numpy()))
    chord, _ = tree.query(unit_vectors(points["latitude"].to_numpy(), points["longitude"].to_numpy()))
    return 2.0 * EARTH_RADIUS_KM * np.arcsin(np.clip(chord / 2.0, 0.0, 1.0))


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
    """What an evaluation split shares with the training set; ids are the split's."""

    ids: tuple[str, ...]
    sequences: tuple[str, ...]
    identical: tuple[tuple[str, str], ...]
    """(split id, train id) of byte-identical photos."""
    near_identical: tuple[tuple[str, str], ...]
    within_1_km: int
    """Rows of the split with a training photo nearer than 1 km."""

    @property
    def clean(self) -> bool:
        """Whether nothing but proximity was found."""
        return not (self.ids or self.sequences or self.identical or self.near_identical)


FINGERPRINT_SCHEMA = {"id": pl.String, "sha256": pl.String, "phash": pl.UInt64}


def fingerprints(directory: Path) -> pl.DataFrame:
    """Columns id, sha256 (of the source bytes), phash of a set, in its order."""
    return pl.read_parquet(directory / PRINTS)


def compare(train_dir: Path, split_dir: Path) -> LeakReport:
    """Look for everything that a split must not share with the training set."""
    train, split = read_set(train_dir), read_set(split_dir)
    train_prints, split_prints = fingerprints(train_dir), fingerprints(split_dir)
    sequences = set(train["sequence"].drop_nulls())
    by_bytes = dict(zip(train_prints["sha256"], train_prints["id"], strict=True))
    identical = [
        (i, by_bytes[s]) for i, s in split_prints.select("id", "sha256").iter_rows() if s in by_bytes
    ]
    known = set(identical)
    near = []
    look = cache(signature_of)  # hashes propose many pairs of few photos
    for i, j in near_hashes(split_prints["phash"].to_numpy(), train_prints["phash"].to_numpy()):
        pair = (split_prints["id"][int(i)], train_prints["id"][int(j)])
        photos = split_dir / f"images/{pair[0]}.jpg", train_dir / f"images/{pair[1]}.jpg"
        if pair not in known and same_picture(*map(look, photos)):
            near.append(pair)
    train_ids = set(train["id"])
    return LeakReport(
        ids=tuple(i for i in split["id"] if i in train_ids),
        sequences=tuple(s for s in split["sequence"] if s in sequences),
        identical=tuple(identical),
        near_identical=tuple(near),
        within_1_km=int((nearest_km(split, train) < 1.0).sum()),
    )


def shared_with_pool(split_dir: Path, pool_dir: Path) -> dict[str, list[str]]:
    """Ids of a split's rows that the training pool has too, by kind; every list is empty where nothing leaks."""
    report = compare(pool_dir, split_dir)
    return {
        "id": list(report.ids),
        "sequence": list(report.sequences),
        "identical": [pair[0] for pair in report.identical],
        "near_identical": [pair[0] for pair in report.near_identical],
    }


def nearest_train_km(split_dir: Path, pool_dir: Path) -> list[float]:
    """Distance in km from each photo of a split to the nearest training photo."""
    return nearest_km(read_set(split_dir), read_set(pool_dir)).tolist()
