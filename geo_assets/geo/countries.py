"""Country names to ISO 3166-1 alpha-2 codes and back. Exact look-up only, never fuzzy.

Fuzzy search turns "Niger" into Nigeria, "Republic of Korea" into North Korea and "None" into
Italy, and takes 16 ms a name. Here a name is normalised and looked up in four tables, the
earlier one winning: this project's aliases, pycountry's names, CLDR's English names, CLDR's
native names. A name that means several countries means none.

The codes are pycountry's 249 plus XK (Kosovo), which ISO leaves to its users and OSV-5M uses.
Left out: cities, and subdivisions beyond those that people take for countries.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"

AMBIGUOUS = frozenset(["korea", "virgin islands", "guianas"])
"""Normalised names that stand for several countries and therefore resolve to none."""

FILLERS = frozenset(
    ["AND", "ARE", "BE", "CAN", "IN", "IS", "IT", "MAR", "ME", "NA", "NO", "PER", "SO", "TOP", "UNK"]
)
"""Codes that are English words or fillers: they count only when written in capitals."""

MAX_NAME_CHARS = 100

_APOSTROPHES = dict.fromkeys(map(ord, "'’‘`´ʼʻ′ʿʾ.·"), None)
_SPACES = dict.fromkeys(map(ord, "-‐‑‒–—_/\t\n\r"), " ")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "&": " and "})
_TABLE = _APOSTROPHES | _SPACES | _LETTERS
_PARTS = re.compile(r"([^(),]{1,100})[(,]([^()]{1,100})\)?")
_SAINT = re.compile(r"\bst\b(?= )")


@dataclass(frozen=True)
class CountryTable:
    """Everything known about names, built once a process."""

    codes: dict[str, str]
    """Upper-case alpha-2 and alpha-3 codes (and XK, UK, EL …) to alpha-2."""
    names: dict[str, str]
    """Normalised names to alpha-2."""
    english: dict[str, str]
    """Alpha-2 to the everyday English name."""
    sovereign: dict[str, str]
    """Alpha-2 to the alpha-2 of the sovereign state."""


def normalise(name: str) -> str:
    """The key under which a name is looked up: NFKC, case, accents, apostrophes, dots, spaces, "the", "St".

    >>> normalise(" The  CÔTE D’IVOIRE "), normalise("St. Lucia")
    ('cote divoire', 'saint lucia')
    """
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    text = "".join(char for char in text if not "\u0300" <= char <= "\u036f")
    text = unicodedata.normalize("NFC", text).translate(_TABLE)
    text = " ".join(text.replace(" ,", ",").split())
    return _SAINT.sub("saint", text.removeprefix("the "))


@cache
def country_table() -> CountryTable:
    """Reads pycountry and the tables of `geo_assets/data` (about 60 ms, at first use)."""
    import pycountry

    english, sovereign = {}, {}
    for iso2, name, parent in _rows("countries_names.tsv"):
        english[iso2], sovereign[iso2] = name, parent
    codes = {iso2: iso2 for iso2 in english}
    names: dict[str, str] = {}
    for alias, iso2 in _rows("countries_aliases.tsv"):
        if alias.isascii() and alias.isupper() and len(alias) <= 3:
            codes[alias] = iso2
        else:
            names[normalise(alias)] = iso2
    for country in pycountry.countries:
        codes[country.alpha_3] = country.alpha_2
    _add_missing(names, _pycountry_names(pycountry.countries))
    _add_missing(names, ((name, iso2) for iso2, name in english.items()))
    native = list(_rows("countries_native.tsv"))
    for spoken in ("own", "other"):
        _add_missing(names, ((name, iso2) for iso2, _, kind, name in native if kind == spoken))
    return CountryTable(codes, names, english, sovereign)


def _rows(file_name: str) -> Iterator[list[str]]:
    lines = (DATA / file_name).read_text(encoding="utf-8").splitlines()
    return (line.split("\t") for line in lines[1:])


def _pycountry_names(countries) -> Iterator[tuple[str, str]]:
    for country in countries:
        for field in ("name", "common_name", "official_name"):
            if name := getattr(country, field, None):
                yield name, country.alpha_2


def _add_missing(names: dict[str, str], new: Iterator[tuple[str, str]]) -> None:
    """Adds one table; a name that it gives to two countries is left out of both."""
    found: dict[str, set[str]] = {}
    for name, iso2 in new:
        found.setdefault(normalise(name), set()).add(iso2)
    for key, codes in found.items():
        if key not in names and key not in AMBIGUOUS and len(codes) == 1 and not _like_a_code(key):
            names[key] = codes.pop()


def _like_a_code(key: str) -> bool:
    return len(key) <= 3 and key.isascii()


def to_iso2(name: object) -> str | None:
    """The alpha-2 code of a country name or code, or None where no single country is meant.

    Args:
        name: an English, native or former name, an alpha-2 or alpha-3 code in any case, or a
            flag emoji. Anything but a string gives None. Territories keep their own code.

    >>> to_iso2("Republic of Korea"), to_iso2("Côte d’Ivoire"), to_iso2("日本"), to_iso2("🇫🇷")
    ('KR', 'CI', 'JP', 'FR')
    >>> to_iso2("Korea"), to_iso2("Niger or Nigeria"), to_iso2(None)
    (None, None, None)
    """
    return _resolve(name) if isinstance(name, str) else None


@lru_cache(maxsize=16384)
def _resolve(name: str) -> str | None:
    stripped = name.strip()
    if not stripped or len(stripped) > MAX_NAME_CHARS:
        return None
    table = country_table()
    if code := _code(stripped, table.codes):
        return code
    key = normalise(stripped)
    if found := _by_name(key, table.names):
        return found
    if parts := _PARTS.fullmatch(key):
        head, tail = parts[1].strip(), parts[2].strip()
        if found := _by_name(f"{tail} {head}", table.names):
            return found
        first, second = _resolve(head), _resolve(tail)
        return first if first == second else None
    return None


def _code(text: str, codes: dict[str, str]) -> str | None:
    if len(text) == 2 and all("\U0001f1e6" <= char <= "\U0001f1ff" for char in text):
        text = "".join(chr(ord(char) - 0x1F1E6 + ord("A")) for char in text)
    upper = text.upper()
    if text != upper and (upper in FILLERS or (len(text) == 3 and not text.islower())):
        return None  # "Nga" is Russia in Vietnamese, not Nigeria
    return codes.get(upper)


def _by_name(key: str, names: dict[str, str]) -> str | None:
    if key in AMBIGUOUS:
        return None
    if found := names.get(key):
        return found
    short = key.removeprefix("republic of ").removeprefix("the ")
    return names.get(short) if short != key and short not in AMBIGUOUS else None


def country_name(iso2: str) -> str:
    """The everyday English name of a code.

    Raises:
        KeyError: the code is not one of the 250.

    >>> country_name("KR"), country_name("XK")
    ('South Korea', 'Kosovo')
    """
    return country_table().english[iso2]


def sovereign_iso2(iso2: str) -> str:
    """The sovereign state of a territory, or the code itself; unknown codes are returned as they are.

    Territories as ISO 3166-1 lists them under their state; disputed ones (EH, PS, TW, XK) stay apart.

    >>> sovereign_iso2("PR"), sovereign_iso2("FR"), sovereign_iso2("TW")
    ('US', 'FR', 'TW')
    """
    return country_table().sovereign.get(iso2, iso2)
