"""Fonts of the signs: one subset of Noto Sans a script, from `data/fonts`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PIL import ImageFont

FONTS = Path(__file__).parents[1] / "data" / "fonts"

SMALLEST_PX, STEP_PX = 18, 4


@cache
def font_file(script: str) -> Path:
    """The font file of a script: TrueType, or OpenType for Chinese, Japanese and Korean."""
    return next(FONTS.glob(f"{script}.[ot]tf"))


@cache
def font(script: str, size_px: int) -> ImageFont.FreeTypeFont:
    """The font of a script at a size."""
    return ImageFont.truetype(font_file(script), size_px)


@cache
def _width_per_px(script: str, text: str) -> float:
    return font(script, 100).getlength(text) / 100


def fitting_size_px(script: str, text: str, largest_px: int, width_px: float) -> int:
    """The largest size, in steps of 4 px down to 18, at which the text is no wider than `width_px`.

    >>> fitting_size_px("Latin", "Ur", 58, 240)
    58
    """
    size_px = largest_px
    while size_px > SMALLEST_PX and size_px * _width_per_px(script, text) > width_px:
        size_px -= STEP_PX
    return max(size_px, SMALLEST_PX)
