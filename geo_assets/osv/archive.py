"""Zips of images: which members may be used, and the bytes of one member.

A member is known by its file stem, the id of its CSV row. `__MACOSX`, dotfiles, symbolic links, absolute or
climbing paths, encrypted entries, odd names, other files and repeated stems are skipped and counted.
Members are read by offset, so that opening a zip of 50,000 entries costs one pass over its directory, once,
and a zip that lies on a server is read by the same code (`ranges.py`). Left out: multi-disk archives.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import polars as pl

from geo_assets.errors import DataError

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})
SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""Stems that may become the name of a stored photo."""
LOCAL_HEADER_BYTES = 30
ENCRYPTED = 0x1

MEMBER_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "zip": pl.Categorical,
    "offset": pl.UInt64,
    "stored_bytes": pl.UInt32,
    "bytes": pl.UInt32,
    "crc32": pl.UInt32,
    "method": pl.UInt8,
}
"""One row a member: `zip` is the archive's path in the mirror, `offset` that of its local header."""


class DamagedMember(Exception):
    """The bytes of a member are not what the archive promises; `args[0]` is the reason to count."""


def skip_reason(info: zipfile.ZipInfo) -> str | None:
    """Why a directory entry is no image to use, or None.

    >>> skip_reason(zipfile.ZipInfo("__MACOSX/00/._123.jpg"))
    'macos_metadata'
    >>> skip_reason(zipfile.ZipInfo("00/123.JPG")) is None
    True
    """
    path = PurePosixPath(info.filename.replace("\\", "/"))
    if info.is_dir():
        return "directory"
    if "__MACOSX" in path.parts:
        return "macos_metadata"
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        return "unsafe_path"
    if any(part.startswith(".") for part in path.parts):
        return "dotfile"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "symlink"
    if path.suffix.lower() not in IMAGE_SUFFIXES:
        return "other_file"
    if not SAFE_ID.fullmatch(path.stem):
        return "unsafe_name"
    if info.flag_bits & ENCRYPTED:
        return "encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "unknown_compression"
    return None


def member_table(infos: Iterable[zipfile.ZipInfo], zip_name: str) -> tuple[pl.DataFrame, Counter[str]]:
    """Usable members of one archive, sorted by id, and counts of what was skipped."""
    skipped: Counter[str] = Counter()
    rows: dict[str, tuple] = {}
    for info in infos:
        if reason := skip_reason(info):
            skipped[reason] += reason != "directory"
            continue
        stem = PurePosixPath(info.filename.replace("\\", "/")).stem
        if stem in rows:
            skipped["repeated_stem"] += 1
            continue
        sizes = (info.header_offset, info.compress_size, info.file_size, info.CRC, info.compress_type)
        rows[stem] = (stem, zip_name, *sizes)
    frame = pl.DataFrame(list(rows.values()), schema=MEMBER_SCHEMA, orient="row")
    return frame.sort("id"), +skipped


def list_members(path: Path, zip_name: str) -> tuple[pl.DataFrame, Counter[str]]:
    """`member_table` of a zip on disk.

    Raises:
        DataError: the file is no zip or its directory is damaged (a cut download).
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return member_table(archive.infolist(), zip_name)
    except (zipfile.BadZipFile, OSError, struct.error) as error:
        raise DataError(
            f"{path} is not a whole zip ({error}): delete it and materialize osv_zips again"
        ) from error


def member_bytes(buffer: bytes, member: dict) -> bytes:
    """Content of one member from bytes that begin at its local header, checked against size and CRC-32.

    Raises:
        DamagedMember: the header is missing, the stream does not inflate, or size or CRC-32 differ.
    """
    stop = raw_length(member, buffer[:LOCAL_HEADER_BYTES])
    data = buffer[stop - member["stored_bytes"] : stop]
    if member["method"] == zipfile.ZIP_DEFLATED:
        try:
            data = zlib.decompressobj(-15).decompress(data, member["bytes"] + 1)
        except zlib.error:
            raise DamagedMember("zip_inflate") from None
    if len(data) != member["bytes"]:
        raise DamagedMember("zip_size")
    if zlib.crc32(data) != member["crc32"]:
        raise DamagedMember("zip_crc")
    return data


def raw_length(member: dict, head: bytes) -> int:
    """Bytes of a member in its archive, local header included; `head` is that header's first 30 bytes."""
    if len(head) < LOCAL_HEADER_BYTES or head[:4] != b"PK\x03\x04":
        raise DamagedMember("zip_header")
    name_bytes, extra_bytes = struct.unpack("<HH", head[26:30])
    return LOCAL_HEADER_BYTES + name_bytes + extra_bytes + member["stored_bytes"]


def read_member(path: Path, member: dict) -> bytes:
    """Content of one member of a zip on disk; `member` is a row of the member table."""
    with path.open("rb") as file:
        file.seek(member["offset"])
        head = file.read(LOCAL_HEADER_BYTES)
        return member_bytes(head + file.read(raw_length(member, head) - len(head)), member)


def damaged_members(path: Path) -> int:
    """How many usable members of a zip on disk do not give the bytes that its directory promises."""
    table, _ = list_members(path, path.name)
    damaged = 0
    for member in table.sort("offset").iter_rows(named=True):
        try:
            read_member(path, member)
        except DamagedMember:
            damaged += 1
    return damaged
