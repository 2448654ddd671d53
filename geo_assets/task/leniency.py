"""Slips in an answer's form that can be read in one way only.

Degrees in decimal or sexagesimal notation with signs, hemisphere letters and decimal commas;
objects with trailing commas, other quotation marks, bare keys or no braces. Whatever is left
over after reading, or could be read in two ways, makes the whole unreadable (None). Quantifiers
are bounded and the caller bounds the length, so that garbage costs linear time.

Left out on purpose: swapping latitude and longitude, clamping, the first of several candidates.
"""

from __future__ import annotations

import json
import re
import unicodedata
from math import isfinite


class Pairs(list):
    """An object as its (key, value) pairs in order, so that duplicate keys are seen."""


LIMIT_DEG = {"lat": 90.0, "lon": 180.0}
_SIGN_OF = {"N": ("lat", 1), "S": ("lat", -1), "E": ("lon", 1), "W": ("lon", -1)}

_MINUS = dict.fromkeys(map(ord, "‐‑‒–−﹣－"), "-")
_DEGREE = dict.fromkeys(map(ord, "º˚"), "°")
_PRIME = dict.fromkeys(map(ord, "′’‘´`ʹ"), "'") | dict.fromkeys(map(ord, "″”“ʺ"), '"')
_MARKS = _MINUS | _DEGREE | _PRIME
_INVISIBLE = dict.fromkeys(map(ord, "\ufeff\u200b\u200c\u200d\u200e\u200f\u2060"))

_PLAIN = r"[0-9]{1,4}(?:[.,][0-9]{0,40})?|\.[0-9]{1,40}"
_WORD = r"N(?:ORTH)?|S(?:OUTH)?|E(?:AST)?|W(?:EST)?"
_DEGREES = re.compile(
    rf"(?:(?P<before>{_WORD})\s{{0,2}})?(?P<sign>[+-]\s{{0,2}})?(?P<deg>{_PLAIN})(?P<exp>E[+-]?[0-9]{{1,3}})?"
    r"(?:\s{0,2}(?:°|DEG(?:REES?)?\b))?"
    r"(?:(?<=[°\sS])\s{0,2}(?P<min>[0-9]{1,2}(?:[.,][0-9]{1,20})?)\s{0,2}'"
    r"(?:\s{0,2}(?P<sec>[0-9]{1,2}(?:[.,][0-9]{1,20})?)\s{0,2}(?:\"|''))?)?"
    rf"(?:\s{{0,2}}(?P<after>{_WORD}))?"
)

_FENCE = re.compile(r"```[A-Za-z]{0,10}\s")
_PREFIX = re.compile(r"[^0-9{}\"<>\[\]]{0,100}")
_KEY = re.compile(r"\s*(?:[\"'`“”„‘’]([A-Za-z_ ]{1,40})[\"'`“”‘’]|([A-Za-z_]{1,40}))\s*[:=]\s*")
_DOUBLE = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_TYPOGRAPHIC = re.compile(r"[“”„]([^“”\"\n]*)[“”\"]")
_SINGLE = re.compile(r"['‘`]((?:[^'’`\n]|['’`](?!\s{0,8}(?:[,;}\n]|\Z)))*)['’`]")
_RAW = re.compile(r"(?:[^,;{}\[\]\n\"“”„]|(?<=[0-9]),(?=[0-9])|(?<=[0-9])[\"”](?=\s{0,2}[NSEWnsew]))+")
_SEPARATOR = re.compile(r"\s*[,;]?\s*")
_COMMA = re.compile(r"\s{0,4}(?:(?<![0-9]),|,(?![0-9])|[;\n])\s{0,4}")
_AFTER_LETTER = re.compile(r"(?<=[NSEWnsew])\s{1,4}(?=[0-9])")
_NOT_A_NAME = frozenset(["none", "null", "nan", "true", "false", "undefined", "unknown"])


def degrees(value: object, axis: str) -> float | None:
    """A coordinate in decimal degrees, or None where the value is no single coordinate of this axis.

    Args:
        value: a number or a text as a JSON value holds it.
        axis: "lat" or "lon".

    >>> degrees("33.8688° S", "lat"), degrees("−33,87", "lat"), degrees("40°26'46\\"N", "lat")
    (-33.8688, -33.87, 40.44611111111111)
    >>> degrees("-33.87S", "lat"), degrees("151E", "lat"), degrees(True, "lat"), degrees("48.8, 2.3", "lat")
    (None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, str):
        number, letter = _read_degrees(value)
        if letter and letter != axis:
            return None
    else:
        try:
            number = float(value)
        except OverflowError:
            return None
    return number if number is not None and isfinite(number) and abs(number) <= LIMIT_DEG[axis] else None


def _read_degrees(text: str) -> tuple[float | None, str | None]:
    """The number of a text and the axis its hemisphere letter names (None where it has no letter)."""
    if len(text) > 100:
        return None, None
    plain = unicodedata.normalize("NFKC", text.translate(_MARKS)).translate(_MARKS).strip().upper()
    match = _DEGREES.fullmatch(plain)
    if match is None:
        return None, None
    letters = [word[0] for word in (match["before"], match["after"]) if word]
    if len(letters) + bool(match["sign"]) > 1:
        return None, None
    number = _sexagesimal(match)
    if number is None:
        return None, None
    if letters:
        axis, sign = _SIGN_OF[letters[0]]
        return sign * number, axis
    return (-number if (match["sign"] or "").startswith("-") else number), None


def _sexagesimal(match: re.Match[str]) -> float | None:
    number = float(match["deg"].replace(",", ".") + (match["exp"] or ""))
    if match["min"] is None:
        return number
    minutes = float(match["min"].replace(",", "."))
    seconds = float((match["sec"] or "0").replace(",", "."))
    whole = match["deg"].isdigit() and match["exp"] is None
    if not whole or minutes >= 60.0 or seconds >= 60.0 or (match["sec"] and not match["min"].isdigit()):
        return None
    return number + minutes / 60.0 + seconds / 3600.0


def hemisphere_pair(body: str) -> tuple[float, float] | None:
    """Two bare coordinates whose hemisphere letters name the axes, as (latitude, longitude).

    >>> hemisphere_pair("N 51.5, W 0.12"), hemisphere_pair("51.5, 0.12")
    ((51.5, -0.12), None)
    """
    text = body.strip()
    if len(text) > 200:
        return None
    parts = _COMMA.split(text)
    if len(parts) == 1:
        parts = _AFTER_LETTER.split(text)
    if len(parts) != 2:
        return None
    found = {}
    for part in parts:
        number, axis = _read_degrees(part)
        if axis is None or number is None or abs(number) > LIMIT_DEG[axis]:
            return None
        found[axis] = number
    return (found["lat"], found["lon"]) if len(found) == 2 else None


def lenient_pairs(body: str) -> Pairs | None:
    """The (key, value) pairs of an object that is not strict JSON, or None where it is unreadable.

    Values are texts or nested `Pairs`; `degrees` turns texts into numbers.

    >>> lenient_pairs("{country: 'Cote d'Ivoire', lat: 5,3, lng: -4.0,}")
    [('country', "Cote d'Ivoire"), ('lat', '5,3'), ('lng', '-4.0')]
    """
    text = body.translate(_INVISIBLE).replace("\u00a0", " ").strip()
    if text.startswith("```") and text.endswith("```") and (fence := _FENCE.match(text)):
        text = text[fence.end() : -3].strip()
    opening = text.find("{")
    if opening < 0:
        return _read_pairs(text)
    closing = text.rfind("}")
    if not _PREFIX.fullmatch(text[:opening]) or text[closing + 1 :].strip(" .;\n"):
        return None
    return _read_pairs(text[opening + 1 : closing]) if closing > opening else None


def _read_pairs(text: str) -> Pairs | None:
    pairs, position = Pairs(), 0
    while position < len(text):
        key = _KEY.match(text, position)
        value = key and _read_value(text, key.end())
        if not key or not value:
            return None
        pairs.append(((key[1] or key[2]).strip(), value[0]))
        gap = _SEPARATOR.match(text, value[1])
        position = gap.end() if gap else value[1]
    return pairs or None


def _read_value(text: str, start: int) -> tuple[str | Pairs, int] | None:
    """A value that begins at `start`, and where it ends."""
    mark = text[start : start + 1]
    if mark == "{":
        end = text.find("}", start)
        inner = _read_pairs(text[start + 1 : end]) if end > start else None
        return None if inner is None else (inner, end + 1)
    if mark == '"':
        match = _DOUBLE.match(text, start)
        return (_unescaped(match[1]), match.end()) if match else None
    quoted = _TYPOGRAPHIC if mark in "“”„" else _SINGLE
    if mark and mark in "“”„'‘`":
        match = quoted.match(text, start)
        return (match[1], match.end()) if match else None
    match = _RAW.match(text, start)
    if match is None or match[0].strip().casefold() in _NOT_A_NAME:
        return None
    return match[0].strip(), match.end()


def _unescaped(text: str) -> str:
    try:
        return json.loads(f'"{text}"')
    except ValueError:
        return text
