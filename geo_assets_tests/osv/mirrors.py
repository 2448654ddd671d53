"""Small mirrors in the Hub's layout, made of noise photos, for tests."""

from __future__ import annotations

import csv
import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from geo_assets.osv.schema import OSV_COLUMNS
from geo_assets.settings import EvalOsv, TrainPool

POOL = TrainPool(cap_per_country=8)
EVAL = EvalOsv(rows=10, first_per_country=2)
PLACES = {"FR": (48.85, 2.35), "NA": (-22.56, 17.08), "JP": (35.68, 139.69), "BR": (-23.55, -46.63)}


def jpeg(seed: int = 0, size: tuple[int, int] = (160, 96), **options: object) -> bytes:
    """A JPEG of smooth noise: every seed is another picture."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (12, 20, 3), dtype=np.uint8))
    buffer = io.BytesIO()
    coarse.resize(size, Image.Resampling.BICUBIC).save(buffer, "JPEG", quality=85, **options)
    return buffer.getvalue()


def bomb(size: tuple[int, int] = (20_000, 10_000)) -> bytes:
    """A small PNG that says it has so many pixels."""
    buffer = io.BytesIO()
    Image.new("1", (64, 64)).save(buffer, "PNG")
    data = bytearray(buffer.getvalue())
    data[16:24] = size[0].to_bytes(4, "big") + size[1].to_bytes(4, "big")
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


def row(member_id: str, country: str = "FR", **cells: object) -> dict[str, object]:
    """A CSV row at a place of the country; any column can be given."""
    latitude, longitude = PLACES.get(country, PLACES["FR"])
    base: dict[str, object] = dict.fromkeys(OSV_COLUMNS, "")
    base |= {"id": member_id, "latitude": latitude, "longitude": longitude, "country": country}
    base |= {"region": "R", "city": "C", "sequence": f"s{member_id}", "creator_id": f"9{member_id}"}
    return {**base, **cells}


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write a CSV with the 32 columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, OSV_COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def write_zip(path: Path, members: Mapping[str, bytes], compress: bool = False) -> None:
    """Write a zip with the given member names and bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, method)


def write_split(root: Path, split: str, countries: Sequence[str], first_id: int, zips: int = 1) -> None:
    """A split with one photo a country given; ids count up from `first_id`."""
    ids = [str(first_id + n) for n in range(len(countries))]
    write_csv(root / f"{split}.csv", [row(i, c) for i, c in zip(ids, countries, strict=True)])
    for number in range(zips):
        members = {f"{number:02d}/{i}.jpg": jpeg(int(i)) for i in ids[number::zips]}
        write_zip(root / f"images/{split}/{number:02d}.zip", members)


def write_mirror(root: Path, train: int = 60, test: int = 24, train_zips: int = 2) -> Path:
    """A whole mirror: `train` and `test` photos over four countries."""
    names = sorted(PLACES)
    write_split(root, "train", [names[n % 4] for n in range(train)], 100_000, train_zips)
    write_split(root, "test", [names[n % 4] for n in range(test)], 900_000)
    return root
