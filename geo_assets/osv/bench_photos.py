"""Measure extracting chosen photos from zips against straightforward ways, in this process, files in cache.

Photos are drawn noise of OSV-5M's size and weight (910 x 512 px, about 50 kB). Costs are ms a
chosen photo, on one core.
"""

from __future__ import annotations

import io
import os
import shutil
import time
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from geo_assets.osv import archive, images
from geo_assets.osv.extract import Options, extract_one, image_path
from geo_assets.osv.mirror import Mirror

SIZE = (910, 512)
DIFFERENT = 64
ROUNDS = 5


def photo(seed: int) -> bytes:
    """A JPEG that compresses like a street photo."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (32, 57, 3), dtype=np.uint8)).resize(
        SIZE, Image.Resampling.BICUBIC
    )
    grain = rng.normal(0, 7, (SIZE[1], SIZE[0], 1))
    pixels = (np.asarray(coarse) + grain).clip(0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=62)
    return buffer.getvalue()


def write_zips(root: Path, zips: int, photos_per_zip: int) -> Mirror:
    """A test split of stored zips; photos repeat, ids do not."""
    folder = root / "images/test"
    folder.mkdir(parents=True, exist_ok=True)
    contents = [photo(seed) for seed in range(DIFFERENT)]
    for number in range(zips):
        path = folder / f"{number:02d}.zip"
        if path.exists():
            continue
        with zipfile.ZipFile(path.with_suffix(".tmp"), "w") as packed:
            for n in range(photos_per_zip):
                packed.writestr(f"{number:02d}/{number:02d}{n:06d}.jpg", contents[n % DIFFERENT])
        path.with_suffix(".tmp").replace(path)
    return Mirror(root)


def _chosen(mirror: Mirror, zips: int, count: int) -> list[dict]:
    """`count` members, spread over the first zips."""
    members: list[dict] = []
    for path in sorted((mirror.root / "images/test").glob("*.zip"))[:zips]:
        table, _ = archive.list_members(path, path.relative_to(mirror.root).as_posix())
        each = max(1, count // zips)
        members += table.gather_every(max(1, table.height // each)).head(each).to_dicts()
    return members


def copy_chosen(mirror: Mirror, out: Path, zips: int, count: int) -> int:
    """Read, check and pass through the chosen members: extraction alone."""
    members = _chosen(mirror, zips, count)
    for member in members:
        stored = images.pass_through(mirror.read(member), 1024)
        if stored is None:
            raise ValueError(f"{member['id']} does not pass through")
        (out / image_path(member["id"])).write_bytes(stored.data)
    return len(members)


def ingest_chosen(mirror: Mirror, out: Path, zips: int, count: int) -> int:
    """All that a set does to a photo: full decode, search for burnt-in text and fingerprints as well."""
    members = _chosen(mirror, zips, count)
    for member in members:
        extract_one(member, mirror, out, Options(1024, "crop"))
    return len(members)


def extract_all_then_open(mirror: Mirror, out: Path, zips: int, count: int) -> int:
    """Extract whole zips, then open the chosen files."""
    members = _chosen(mirror, zips, count)
    for path in sorted((mirror.root / "images/test").glob("*.zip"))[:zips]:
        with zipfile.ZipFile(path) as packed:
            packed.extractall(out / "all")
    for member in members:
        with Image.open(out / "all" / member["id"][:2] / f"{member['id']}.jpg") as image:
            image.load()
    return len(members)


def decode_and_encode(mirror: Mirror, out: Path, zips: int, count: int) -> int:
    """Read the chosen members with zipfile, decode and encode them with Pillow."""
    members = _chosen(mirror, zips, count)
    opened = {name: zipfile.ZipFile(mirror.root / name) for name in {m["zip"] for m in members}}
    for member in members:
        data = opened[member["zip"]].read(f"{member['id'][:2]}/{member['id']}.jpg")
        with Image.open(io.BytesIO(data)) as image:
            image.convert("RGB").save(out / image_path(member["id"]), quality=95)
    return len(members)


def copy_bytes(mirror: Mirror, out: Path, zips: int, count: int) -> int:
    """What the disk does: the same bytes, read and written as one file a photo, nothing checked."""
    members = _chosen(mirror, zips, count)
    for member in members:
        with (mirror.root / member["zip"]).open("rb") as file:
            file.seek(member["offset"] + archive.LOCAL_HEADER_BYTES)
            (out / image_path(member["id"])).write_bytes(file.read(member["stored_bytes"]))
    return len(members)


Way = Callable[[Mirror, Path, int, int], int]
WAYS: dict[str, Way] = {
    "copy chosen": copy_chosen,
    "ingest chosen": ingest_chosen,
    "extract all, open chosen": extract_all_then_open,
    "decode and encode chosen": decode_and_encode,
    "bare disk": copy_bytes,
}


@dataclass(frozen=True)
class Cost:
    """Milliseconds a chosen photo, by the clock and by the processor; listing the zips included."""

    wall_ms: float
    cpu_ms: float


def cost(way: Way, mirror: Mirror, scratch: Path, zips: int, count: int) -> Cost:
    """Cost of one go. What earlier goes left to be written is written before the clock starts."""
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "images").mkdir(parents=True)
    os.sync()
    wall, cpu = time.perf_counter(), time.process_time()
    done = way(mirror, scratch, zips, count)
    found = Cost(1000 * (time.perf_counter() - wall) / done, 1000 * (time.process_time() - cpu) / done)
    shutil.rmtree(scratch)
    return found


def compare(ways: Iterable[str], mirror: Mirror, scratch: Path, zips: int, count: int) -> dict[str, Cost]:
    """Least cost of each way over a few rounds; the ways take turns, so that no one has the better disk."""
    found: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, costs in found.items():
            costs.append(cost(WAYS[name], mirror, scratch, zips, count))
    return {n: Cost(min(c.wall_ms for c in f), min(c.cpu_ms for c in f)) for n, f in found.items()}
