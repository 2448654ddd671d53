"""The clues of a drawn scene and the text that names them.

A scene shows its country's road furniture with some noise and hides part of it at random, so
that the task is neither trivial nor hopeless. Sampling is apart from drawing: texts for the
tokenizer come without pictures. The camera always looks east: the sun on the right is the south.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from geo_assets.world.attributes import CHOICES, EXTRA_COUNTRIES, SCRIPT_WORDS, Country, all_countries
from geo_assets.world.climate import VEGETATION_WORDS, local_vegetation, noon_sun
from geo_assets.world.places import Place, Split, places

__all__ = [
    "COUNTRIES",
    "LOOKALIKES",
    "Clues",
    "Place",
    "answer_text",
    "corpus",
    "places",
    "sample_clues",
    "think_text",
]

COUNTRIES: dict[str, Country] = {
    iso2: country for iso2, country in all_countries().items() if iso2 not in EXTRA_COUNTRIES
}
"""The countries that scenes are drawn in, by ISO 3166 alpha-2 code."""

LOOKALIKES = {
    "CA": "US", "AR": "BR", "NZ": "AU", "MA": "EG", "SE": "FI", "TW": "JP",
    "KR": "JP", "GR": "ES", "MX": "BR", "ID": "TH", "KE": "ZA", "GB": "FR",
}  # fmt: skip
"""Country -> the one that a biased warm-up names in its place."""

NOISE = 0.04
"""Chance that an attribute is drawn as some other country has it."""

DOUBLE_LINE = 0.35
"""Share of roads where overtaking is not allowed."""

VISIBLE = {
    "script": 0.85,
    "warning_sign": 0.72,
    "car": 0.72,
    "centre_line": 0.90,
    "house": 0.60,
    "pole": 0.65,
    "sun": 0.72,
}
"""Chance that a scene shows the thing at all."""


@dataclass(frozen=True)
class Clues:
    """Everything that decides what a scene shows, but for the drawing's own variation.

    `shows` names the visible things (keys of `VISIBLE`); `sun_height_deg` is the noon height.
    """

    place: Place
    drive_side: str
    script: str
    sign_text: str
    centre_line: str
    line_style: str
    edge_line: str
    warning_sign: str
    board: str
    plate_rear: str
    plate_front: str
    pole: str
    house: str
    vegetation: str
    sun_side: str
    sun_height_deg: float
    shows: frozenset[str]


def sample_clues(rng: random.Random, place: Place) -> Clues:
    """Draw the clues of a scene at a place: the country's own, with noise."""
    country = all_countries()[place.iso2]
    drawn = {name: getattr(country, name) for name in CHOICES}
    for name, choices in CHOICES.items():
        if rng.random() < NOISE:
            drawn[name] = rng.choice(choices)
    line_style = "double" if rng.random() < DOUBLE_LINE else "dashed"
    _local_variety(rng, place, line_style, drawn)
    drive_side: str = country.drive_side
    if rng.random() < NOISE / 2:
        drive_side = "left" if drive_side == "right" else "right"
    script = country.script
    if place.iso2 == "MA" and rng.random() < 0.3:
        script = "Latin"
    sun_side, sun_height_deg = noon_sun(place.lat_deg, rng.random())
    vegetation = rng.choice(local_vegetation(place.iso2, place.koppen))
    shows = frozenset(name for name, chance in VISIBLE.items() if rng.random() < chance)
    return Clues(
        place=place,
        drive_side=drive_side,
        script=script,
        sign_text=_sign_text(place, script, drawn["board"]),
        line_style=line_style,
        vegetation=vegetation,
        sun_side=sun_side,
        sun_height_deg=sun_height_deg,
        shows=shows,
        **drawn,
    )


def _local_variety(rng: random.Random, place: Place, line_style: str, drawn: dict[str, str]) -> None:
    """Habits that are common beside the usual one of the table (`SOURCES.md` says which)."""
    match place.iso2:
        case "ID" if rng.random() < 0.3:
            drawn["centre_line"] = "yellow"
        case "FI" | "IN" | "JP" | "NZ" if line_style == "double":
            drawn["centre_line"] = "yellow"
        case "AU" if place.region == "New South Wales":
            drawn["plate_rear"] = drawn["plate_front"] = "yellow"
    if place.iso2 == "IN" and rng.random() < 0.2:
        drawn["plate_rear"] = drawn["plate_front"] = "yellow"


def _sign_text(place: Place, script: str, board: str) -> str:
    """The place's name as the board writes it; a red-rimmed town sign has capitals."""
    text = place.sign_name if script == all_countries()[place.iso2].script else place.name
    return text.upper() if board == "red rim" and script == "Latin" else text


def think_text(clues: Clues) -> str:
    """The clue list of a scene, at most about 25 tokens: what it shows, the strongest first."""
    parts = []
    if "script" in clues.shows:
        parts.append(f"{SCRIPT_WORDS[clues.script]} sign")
    parts.append(f"drives {clues.drive_side}")
    if "centre_line" in clues.shows:
        parts.append(f"{clues.centre_line} line")
    if "warning_sign" in clues.shows:
        parts.append("diamond" if clues.warning_sign == "yellow diamond" else clues.warning_sign)
    if "car" in clues.shows and clues.plate_rear != "white":
        parts.append(f"{clues.plate_rear} plate")
    parts.append(VEGETATION_WORDS[clues.vegetation])
    if "sun" in clues.shows:
        parts.append(f"sun {clues.sun_side}")
    return ", ".join(parts)


def answer_text(think: str, country_name: str, lat_deg: float, lon_deg: float) -> str:
    """A whole answer in the task's form, with coordinates in whole degrees.

    >>> answer_text("Thai sign", "Thailand", 13.75, 100.5)
    '<think>Thai sign</think><answer>{"country": "Thailand", "lat": 14, "lon": 100}</answer>'
    """
    answer = f'{{"country": "{country_name}", "lat": {round(lat_deg)}, "lon": {round(lon_deg)}}}'
    return f"<think>{think}</think><answer>{answer}</answer>"


def sample_place(rng: random.Random, iso2: str, split: Split) -> Place:
    """A place of a country and split, each as likely as the next."""
    return rng.choice(places(iso2, split))


def corpus(seed: int, n: int) -> list[str]:
    """Answer texts of `n` train scenes, the countries in turn, without drawing a picture.

    >>> corpus(0, 48) == corpus(0, 48)
    True
    """
    rng = random.Random(f"corpus {seed}")
    texts = []
    for index in range(n):
        iso2 = list(COUNTRIES)[index % len(COUNTRIES)]
        clues = sample_clues(rng, sample_place(rng, iso2, "train"))
        place = clues.place
        texts.append(answer_text(think_text(clues), COUNTRIES[iso2].name, place.lat_deg, place.lon_deg))
    return texts
