"""Cut the sign fonts down to the names in places.csv; the results are committed in data/fonts.

Run it after `curate_places.py` changed a name, with Noto Sans (SIL Open Font License 1.1) from the
Debian packages fonts-noto-core and fonts-noto-cjk:

    python tools/subset_fonts.py /usr/share/fonts

Hinting is dropped; scripts that need shaping (Arabic, Devanagari, Thai) keep all layout features.
"""

from __future__ import annotations

import csv
import string
import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

DATA = Path(__file__).parents[1] / "geo_assets" / "data"
CJK = "opentype/noto/NotoSansCJK-Bold.ttc"
SOURCES = {
    "Latin": ("truetype/noto/NotoSans-Bold.ttf", -1),
    "Cyrillic": ("truetype/noto/NotoSans-Bold.ttf", -1),
    "Greek": ("truetype/noto/NotoSans-Bold.ttf", -1),
    "Arabic": ("truetype/noto/NotoSansArabic-Bold.ttf", -1),
    "Devanagari": ("truetype/noto/NotoSansDevanagari-Bold.ttf", -1),
    "Thai": ("truetype/noto/NotoSansThai-Bold.ttf", -1),
    "Japanese": (CJK, 0),
    "Hangul": (CJK, 1),
    "ChineseT": (CJK, 3),
}
"""Script -> file below the fonts folder and the face in it."""
WHOLE_BLOCKS = {
    "Latin": string.printable.strip() + " " + "".join(map(chr, range(0xA1, 0x250))) + "–—’‘“”…€",
    "Cyrillic": "".join(map(chr, range(0x400, 0x460))),
    "Greek": "".join(map(chr, range(0x386, 0x3CF))),
    "Arabic": "".join(map(chr, range(0x621, 0x653))),
    "Devanagari": "".join(map(chr, range(0x900, 0x970))),
    "Thai": "".join(map(chr, range(0xE01, 0xE3B))) + "".join(map(chr, range(0xE3F, 0xE5C))),
}
"""Small alphabets are kept whole, so that another name needs no new font."""


def main() -> None:
    """Write one font a script."""
    fonts = Path(sys.argv[1])
    words: dict[str, str] = {}
    with (DATA / "world" / "countries.csv").open(encoding="utf-8", newline="") as file:
        scripts = {row["iso2"]: row["script"] for row in csv.DictReader(file)}
    with (DATA / "world" / "places.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            words[scripts[row["iso2"]]] = words.get(scripts[row["iso2"]], "") + row["sign_name"]
            words["Latin"] = words.get("Latin", "") + row["name"] + row["name"].upper()
    for script, (name, face) in SOURCES.items():
        font = TTFont(fonts / name, fontNumber=face)
        options = subset.Options(
            layout_features=["*"], hinting=False, name_IDs=[0, 1, 2, 13, 14], notdef_outline=True
        )
        cutter = subset.Subsetter(options)
        cutter.populate(text=words[script] + WHOLE_BLOCKS.get(script, "") + " -")
        cutter.subset(font)
        suffix = "otf" if "CFF " in font else "ttf"
        font.save(DATA / "fonts" / f"{script}.{suffix}")


if __name__ == "__main__":
    main()
