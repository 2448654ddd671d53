"""Text that a camera burnt into the lower edge of a photo: position, date, speed.

About 2-3% of OSV-5M has it, and a model must not learn to read it. Characters of one font size are
components of equal top and bottom with small gaps; what else lies at a lower edge (gravel, grass, lane
marks, fences, dashboards) rarely forms a row of six. Works on brightness, so red text on a road of the same
brightness is missed. A row of four or five is unsure and counts where OCR reads digits in it. Left out:
text elsewhere in the photo. Sizes are px of the photo as given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image
from scipy import ndimage

from geo_assets.osv import ocr

STRIP = 0.125
"""Share of the height that is searched: the bottom tenth, and the upper half of text that begins there."""
SURE_CHARACTERS = 6
UNSURE_CHARACTERS = 4
MIN_CHARACTER_PX, MAX_CHARACTER_PX = 5, 34
BLUR_PX = 15
CONTRASTS = (25.0, 45.0)
MAX_PASSES = 3
_EIGHT = np.ones((3, 3), dtype=bool)


@dataclass(frozen=True)
class TextRow:
    """A row of characters in the strip: how many, and its first and last pixel row from the strip's top."""

    characters: int
    top: int
    bottom: int


def text_band_px(luma: Image.Image, use_ocr: bool = False) -> int:
    """Height of the band of burnt-in text at the lower edge of an upright photo; 0 where there is none.

    Args:
        luma: the photo; other modes are converted to brightness.
        use_ocr: let OCR judge rows that are too short to be sure (`ocr.available`).
    """
    grey = np.asarray(luma if luma.mode == "L" else luma.convert("L"))
    height = grey.shape[0]
    for found in range(MAX_PASSES):
        strip = grey[grey.shape[0] - round(height * STRIP) :]
        row = find_row(strip, UNSURE_CHARACTERS if found else SURE_CHARACTERS, use_ocr)
        if row is None:
            break
        cut = len(strip) - row.top + max(2, round(0.6 * (row.bottom - row.top)))
        grey = grey[: grey.shape[0] - cut]
    return height - grey.shape[0]


def find_row(
    strip: np.ndarray, sure_characters: int = SURE_CHARACTERS, use_ocr: bool = False
) -> TextRow | None:
    """The highest row of characters in a strip of brightness (h, w), or None.

    One row of `sure_characters` is enough to believe the shorter ones beside it, a second line of text.
    """
    if min(strip.shape) < MIN_CHARACTER_PX + 2 or not _has_strokes(strip):
        return None
    rows = [row for boxes in _components(strip) for row in _rows(boxes)]
    sure = any(row.characters >= sure_characters for row in rows)
    if sure or (use_ocr and rows and ocr.has_digits(strip)):
        return min(rows, key=lambda row: row.top)
    return None


def _has_strokes(strip: np.ndarray) -> bool:
    """Cheap gate: some consecutive pixel rows with many sharp changes from left to right."""
    values = strip.astype(np.int16)
    sharp = np.abs(np.diff(values, axis=1)) > CONTRASTS[0]
    busy = np.count_nonzero(sharp, axis=1) >= 2 * UNSURE_CHARACTERS
    return bool((np.convolve(busy, np.ones(MIN_CHARACTER_PX), "valid") == MIN_CHARACTER_PX).any())


def _components(strip: np.ndarray) -> Iterator[np.ndarray]:
    """Boxes (top, bottom, left, right), shape (n, 4), of bright and of dark spots at each contrast."""
    values = strip.astype(np.float32)
    detail = values - ndimage.uniform_filter(values, BLUR_PX, mode="nearest")
    for sign in (detail, -detail):
        for contrast in CONTRASTS:
            labels, count = ndimage.label(sign > contrast, structure=_EIGHT)
            if count < UNSURE_CHARACTERS:
                break
            slices = ndimage.find_objects(labels)
            yield np.array([(y.start, y.stop, x.start, x.stop) for y, x in slices])


def _rows(boxes: np.ndarray) -> Iterator[TextRow]:
    """Rows of at least UNSURE_CHARACTERS boxes that share top and bottom within a pixel."""
    height, width = boxes[:, 1] - boxes[:, 0], boxes[:, 3] - boxes[:, 2]
    shaped = (height >= MIN_CHARACTER_PX) & (height <= MAX_CHARACTER_PX)
    shaped &= (width <= 1.5 * height) & (width >= 0.1 * height) & (boxes[:, 0] > 0)
    boxes = boxes[shaped]
    lines, counts = np.unique(boxes[:, :2], axis=0, return_counts=True)
    close = (np.abs(lines[:, None] - lines[None]) <= 1).all(axis=2)
    for line in np.argsort(-(close @ counts), kind="stable")[:MAX_PASSES]:
        top, bottom = lines[line]
        members = boxes[(np.abs(boxes[:, :2] - lines[line]) <= 1).all(axis=1)]
        characters = _longest_run(members[np.argsort(members[:, 2], kind="stable")], bottom - top)
        if characters >= UNSURE_CHARACTERS:
            yield TextRow(characters, int(top), int(bottom))


def _longest_run(boxes: np.ndarray, height_px: int) -> int:
    """Most neighbours in a row, left to right, with gaps of at most about two characters."""
    gaps = boxes[1:, 2] - boxes[:-1, 3]
    breaks = np.flatnonzero((gaps > 2.2 * height_px) | (gaps < -1))
    return int(np.diff([-1, *breaks, len(boxes) - 1]).max(initial=0))
