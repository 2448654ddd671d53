"""Completions that break parsers, and what each one says. Read by `task/test_answer.py`.

Sources of the kinds (public issue trackers; the texts are this project's own or minimal copies):

- non-finite numbers: mangiucugna/json_repair#49, #73; python/cpython#121189;
  KanishJebaMathewM/Truxify#11974
- signs and hemispheres: mapbox/csv2geojson#30, sibartlett/Geo#57, Tronald/CoordinateSharp#62,
  specify/specify7#730
- repeated tokens: verl-project/verl#3159, vllm-project/vllm#14126, JIA-Lab-research/Seg-Zero#90
- exceptions: python/cpython#126711, #86878
- tags: huggingface/open-r1#616, #418; BY571/SCoRe#6; EvolvingLMMs-Lab/open-r1-multimodal#15
- echoes of the prompt: PeterGriffinJin/Search-R1#79, Liuziyu77/Visual-RFT#245
- shotgun and empty answers: Liuziyu77/Visual-RFT#176, #79
- swapped and out of range: seangrogan/great_circle_calculator#4,
  mapillary/mapillary-python-sdk#164, georust/geo#1352
- slips of syntax: ducroo/SICTIC-AI#37, MattJColes/lgtmaybe#642, evalops/diffscope#45,
  mangiucugna/json_repair#94
- cut off: modelscope/ms-swift#4950, huggingface/trl#3476
"""

from __future__ import annotations

from typing import NamedTuple


class Body(NamedTuple):
    """What stands between the answer tags, and the (lat, lon) it says; None is unparsed."""

    kind: str
    body: str
    point: tuple[float, float] | None


SYDNEY = (-33.8688, 151.2093)
PARIS = (48.8, 2.3)

BODIES: tuple[Body, ...] = (
    # Non-finite numbers, where a clamp would make a perfect score of NaN.
    Body("NaN", '{"country":"FR","lat":NaN,"lon":2.35}', None),
    Body("Infinity", '{"country":"FR","lat":Infinity,"lon":2.35}', None),
    Body("-Infinity", '{"country":"FR","lat":48.8,"lon":-Infinity}', None),
    Body("1e999", '{"country":"FR","lat":1e999,"lon":2.35}', None),
    Body("NaN as text", '{"country":"FR","lat":"nan","lon":2.35}', None),
    Body("inf as text", '{"country":"FR","lat":"inf","lon":2.35}', None),
    Body("400 digits", '{"country":"FR","lat":' + "9" * 400 + ',"lon":2.35}', None),
    Body("5,000 digits", '{"country":"FR","lat":' + "9" * 5_000 + ',"lon":2.35}', None),
    # Signs. A lost one moves Sydney 7,532 km.
    Body("minus U+2212", '{"lat": −33.8688, "lon": 151.2093}', SYDNEY),
    Body("minus U+2012", '{"lat": ‒33.8688, "lon": 151.2093}', SYDNEY),
    Body("minus U+2013", '{"lat": –33.8688, "lon": 151.2093}', SYDNEY),
    Body("minus U+FF0D", '{"lat": －33.8688, "lon": 151.2093}', SYDNEY),
    Body("minus and space", '{"lat": - 33.8688, "lon": 151.2093}', SYDNEY),
    Body("minus in a text", '{"lat": "−33.8688", "lon": "151.2093"}', SYDNEY),
    Body("two minuses", '{"lat": "--33.8688", "lon": 151.2093}', None),
    Body("plus minus", '{"lat": "±33.8688", "lon": 151.2093}', None),
    Body("em dash is no minus", '{"lat": —33.8688, "lon": 151.2093}', None),
    Body("minus zero", '{"lat": -0.0, "lon": 0}', (0.0, 0.0)),
    # Hemispheres.
    Body("letters, no braces", "lat: 33.8688° S, lng: 151.2093° E", SYDNEY),
    Body("letters in texts", '{"lat":"33.87° S","lon":"70.67W"}', (-33.87, -70.67)),
    Body("letters, bare", '{"lat": 33.87° S, "lon": 151.21° E}', (-33.87, 151.21)),
    Body("letters before", "N 51.5, W 0.12", (51.5, -0.12)),
    Body("letters before, other order", "W 0.12, N 51.5", (51.5, -0.12)),
    Body("words", '{"lat": "33.87 degrees South", "lon": "151.21 East"}', (-33.87, 151.21)),
    Body("lower case", '{"lat": "33.87s", "lon": "151.21e"}', (-33.87, 151.21)),
    Body("letter and minus", '{"lat":"-33.87S","lon":151.2}', None),
    Body("letter of the other axis", '{"lat":"151E","lon":33}', None),
    Body("two letters", '{"lat":"S 33.87 S","lon":151.2}', None),
    Body("both of one axis", "33.87S, 33.87N", None),
    Body("a key of its own", '{"lat": 33.87, "lat_ref": "S", "lon": 151.2}', None),
    Body("hemisphere key", '{"lat": 33.87, "lon": 151.2, "hemisphere": "south"}', None),
    Body("O is East in German, West in French", '{"lat": "48.8 N", "lon": "2.3 O"}', None),
    # Degrees, minutes, seconds. Dropping the minutes moves the point 97 km.
    Body("DMS, escaped", '{"lat": "40°26\'46\\"N", "lon": "79°58\'56\\"W"}', (40.44611111, -79.98222222)),
    Body("DMS, primes", '{"lat": "40° 26′ 46″ N", "lon": "79° 58′ 56″ W"}', (40.44611111, -79.98222222)),
    Body("DMS, bare pair", "40°26'46\"N, 79°58'56\"W", (40.44611111, -79.98222222)),
    Body(
        "DMS, two apostrophes",
        '{"lat": "40°26\'46\'\'N", "lon": "79°58\'56\'\'W"}',
        (40.44611111, -79.98222222),
    ),
    Body("degrees and decimal minutes", '{"lat": "40°26.7667\' N", "lon": "-79.98"}', (40.44611167, -79.98)),
    Body("signed DMS", '{"lat": "-40°26\'46\\"", "lon": "79"}', (-40.44611111, 79.0)),
    Body("sixty minutes", '{"lat": "40°60\'0\\"N", "lon": "79"}', None),
    Body("broken by its own quote", '{"lat": "40°26\'46"N", "lon": "79"}', None),
    Body("DMS without marks", '{"lat": "40 26 46 N", "lon": "79"}', None),
    # Decimal commas.
    Body("comma, texts", '{"country": "France", "lat": "48,8", "lon": "2,3"}', PARIS),
    Body("comma, bare", '{"country": "France", "lat": 48,8, "lon": 2,3}', PARIS),
    Body("comma and space", '{"country": "France", "lat": 48, 8, "lon": 2, 3}', None),
    Body("a pair in one text", '{"lat": "48.8, 2.3"}', None),
    Body("a pair in one value", '{"lat": 48.8, 2.3}', None),
    Body("a pair with no letter", "48.8, 2.3", None),
    Body("a pair of commas", "48,8, 2,3", None),
    Body("point and comma", '{"lat": "4.808,5", "lon": "2,3"}', None),
    Body("two commas", '{"lat": "48,8,1", "lon": "2,3"}', None),
    # Placeholders, empty and shotgun answers.
    Body("placeholders", '{"country":"...","lat":<latitude>,"lon":<longitude>}', None),
    Body("empty", "", None),
    Body("blank", " \n\t ", None),
    Body("empty country", '{"country":"","lat":48.8,"lon":2.3}', None),
    Body("blank country", '{"country":"  ","lat":48.8,"lon":2.3}', None),
    Body("null country", '{"country":null,"lat":48.8,"lon":2.3}', None),
    Body("None country", "{'country': None, 'lat': 48.8, 'lon': 2.3}", None),
    Body("true country", '{"country":true,"lat":48.8,"lon":2.3}', None),
    Body("list of countries", '{"country":["FR"],"lat":48.8,"lon":2.3}', None),
    Body("object as country", '{"country":{"name":"FR"},"lat":48.8,"lon":2.3}', None),
    Body("number as country", '{"country":33,"lat":48.8,"lon":2.3}', None),
    Body("lists of coordinates", '{"lat":[48.8,40.4],"lon":[2.3,-3.7]}', None),
    Body("one coordinate in a list", '{"lat":[48.8],"lon":[2.3]}', None),
    Body("boolean", '{"country":"FR","lat":true,"lon":2.3}', None),
    Body("null coordinate", '{"country":"FR","lat":48.8,"lon":null}', None),
    Body("coordinates absent", '{"country":"FR"}', None),
    Body("longitude absent", '{"country":"FR","lat":48.8}', None),
    Body("a range", '{"country":"FR","lat":"48-49","lon":2.3}', None),
    Body("about", '{"country":"FR","lat":"~48.8","lon":2.3}', None),
    Body("underscore", '{"country":"FR","lat":"4_8.8","lon":2.3}', None),
    Body("hexadecimal", '{"country":"FR","lat":0x30,"lon":2.3}', None),
    # Range and order: never swapped, never clamped, never wrapped.
    Body("swapped, out of range", '{"lat":151.2093,"lon":-33.8688}', None),
    Body("swapped, in range", '{"lat":2.3,"lon":48.8}', (2.3, 48.8)),
    Body("latitude 90.0001", '{"lat":90.0001,"lon":1}', None),
    Body("pole", '{"lat":90,"lon":1}', (90.0, 1.0)),
    Body("longitude 181", '{"lat":1,"lon":181}', None),
    Body("longitude 180", '{"lat":1,"lon":180}', (1.0, 180.0)),
    Body("longitude -180", '{"lat":1,"lon":-180}', (1.0, -180.0)),
    Body("longitude 540", '{"lat":1,"lon":540}', None),
    # Slips of syntax.
    Body("trailing comma", '{"lat": 48.8, "lon": 2.3,}', PARIS),
    Body("single quotes", "{'lat': 48.8, 'lon': 2.3}", PARIS),
    Body("typographic quotes", "{“lat”: 48.8, “lon”: 2.3}", PARIS),
    Body("German quotes", "{„lat“: 48.8, „lon“: 2.3, „country“: „France“}", PARIS),
    Body("fence", '```json\n{"lat": 48.8, "lon": 2.3}\n```', PARIS),
    Body("fence without a language", '```\n{"lat": 48.8, "lon": 2.3}\n```', PARIS),
    Body("bare keys", "{lat: 48.8, lng: 2.3}", PARIS),
    Body("long keys", '{"Latitude":48.8,"Longitude":2.3}', PARIS),
    Body("long", '{"LAT":48.8,"Long":2.3}', PARIS),
    Body("plus and leading point", '{"lat": +48.8,"lon": .5}', (48.8, 0.5)),
    Body("trailing point", '{"lat": 48., "lon": 2.3}', (48.0, 2.3)),
    Body("exponent", '{"lat": 4.88e1, "lon": 23e-1}', PARIS),
    Body("exponent in a text", '{"lat": "4.88E1", "lon": "2.3"}', PARIS),
    Body("byte order mark", '\ufeff{"lat": 48.8, "lon": 2.3}', PARIS),
    Body("no-break spaces", '{"lat":\u00a048.8,\u00a0"lon":\u00a02.3}', PARIS),
    Body("full-width digits", '{"lat": "４８．８", "lon": "２．３"}', PARIS),
    Body("brackets inside a text", '{"country":"Cote d\'Ivoire, ]","lat":5.3,"lon":-4.0,}', (5.3, -4.0)),
    Body("apostrophe in single quotes", "{'country': 'Cote d'Ivoire', 'lat': 5.3, 'lon': -4.0}", (5.3, -4.0)),
    Body("nested", '{"location":{"lat":48.8,"lon":2.3}}', PARIS),
    Body("nested, trailing comma", '{"location":{"lat":48.8,"lon":2.3,},}', PARIS),
    Body("lines", "country: France\nlat: 48.8\nlon: 2.3", PARIS),
    Body("equals signs", "country=France; lat=48.8; lon=2.3", PARIS),
    Body("missing comma", '{"country": "France" "lat": 48.8 "lon": 2.3}', PARIS),
    Body("a word before", 'Answer: {"country": "France", "lat": 48.8, "lon": 2.3}', PARIS),
    Body("another number before", 'Not 40.4 but {"country": "France", "lat": 48.8, "lon": 2.3}', None),
    Body("a rival after", '{"country": "France", "lat": 48.8, "lon": 2.3} or Spain', None),
    Body("two objects", '{"lat": 48.8, "lon": 2.3}{"lat": 40.4, "lon": -3.7}', None),
    Body("list of one", '[{"lat": 48.8, "lon": 2.3}]', None),
    Body("text", '"France"', None),
    Body("comment", '{"lat": 48.8, "lon": 2.3} // approximately', None),
    Body("duplicate keys that differ", '{"lat":1,"lat":2,"lon":3}', None),
    Body("duplicate keys that agree", '{"lat":1,"lat":1.0,"lon":3}', (1.0, 3.0)),
    Body("aliases that differ", '{"lat":1,"latitude":2,"lon":3}', None),
    Body("countries that differ", '{"country":"FR","Country":"ES","lat":1,"lon":3}', None),
    Body("cut number inside", '{"country":"FR","lat":48.8,"lon":', None),
    Body("NUL", '{"country":"FR","lat":1\x00,"lon":2}', None),
    Body("too long", '{"lat": 48.8, "lon": 2.3}' + " " * 4_000, None),
    Body("deep", '{"a":' * 500 + "1" + "}" * 500, None),
)

GOOD = '{"country": "France", "lat": 48.8, "lon": 2.3}'
OTHER = '{"country": "Spain", "lat": 40.4, "lon": -3.7}'


class Text(NamedTuple):
    """A whole completion, the point it says, and whether it counts as cut off."""

    kind: str
    text: str
    point: tuple[float, float] | None
    truncated: bool = False


TEXTS: tuple[Text, ...] = (
    Text("thought, then answer", f"<think>left</think>\n<answer>{GOOD}</answer>", PARIS),
    Text("no thought", f"<answer>{GOOD}</answer>", PARIS),
    Text("think opened by the template", f"left</think><answer>{GOOD}</answer>", PARIS),
    Text(
        "answer in the thought",
        f"<think>maybe <answer>{OTHER}</answer></think><answer>{GOOD}</answer>",
        PARIS,
    ),
    Text("answer in the thought alone", f"<think>maybe <answer>{OTHER}</answer></think>", None),
    Text("answer before the last thought", f"<answer>{OTHER}</answer><think>no</think>", None),
    Text("thought again", f"<answer>{OTHER}</answer><think>no</think><answer>{GOOD}</answer>", PARIS),
    Text("thought never closed", f"<think> <answer>{GOOD}</answer>", None, True),
    Text("thought reopened", f"<think>a</think><think><answer>{GOOD}</answer>", None, True),
    Text("doubled closing tag", f"<answer>{GOOD}</answer></answer>", PARIS),
    Text("doubled opening tag", f"<answer><answer>{GOOD}</answer>", PARIS),
    Text("two answers: the last", f"<answer>{OTHER}</answer><answer>{GOOD}</answer>", PARIS),
    Text("last complete answer", f"<answer>{GOOD}</answer><answer>{OTHER}", PARIS),
    Text("upper case and blanks", f"<THINK>x</ Think ><ANSWER >\n{GOOD}\n</ Answer>", PARIS),
    Text("upper case think around", f"<THINK><answer>{GOOD}</answer>", None, True),
    Text("words after", f"<answer>{GOOD}</answer> I am fairly sure.", PARIS),
    Text("other tags", f"<b>x</b><think>a < b</think><answer>{GOOD}</answer>", PARIS),
    Text("tag in the country", f"<answer>{GOOD[:17]}<think>{GOOD[17:]}</answer>", None, True),
    Text("closing tag in the country", f"<answer>{GOOD[:17]}</answer>{GOOD[17:]}</answer>", None),
    Text("no tags", GOOD, None),
    Text("refusal", "I cannot tell where this is.", None),
    Text("country alone", "Country: Kenya", None),
    Text("empty", "", None),
    Text("cut inside a number", '<answer>{"country":"FR","lat":48.8566,"lon":2.', None, True),
    Text("cut inside a key", '<answer>{"lat": 48.8566, "lo', None, True),
    Text("cut inside the closing tag", f"<answer>{GOOD}</answe", None, True),
    Text("cut inside the thought", "<think>the road markings", None, True),
    Text("prompt's form", '<answer>{"country":"...","lat":<latitude>,"lon":<longitude>}</answer>', None),
)

GARBAGE: tuple[str, ...] = (
    "1" * 32_768,
    "<answer>" * 4_096,
    "</answer>" * 3_640,
    "<think>" * 4_681,
    "< " * 16_384,
    "<answer>" + "[" * 32_000 + "</answer>",
    "<answer>" + "{" * 32_000 + "</answer>",
    "<answer>" + '{"a":' * 6_000 + "</answer>",
    "[" * 100_000,
    "```json" + " " * 32_000,
    "\n" * 32_768,
    "<answer>```json" + "\n" * 1_900 + "</answer>",
    "<answer>" + "'" * 1_990 + "</answer>",
    '<answer>{"' + "\\" * 1_990 + "</answer>",
    "<answer>" + "lat:1," * 330 + "</answer>",
    "<answer>" + "a:" * 990 + "</answer>",
    "<answer>" + "1," * 990 + "</answer>",
    "<answer>lat:" + "\ufdfa" * 1_900 + "</answer>",
    "<answer>lat: " + "- " * 900 + "1, lon: 2</answer>",
    "-" * 32_000 + "1",
    "1\x00",
    "\ud800<answer>\udfff</answer>",
    "!" * 32_768,
)
"""Texts without a guess, most of them 32,768 characters that stall a backtracking parser."""
