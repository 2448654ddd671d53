"""Put the OSV-5M mirror and the panorama source in place: downloaded, linked from a directory, or drawn.

The result has the Hub's own layout and `files.json` says of each file its size, digest and origin.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from pathlib import Path

from geo_assets.errors import DataError
from geo_assets.osv import archive
from geo_assets.settings import OsvZips, PanoSource, Runtime

logger = logging.getLogger(__name__)

BLOCK = 1 << 22


def wanted_files(settings: OsvZips) -> list[str]:
    """Files of the mirror that the settings name; a split without zips needs no CSV."""
    names = []
    for split, numbers in (("train", settings.train_zips), ("test", settings.test_zips)):
        if numbers:
            names += [f"{split}.csv", *(f"images/{split}/{number:02d}.zip" for number in numbers)]
    return names


def build_osv_zips(settings: OsvZips, out_dir: Path, runtime: Runtime) -> dict[str, dict]:
    """Fill `out_dir` with the mirror that the settings describe; returns what `files.json` holds.

    Raises:
        DataError: a file is missing, damaged or cannot be fetched.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    if settings.source == "demo":
        from geo_assets.world import mirror

        mirror.draw_mirror(out_dir, settings, runtime.workers)
        return _describe(out_dir, "demo")
    if settings.source == "local":
        _link_all(_folder(settings.local_dir, "osv_zips"), out_dir, wanted_files(settings))
        return _describe(out_dir, "local")
    raise DataError("osv_zips.source hub is not available yet: set osv_zips.source to local or demo")


def build_pano_source(settings: PanoSource, out_dir: Path, runtime: Runtime) -> dict[str, dict]:
    """Fill `out_dir` with the panorama parquet files; nothing but `files.json` where the source is off."""
    out_dir.mkdir(parents=True, exist_ok=True)
    if settings.source == "off":
        return _describe(out_dir, "off")
    if settings.source == "demo":
        from geo_assets.world import panorama

        panorama.draw_panoramas(out_dir, settings, runtime.workers)
        return _describe(out_dir, "demo")
    if settings.source == "local":
        folder = _folder(settings.local_dir, "pano_source")
        names = sorted(path.relative_to(folder).as_posix() for path in (folder / "data").glob("*.parquet"))
        if not names:
            raise DataError(
                f"{folder} has no data/*.parquet: set pano_source.local_dir to a copy of {settings.repo}"
            )
        _link_all(folder, out_dir, names)
        return _describe(out_dir, "local")
    raise DataError("pano_source.source hub is not available yet: set pano_source.source to local or off")


def _folder(path: Path | None, section: str) -> Path:
    if path is None or not path.is_dir():
        raise DataError(
            f"{section}.local_dir is {path}, which is no folder: set it to the one with your copy"
        )
    return path


def _link_all(folder: Path, out_dir: Path, names: list[str]) -> None:
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise DataError(
            f"{folder} lacks {', '.join(missing)}: copy them there or name other zips in the profile"
        )
    for name in names:
        target = out_dir / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        _link(folder / name, target)
        if name.endswith(".zip"):
            archive.list_members(target, name)


def _link(source: Path, target: Path) -> None:
    """Hard-link, else link symbolically, else copy: a mirror of 259 GB is not copied without need."""
    for method in (os.link, os.symlink, shutil.copyfile):
        try:
            method(source.resolve(), target)
            return
        except OSError:
            target.unlink(missing_ok=True)
    raise DataError(f"cannot place {target}: check that you may write there and that the disk has room")


def file_sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _describe(out_dir: Path, source: str) -> dict[str, dict]:
    """Write files.json from what lies in the directory."""
    files = {}
    for path in sorted(p for p in out_dir.rglob("*") if p.is_file() and p.name != "files.json"):
        name = path.relative_to(out_dir).as_posix()
        files[name] = {"size": path.stat().st_size, "sha256": file_sha256(path), "source": source}
    (out_dir / "files.json").write_text(json.dumps(files, indent=2) + "\n", encoding="utf-8")
    return files
