"""Draw docs/world.jpg: one scene of every country, chosen so that it shows all of its own clues.

python tools/world_sheet.py
"""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

from PIL import Image, ImageDraw

from geo_assets.world.clues import COUNTRIES, Clues, sample_clues, sample_place
from geo_assets.world.lettering import font
from geo_assets.world.scene import draw_scene

SHEET = Path(__file__).parents[1] / "docs" / "world.jpg"
COLUMNS, THUMB_PX, GAP_PX, LABEL_PX = 6, (232, 174), 4, 16
OWN = ("drive_side", "script", "edge_line", "warning_sign", "board", "pole", "house")
SEEN = frozenset({"script", "car", "warning_sign", "sun", "centre_line"})
SKIPPED = {"US": 2, "SE": 5, "AR": 1}
"""Scenes passed over because a post stands in front of what they show."""


def telling_scene(iso2: str) -> tuple[random.Random, Clues]:
    """The first scene of a country without noise and with everything in sight."""
    country = COUNTRIES[iso2]
    for number in count(SKIPPED.get(iso2, 0)):
        rng = random.Random(f"doc/{iso2}/{number}")
        clues = sample_clues(rng, sample_place(rng, iso2, "train"))
        own = all(getattr(clues, name) == getattr(country, name) for name in OWN)
        if own and clues.shows >= SEEN and clues.plate_rear in (country.plate_rear, "yellow"):
            return rng, clues
    raise AssertionError("unreachable: count() is endless")


def main() -> None:
    """Write the sheet."""
    width, height = THUMB_PX
    rows = -(-len(COUNTRIES) // COLUMNS)
    size = (COLUMNS * (width + GAP_PX) + GAP_PX, rows * (height + GAP_PX) + GAP_PX)
    sheet = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(sheet)
    for index, (iso2, country) in enumerate(COUNTRIES.items()):
        x = GAP_PX + index % COLUMNS * (width + GAP_PX)
        y = GAP_PX + index // COLUMNS * (height + GAP_PX)
        rng, clues = telling_scene(iso2)
        sheet.paste(draw_scene(rng, clues).resize(THUMB_PX, Image.Resampling.LANCZOS), (x, y))
        letters = font("Latin", 12)
        label_top = y + height - LABEL_PX
        pen.rectangle([x, label_top, x + letters.getlength(country.name) + 8, y + height], fill="white")
        pen.text((x + 4, label_top + 1), country.name, fill=(20, 20, 20), font=letters)
    sheet.save(SHEET, quality=76, optimize=True)


if __name__ == "__main__":
    main()
