"""The assets that bring data in: `osv_zips` and `pano_source`."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Whole, geo_asset
from geo_assets.workers.harness import Job

if TYPE_CHECKING:
    from PIL import Image

PHOTOS = 8


def _build_osv_zips(job: Job) -> None:
    from geo_assets.osv import sources

    sources.build_osv_zips(job.settings.osv_zips, job.out, job.runtime)


def _build_pano_source(job: Job) -> None:
    from geo_assets.osv import sources

    sources.build_pano_source(job.settings.pano_source, job.out, job.runtime)


def _files(whole: Whole) -> dict[str, Any]:
    """A table of the files, and what they come to."""
    files = json.loads((whole.path / "files.json").read_text(encoding="utf-8"))
    sizes = [int(entry.get("size", 0)) for entry in files.values()]
    rows = [
        {
            "file": name,
            "MB": metadata.near(int(entry.get("size", 0)) / 1e6),
            "source": entry.get("source", ""),
            "digest": str(entry.get("sha256") or entry.get("etag") or "")[:16],
        }
        for name, entry in sorted(files.items())
    ]
    return {"n_files": len(files), "total_mb": sum(sizes) / 1e6, "files": metadata.table(rows)}


def _zip_photos(path: Path) -> Iterator[tuple[Image.Image, str]]:
    """The first photos of a zip that open, with their names; nothing where it is no whole zip."""
    from PIL import Image, UnidentifiedImageError

    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile):  # read by ranges: the artifact holds no whole zip
        return
    with archive:
        for info in archive.infolist():
            name = Path(info.filename)
            if name.suffix.lower() not in {".jpg", ".jpeg"} or name.name.startswith("."):
                continue
            try:
                photo = Image.open(io.BytesIO(archive.read(info)))
                photo.load()
            except (OSError, zipfile.BadZipFile, UnidentifiedImageError, Image.DecompressionBombError):
                continue  # the demo's mirror has damaged ones on purpose
            yield photo, name.stem


def _describe_zips(whole: Whole) -> Mapping[str, Any]:
    from itertools import islice

    from geo_assets.report import previews

    photos = [found for path in sorted(whole.path.glob("images/*/*.zip"))[:2]
              for found in islice(_zip_photos(path), PHOTOS // 2)]  # fmt: skip
    pictures = {"photos": MetadataValue.md(previews.image_grid(photos))} if photos else {}
    return {**pictures, **_files(whole)}


def _describe_panoramas(whole: Whole) -> Mapping[str, Any]:
    import polars as pl
    from PIL import Image

    from geo_assets.report import previews, wording

    pictures: dict[str, Any] = {}
    if parts := sorted(whole.path.glob("data/*.parquet")):
        rows = pl.scan_parquet(parts[0]).select("image", "country_iso_alpha2").head(PHOTOS // 2).collect()
        photos = [
            (Image.open(io.BytesIO(image["bytes"])), wording.country(country))
            for image, country in rows.rows()
        ]
        pictures = {"panoramas": MetadataValue.md(previews.image_grid(photos, columns=2, most_px=320))}
    return {**pictures, **_files(whole)}


osv_zips = geo_asset("osv_zips", build=_build_osv_zips, describe=_describe_zips)
pano_source = geo_asset("pano_source", build=_build_pano_source, describe=_describe_panoramas)

ASSETS = (osv_zips, pano_source)
