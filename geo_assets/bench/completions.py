"""Completions for measurements: distinct, of realistic length, most in the right form.

Of every 20, 16 are as asked for, 2 have slips that a lenient reader takes, 1 is cut off and 1 is
garbage. Seeded; no file, no model.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from geo_assets.geo.countries import country_name
from geo_assets.geo.places import gazetteer

_CLUES = (
    "cars keep left", "red laterite soil", "yellow centre line", "Cyrillic on the shop sign",
    "concrete poles",
    "eucalyptus trees", "a white bollard with a black band", "blue motorway sign", "terracotta roofs",
    "savannah grass", "low winter sun from the south", "a long white plate", "palm trees", "dry stone walls",
)  # fmt: skip


class Case(NamedTuple):
    """A completion and the true place of its photo, in degrees."""

    text: str
    latitude: float
    longitude: float
    country_iso2: str


def cases(n: int, seed: int = 0) -> Iterator[Case]:
    """`n` distinct completions with their truths; guesses miss by a few degrees, countries at times."""
    rng = random.Random(seed)
    table = gazetteer()
    places = len(table.lat_deg)
    for i in range(n):
        place = rng.randrange(places)
        named = place if rng.random() < 0.6 else rng.randrange(places)
        latitude, longitude = float(table.lat_deg[place]), float(table.lon_deg[place])
        lat = min(90.0, max(-90.0, latitude + rng.gauss(0.0, 2.0)))
        lon = min(180.0, max(-180.0, longitude + rng.gauss(0.0, 2.0)))
        think = ", ".join(rng.choice(_CLUES) for _ in range(25))
        country = country_name(str(table.country_iso2[named]))
        text = _text(i, think, country, round(lat, 4), round(lon, 4))
        yield Case(text, latitude, longitude, str(table.country_iso2[place]))


def _text(i: int, think: str, country: str, lat: float, lon: float) -> str:
    answer = f'{{"country": "{country}", "lat": {lat}, "lon": {lon}}}'
    kind = i % 20
    if kind == 16:
        answer = f"{{'country': '{country}', 'lat': {lat}, 'lon': {lon},}}"
    elif kind == 17:
        answer = f'```json\n{{"Country": "{country}", "Latitude": "{lat}", "Longitude": "{lon}"}}\n```'
    text = f"<think>{i}: {think}</think>\n<answer>{answer}</answer>"
    if kind == 18:
        return text[: -len("</answer>") - 4]
    return think + " !!!!" * 40 if kind == 19 else text
