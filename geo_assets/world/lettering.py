"""Fonts of the signs: one subset of Noto Sans a script, from `data/fonts`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PIL import ImageFont

FONTS = Path(__file__).parents[1] / "data" / "fonts"

SMALLEST_PX = 18


@cache
def font(script: str, size_px: int) -> ImageFont.FreeTypeFont:
    """The font of a script at a size."""
    return ImageFont.truetype(FONTS / f"{script}.ttf", size_px)


def fitting_font(script: str, text: str, largest_px: int, width_px: float) -> ImageFont.FreeTypeFont:
    """The largest font in steps of 4 px in which the text is no wider than `width_px`."""
    size_px = largest_px
    while size_px > SMALLEST_PX and font(script, size_px).getlength(text) > width_px:
        size_px -= 4
    return font(script, size_px)
