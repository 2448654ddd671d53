"""The user's own photos: a folder with GPS in EXIF, or a CSV that says where each was taken.

Positions are degrees (WGS 84). What a photo's EXIF says about its place is read here and goes no further: the
stored copy has no metadata. HEIC opens where pillow-heif is installed.
"""

from __future__ import annotations

import hashlib
import logging
import math
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from PIL import ExifTags, Image

from geo_assets.errors import DataError
from geo_assets.geo.countries import to_iso2
from geo_assets.osv import cards, images, labels, schema
from geo_assets.osv.fingerprint import hashes, sha256
from geo_assets.osv.folder import SetStats, countries, write_prints
from geo_assets.settings import EvalPhotos

logger = logging.getLogger(__name__)

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp", ".heic", ".heif"})
MANIFEST_REMEDY = "set eval_photos.manifest to a CSV with the columns file, latitude and longitude"


@dataclass(frozen=True)
class Found:
    """A photo and where it was taken, as far as known."""

    path: Path
    latitude: float | None
    longitude: float | None
    country_iso2: str | None = None
    attribution: str = ""
    licence: str = ""
    name: str | None = None


def enable_heic() -> bool:
    """Let Pillow open HEIC where pillow-heif is installed; returns whether it is."""
    try:
        from pillow_heif import register_heif_opener
    except ImportError:
        return False
    register_heif_opener()
    return True


def gps_of(image: Image.Image) -> tuple[float, float] | None:
    """(latitude, longitude) in degrees from an image's EXIF, or None where it has no usable position."""
    gps = images.exif_of(image, ExifTags.IFD.GPSInfo)
    values = []
    for number, letters in ((2, "NS"), (4, "EW")):
        try:
            parts = [float(part) for part in gps[number]]
            reference = str(gps.get(number - 1, "")).strip("\x00 ").upper()[:1]
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            return None
        if reference not in letters or not reference or not parts:
            return None
        degrees = sum(part / 60**i for i, part in enumerate(parts[:3]))
        values.append(-degrees if reference in "SW" else degrees)
    latitude, longitude = values
    usable = math.isfinite(latitude) and math.isfinite(longitude) and (latitude, longitude) != (0.0, 0.0)
    return (latitude, longitude) if usable and abs(latitude) <= 90 and abs(longitude) <= 180 else None


def read_gps(path: Path) -> tuple[float, float] | None:
    """`gps_of` a file; None also where the file is no image."""
    try:
        with images.refusing(), images.open_photo(path) as image:
            return gps_of(image)
    except images.BadImage:
        return None


def find_photos(settings: EvalPhotos) -> list[Found]:
    """The photos that a CSV lists, or else those that a folder holds, sorted by name.

    Raises:
        DataError: the folder or the CSV does not exist, or the CSV lacks a column.
    """
    folder = settings.folder.expanduser() if settings.folder else None
    if settings.manifest is not None:
        manifest = settings.manifest.expanduser()
        return _from_manifest(manifest, folder or manifest.parent)
    if folder is None:
        return []
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder: set eval_photos.folder to one that holds your photos")
    found = (p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    paths = sorted(p for p in found if not p.name.startswith("."))
    return [Found(path, *(read_gps(path) or (None, None))) for path in paths]


def _from_manifest(manifest: Path, folder: Path) -> list[Found]:
    header = schema.csv_header(manifest, MANIFEST_REMEDY)
    if missing := [name for name in ("file", "latitude", "longitude") if name not in header]:
        raise DataError(f"{manifest} lacks the column(s) {', '.join(missing)}: {MANIFEST_REMEDY}")
    optional = [n for n in ("id", "country_iso2", "licence", "attribution") if n in header]
    table = schema.read_csv(manifest, ("file", "latitude", "longitude", *optional), MANIFEST_REMEDY)
    table = table.with_columns(schema.trimmed("file", *optional))
    rows = table.drop_nulls("file").sort("file")
    return [
        Found(
            folder / row["file"], row["latitude"], row["longitude"], row.get("country_iso2"),
            row.get("attribution") or "", row.get("licence") or "", row.get("id"),
        )
        for row in rows.to_dicts()
    ]  # fmt: skip


def photo_id(found: Found, taken: set[str]) -> str:
    """A short unique id that is safe as a file name."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", found.name or found.path.stem).strip("_") or "photo"
    if name in taken:
        name += "_" + hashlib.sha256(str(found.path).encode()).hexdigest()[:8]
    taken.add(name)
    return name


def build_eval_photos(out_dir: Path, settings: EvalPhotos) -> SetStats:
    """The user's photos that have a position; an empty set where no folder and no CSV is set."""
    started, dropped, taken = time.monotonic(), Counter[str](), set[str]()
    (out_dir / "images").mkdir(parents=True, exist_ok=True)
    enable_heic()
    rows: list[dict] = []
    prints: list[tuple[str, str, int, bytes]] = []
    credits: list[tuple[str, ...]] = []
    for found in find_photos(settings):
        if settings.limit and len(rows) >= settings.limit:
            break
        try:
            row, fingerprint = _store(found, photo_id(found, taken), out_dir, settings.max_edge_px)
        except images.BadImage as error:
            dropped[error.args[0]] += 1
            logger.warning(f"{found.path.name}: {error.args[0]}")
            continue
        rows.append(row)
        prints.append(fingerprint)
        credits.append((row["id"], found.licence, found.attribution, ""))
    frame = _fill_countries(pl.DataFrame(rows, schema=schema.SET_SCHEMA))
    stats = SetStats(frame.height, countries(frame), dict(dropped), seconds=time.monotonic() - started)
    write_prints(out_dir, prints)
    cards.write_attribution(out_dir, credits)
    cards.write_dropped(out_dir, stats)
    cards.write_card(out_dir, "eval_photos", cards.OWN_PHOTOS, stats)
    schema.write_parquet(frame, out_dir / "eval_photos.parquet")
    return stats


def _store(
    found: Found, row_id: str, out_dir: Path, max_edge_px: int
) -> tuple[dict, tuple[str, str, int, bytes]]:
    try:
        data = found.path.read_bytes()
    except OSError:
        raise images.BadImage("file_missing") from None
    if found.latitude is None or found.longitude is None:
        images.decode(data, luma=True)  # a damaged photo has no EXIF to read: say that it is damaged
        raise images.BadImage("no_position")
    if not (abs(found.latitude) <= 90 and abs(found.longitude) <= 180):
        raise images.BadImage("coordinates_bad")
    photo = images.process(data, max_edge_px)
    path = f"images/{row_id}.jpg"
    (out_dir / path).write_bytes(photo.data)
    row = {
        "id": row_id, "image_path": path, "latitude": found.latitude, "longitude": found.longitude,
        "country_iso2": to_iso2(found.country_iso2), "width": photo.width, "height": photo.height,
    }  # fmt: skip
    prints = hashes(images.decode_luma(data))
    return row, (row_id, sha256(data), prints.phash, prints.long_hash)


def _fill_countries(frame: pl.DataFrame) -> pl.DataFrame:
    """Name the country of the nearest place where the CSV or EXIF does not."""
    if frame["country_iso2"].null_count() == 0:
        return frame
    country = labels.nearest_country(frame["latitude"].to_numpy(), frame["longitude"].to_numpy())
    return frame.with_columns(pl.col("country_iso2").fill_null(pl.Series(np.asarray(country, dtype=str))))
