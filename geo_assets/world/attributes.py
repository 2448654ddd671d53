"""What a country's roads look like: one row a country, from `data/world/countries.csv`.

The words of a row are the words of the clue text. Sources of every column are listed in
`data/world/SOURCES.md`. Left out: everything regional (a province's own plates or signs).
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

WORLD_DATA = Path(__file__).parents[1] / "data" / "world"

SCRIPT_WORDS = {
    "Latin": "Latin",
    "Cyrillic": "Cyrillic",
    "Greek": "Greek",
    "Arabic": "Arabic",
    "Devanagari": "Hindi",
    "Thai": "Thai",
    "Japanese": "Japanese",
    "Hangul": "Korean",
    "ChineseT": "Chinese",
}
"""Font name of a script -> the word that the clue text uses."""

CHOICES: dict[str, tuple[str, ...]] = {
    "centre_line": ("yellow", "white"),
    "edge_line": ("white", "yellow", "white dashes", "none"),
    "warning_sign": ("yellow diamond", "white triangle", "yellow triangle"),
    "board": ("green", "blue", "white", "red rim"),
    "plate_rear": ("white", "yellow", "euro", "blue top", "black"),
    "plate_front": ("white", "yellow", "euro", "blue top", "black"),
    "pole": ("wood", "concrete"),
    "house": ("clapboard", "flat roof", "tile roof", "brick", "red wood", "tin roof", "block"),
}
"""The values that each drawn attribute can take."""

EXTRA_COUNTRIES = ("NA",)
"""Drawn in single rows only, so that the label NA is met in every run."""


@dataclass(frozen=True)
class Country:
    """The road furniture of one country. Every field is a word of `CHOICES` where it is listed there."""

    iso2: str
    name: str
    drive_side: str
    script: str
    centre_line: str
    edge_line: str
    warning_sign: str
    board: str
    plate_rear: str
    plate_front: str
    pole: str
    house: str


@cache
def all_countries() -> dict[str, Country]:
    """Every drawable country by ISO 3166 alpha-2 code, the extra ones last.

    >>> all_countries()["JP"].drive_side
    'left'
    """
    names = [field.name for field in fields(Country)]
    with (WORLD_DATA / "countries.csv").open(encoding="utf-8", newline="") as file:
        rows = [Country(*(row[name] for name in names)) for row in csv.DictReader(file)]
    rows.sort(key=lambda country: (country.iso2 in EXTRA_COUNTRIES, country.iso2))
    return {country.iso2: country for country in rows}
