"""The segments of a JPEG: its size, and the metadata that can be cut out without touching a pixel.

Metadata is EXIF, XMP, IPTC, comments and the like, wherever they stand, and whatever follows the image:
phones append previews and films there, with EXIF of their own. Segments that tell a decoder about colour
stay. Offsets are bytes, sizes px. Left out: what the pixels are (`images.py`).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

_COLOUR = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
"""Segments that tell a decoder about colour, by marker and what they begin with."""
_START_OF_FRAME = frozenset({0xC0, 0xC1, 0xC2})
_START_OF_SCAN, _END_OF_IMAGE, _COMMENT = 0xDA, 0xD9, 0xFE
_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""A marker among entropy-coded bytes, where FF is followed by 00 or a restart number."""


@dataclass(frozen=True)
class Jpeg:
    """What the marker segments of a JPEG say."""

    width: int
    height: int
    components: int
    metadata: tuple[tuple[int, int], ...]
    """Byte ranges that hold metadata, in order."""


def jpeg_segments(data: bytes) -> Jpeg | None:
    """Read the segments of a JPEG; None where the bytes are no whole one of a common kind."""
    if data[:2] != b"\xff\xd8":
        return None
    at, frame, components = 2, None, 0
    metadata: list[tuple[int, int]] = []
    while at + 2 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if marker == _END_OF_IMAGE:
            tail = [(at + 2, len(data))] if at + 2 < len(data) else []
            return Jpeg(*frame, components, (*metadata, *tail)) if frame else None
        stop = at + 2 + length
        if marker in _START_OF_FRAME:
            if stop > len(data) or length < 8:
                return None
            height, width, components = struct.unpack_from(">HHB", data, at + 5)
            frame = (width, height)
        elif marker == _START_OF_SCAN:
            found = _MARKER.search(data, stop)
            stop = found.start() if found else len(data)
        elif (0xE0 <= marker <= 0xEF or marker == _COMMENT) and not _is_colour(data, at):
            metadata.append((at, stop))
        at = stop
    return None


def _is_colour(data: bytes, at: int) -> bool:
    return data[at + 1] in _COLOUR and data.startswith(_COLOUR[data[at + 1]], at + 4)


def without_metadata(data: bytes, jpeg: Jpeg) -> bytes:
    """The same JPEG without its metadata; the very same bytes where it has none."""
    if not jpeg.metadata:
        return data
    parts, at = [], 0
    for start, stop in jpeg.metadata:
        parts.append(data[at:start])
        at = stop
    return b"".join([*parts, data[at:]])
