"""Take a mirror from a directory on this machine, without copying what can be linked.

Zips are linked. Photos that lie loose (`images/<split>/<id>.jpg`, in subfolders or flat, as after an
extraction) are packed into one stored zip a split, so that everything downstream sees one layout.
"""

from __future__ import annotations

import logging
import os
import shutil
import zipfile
from pathlib import Path

from geo_assets.errors import DataError
from geo_assets.osv import archive

logger = logging.getLogger(__name__)

ZIP_TIME = (1980, 1, 1, 0, 0, 0)


def folder_of(path: Path | None, section: str) -> Path:
    """The directory that a section's `local_dir` names."""
    path = path.expanduser() if path else None
    if path is None or not path.is_dir():
        raise DataError(
            f"{section}.local_dir is {path}, which is no folder: set it to the one with your copy"
        )
    return path


def place(folder: Path, out_dir: Path, names: list[str]) -> None:
    """Link the named files of `folder` into `out_dir`; zips that do not exist are packed from loose photos.

    Raises:
        DataError: files are missing, or a zip's directory is damaged.
    """
    missing = [name for name in names if not (folder / name).is_file()]
    packed = {name: loose for name in missing if (loose := _loose_photos(folder, name))}
    if lacking := [name for name in missing if name not in packed]:
        raise DataError(
            f"{folder} lacks {', '.join(lacking)}: copy them there or name other zips in the profile"
        )
    for name in names:
        target = out_dir / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        if name in packed:
            _pack(packed[name], target)
        else:
            link(folder / name, target)
        if target.suffix == ".zip":
            archive.list_members(target, name)


def _loose_photos(folder: Path, zip_name: str) -> list[Path]:
    """Loose photos that stand for a zip: those in the folder of its name; else the first zip gets all."""
    path = folder / zip_name
    if path.suffix != ".zip":
        return []
    split = path.parent.name
    of_zip = path.with_suffix("")
    roots = [of_zip] if of_zip.is_dir() else []
    if not roots and path.stem == "00" and not any(path.parent.glob("*.zip")):
        roots = [path.parent, folder / split]
    return sorted(
        photo for root in roots if root.is_dir()
        for photo in root.rglob("*") if photo.suffix.lower() in archive.IMAGE_SUFFIXES and photo.is_file()
    )  # fmt: skip


def _pack(photos: list[Path], target: Path) -> None:
    """A stored zip of the photos, the same bytes for the same photos."""
    partial = target.with_suffix(".tmp")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as packed:
        for photo in photos:
            packed.writestr(zipfile.ZipInfo(photo.name, date_time=ZIP_TIME), photo.read_bytes())
    partial.replace(target)
    logger.info(f"{target.name}: packed {len(photos):,} loose photos")


def link(source: Path, target: Path) -> None:
    """Hard-link, else link symbolically, else copy: a mirror of 259 GB is not copied without need."""
    for method in (os.link, os.symlink, shutil.copyfile):
        try:
            method(source.resolve(), target)
            return
        except OSError:
            target.unlink(missing_ok=True)
    raise DataError(f"cannot place {target}: check that you may write there and that the disk has room")
