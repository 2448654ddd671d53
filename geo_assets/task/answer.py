"""What a completion says: the guess inside its last answer, or nothing.

Coordinates are decimal degrees. The rules are those of a fair referee: only text after the last
`</think>` counts, the last complete `<answer>…</answer>` there is the answer, strict JSON is
tried first, slips that can be read in one way only are read (`leniency.py`), and whatever could
mean two things means nothing. Every step is linear in the length of the text, and no text of
any content raises.

An answer that names no country at all keeps its coordinates (`Guess.country == ""`); one whose
country is empty or not a string is unparsed.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple

from geo_assets.geo.countries import to_iso2
from geo_assets.task.leniency import Pairs, degrees, hemisphere_pair, lenient_pairs

MAX_TEXT_CHARS = 1_000_000
MAX_BODY_CHARS = 2_000
MAX_NESTING = 4


class Guess(NamedTuple):
    """A parsed answer: latitude in [-90, 90] and longitude in [-180, 180], both finite."""

    country: str
    """What the completion calls the country; "" where it gives coordinates alone."""
    country_iso2: str | None
    """None where the name is unknown or means several countries."""
    lat_deg: float
    lon_deg: float


class Reading(NamedTuple):
    """The answer's text, and whether the completion stops inside a tag, a thought or an answer."""

    body: str | None
    cut_off: bool


_TAG = re.compile(r"<\s{0,4}(/?)\s{0,4}(think|answer)\s{0,4}>", re.IGNORECASE)
_TAGS = ("<think>", "</think>", "<answer>", "</answer>")
_NUMBER = r"(-?(?:0|[1-9][0-9]{0,2})(?:\.[0-9]{1,17})?)"
_CANONICAL = re.compile(
    r'<answer>\s{0,4}\{\s{0,4}"country"\s?:\s?"([^"\\<\x00-\x1f]{1,100})"\s?,\s{0,4}'
    rf'"lat"\s?:\s?{_NUMBER}\s?,\s{{0,4}}"lon"\s?:\s?{_NUMBER}\s{{0,4}}\}}\s{{0,4}}</answer>\s{{0,4}}\Z'
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_KEYS = {
    "country": "country",
    "lat": "lat",
    "latitude": "lat",
    "lon": "lon",
    "lng": "lon",
    "long": "lon",
    "longitude": "lon",
}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a coordinate")


_DECODER = json.JSONDecoder(object_pairs_hook=Pairs, parse_constant=_refuse_constant)


def parse_answer(text: str) -> Guess | None:
    """The guess of a completion, or None where it has none (unparsed).

    Args:
        text: the generated text alone, never the prompt.

    >>> parse_answer('<think>left</think><answer>{"country": "Kenya", "lat": -1, "lon": 37}</answer>')
    Guess(country='Kenya', country_iso2='KE', lat_deg=-1.0, lon_deg=37.0)
    >>> parse_answer('<answer>{"lat": 33.87° S, "lon": 151.21° E}</answer>').lat_deg
    -33.87
    >>> parse_answer('<answer>{"country": "France", "lat": NaN, "lon": 2.35}</answer>') is None
    True
    """
    if not isinstance(text, str) or len(text) > MAX_TEXT_CHARS:
        return None
    start = text.rfind("<answer>")
    if start >= 0 and (match := _CANONICAL.match(text, start)) and _outside_think(text, start):
        lat_deg, lon_deg = float(match[2]), float(match[3])
        if not (-90.0 <= lat_deg <= 90.0 and -180.0 <= lon_deg <= 180.0):
            return None
        country = match[1].strip()
        return Guess(_printable(country), to_iso2(country), lat_deg, lon_deg) if country else None
    body = read_answer(text).body
    return None if body is None or len(body) > MAX_BODY_CHARS else _parse_body(body)


def is_truncated(text: str) -> bool:
    """Whether a completion stops inside a tag, or an open thought or answer, with no complete answer.

    >>> is_truncated('<answer>{"lat": 48.8566, "lo'), is_truncated("I cannot say.")
    (True, False)
    """
    reading = read_answer(text)
    return reading.body is None and reading.cut_off


def read_answer(text: str) -> Reading:
    """Walks the tags once, left to right, and keeps the last complete answer outside of thought."""
    thinking, start, body = False, None, None
    for tag in _TAG.finditer(text):
        closing = bool(tag[1])
        if tag[2].lower() == "think":
            if closing:
                body = None  # all that came before was thought
            thinking, start = not closing, None
        elif not thinking:
            if not closing:
                start = tag.end()
            elif start is not None:
                body, start = (start, tag.start()), None
    cut_off = thinking or start is not None or _ends_inside_tag(text)
    return Reading(None if body is None else text[body[0] : body[1]], cut_off)


def _ends_inside_tag(text: str) -> bool:
    last = text[text.rfind("<") :] if "<" in text[-9:] else ""
    return len(last) > 1 and any(tag.startswith(last.lower()) and tag != last.lower() for tag in _TAGS)


def _outside_think(text: str, start: int) -> bool:
    """Whether the tags before `start` are none, or one closed thought, in their plainest form."""
    opening = text.count("<", 0, start)
    if opening == 0:
        return True
    closed = text.find("</think>", 0, start) >= 0
    return closed and (opening == 1 or (opening == 2 and text.startswith("<think>")))


def _parse_body(body: str) -> Guess | None:
    if body.count("{") > MAX_NESTING or body.count("[") > MAX_NESTING:
        return None
    try:
        value = _DECODER.decode(body)
    except (ValueError, RecursionError):
        if pair := hemisphere_pair(body):
            return Guess("", None, *pair)
        value = lenient_pairs(body)
    return _guess(value) if isinstance(value, Pairs) else None


def _guess(pairs: Pairs) -> Guess | None:
    found: dict[str, set] = {"country": set(), "lat": set(), "lon": set()}
    if (
        not _collect(pairs, found)
        or len(found["lat"]) != 1
        or len(found["lon"]) != 1
        or len(found["country"]) > 1
    ):
        return None
    country = found["country"].pop() if found["country"] else ""
    return Guess(_printable(country), to_iso2(country), found["lat"].pop(), found["lon"].pop())


def _collect(pairs: Pairs, found: dict[str, set]) -> bool:
    """Gathers the three fields from an object and the objects inside it; False where one is no value."""
    for key, value in pairs:
        plain = key.strip().lower()
        field = _KEYS.get(plain)
        if field == "country":
            if not isinstance(value, str) or not value.strip():
                return False
            found[field].add(value.strip())
        elif field:
            number = degrees(value, field)
            if number is None:
                return False
            found[field].add(number)
        elif plain.startswith(("lat", "lon", "lng", "hemi")):
            return False  # "lat_ref", "hemisphere": a sign may hide there
        elif isinstance(value, Pairs) and not _collect(value, found):
            return False
    return True


def _printable(country: str) -> str:
    return _SURROGATE.sub("\ufffd", country)


parse_cached = lru_cache(maxsize=8192)(parse_answer)
"""`parse_answer` with a memory, for callers that read one completion several times."""
