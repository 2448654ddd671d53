import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geo_assets.geo.countries import country_table
from geo_assets.task import answer
from geo_assets.task.answer import Guess, is_truncated, parse_answer, read_answer
from geo_assets_tests.cases.answers import BODIES, GARBAGE, GOOD, TEXTS, Body, Text

LAT = st.floats(-90, 90)
LON = st.floats(-180, 180)
NAMES = st.sampled_from(sorted(country_table().english.values()))


def point_of(guess: Guess | None) -> tuple[float, float] | None:
    return guess and (guess.lat_deg, guess.lon_deg)


def inside(body: str) -> str:
    return f"<think>left</think><answer>{body}</answer>"


@pytest.mark.parametrize("case", BODIES, ids=lambda case: case.kind)
def test_answers(case: Body):
    found = point_of(parse_answer(inside(case.body)))
    assert found == (case.point and pytest.approx(case.point, abs=1e-7))


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: case.kind)
def test_completions(case: Text):
    assert point_of(parse_answer(case.text)) == case.point
    assert is_truncated(case.text) == case.truncated


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: repr(text[:16]))
def test_garbage_says_nothing(text):
    assert parse_answer(text) is None
    assert is_truncated(text) in (True, False)


@pytest.mark.parametrize("text", [None, 3, True, b"<answer></answer>", ["x"], {"content": GOOD}])
def test_what_is_no_text_says_nothing(text):
    assert parse_answer(text) is None


def test_a_text_beyond_all_limits_says_nothing():
    assert parse_answer("x" * answer.MAX_TEXT_CHARS + inside(GOOD)) is None


@pytest.mark.parametrize(
    ("country", "iso2"),
    [
        ("Niger", "NE"),
        ("Republic of Korea", "KR"),
        ("Kosovo", "XK"),
        ("XK", "XK"),
        ("Côte d’Ivoire", "CI"),
        ("Niger or Nigeria or Mali", None),
        ("FR, DE, ES", None),
        ("Atlantis", None),
        ("None", None),
        ("x" * 300, None),
    ],
)
def test_countries_of_answers(country, iso2):
    guess = parse_answer(inside(json.dumps({"country": country, "lat": 1, "lon": 2})))
    assert (guess.country, guess.country_iso2) == (country, iso2)


def test_coordinates_alone_name_no_country():
    assert parse_answer(inside('{"lat": 1, "lon": 2}')) == Guess("", None, 1.0, 2.0)


def test_half_characters_never_leave_the_parser():
    guess = parse_answer(inside('{"country": "\\ud800", "lat": 1, "lon": 2}'))
    assert guess.country.encode("utf-8") == "\ufffd".encode()


def test_a_deep_recursion_limit_does_not_matter():
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        assert parse_answer("<answer>" + "[" * 1_900 + "</answer>") is None
        assert parse_answer('<answer>{"a":' + '{"a":' * 380 + "</answer>") is None
    finally:
        sys.setrecursionlimit(limit)


@given(NAMES, LAT, LON)
def test_what_is_written_is_read(country, lat, lon):
    guess = parse_answer(inside(json.dumps({"country": country, "lat": lat, "lon": lon})))
    assert (guess.country, guess.lat_deg, guess.lon_deg) == (country, lat, lon)
    assert country_table().english[guess.country_iso2] == country


@given(
    NAMES.filter(lambda name: "'" not in name),
    st.decimals(-90, 90, places=4),
    st.decimals(-180, 180, places=4),
    st.permutations(["country", "lat", "lon"]),
    st.sampled_from(['"', "'", "”"]),
    st.sampled_from(["", " ", "\n  "]),
    st.sampled_from(["", ","]),
    st.sampled_from(["lat", "Latitude", "LAT"]),
    st.sampled_from(["lon", "lng", "Longitude", "long"]),
    st.booleans(),
)
def test_form_does_not_change_what_is_said(
    country, lat, lon, order, quote, gap, trailing, lat_key, lon_key, fenced
):
    fields = {"country": f"{quote}{country}{quote}", "lat": str(lat), "lon": str(lon)}
    keys = {"country": "country", "lat": lat_key, "lon": lon_key}
    pairs = [f"{quote}{keys[field]}{quote}:{gap}{fields[field]}" for field in order]
    body = "{" + gap + f",{gap or ' '}".join(pairs) + trailing + "}"
    if fenced:
        body = f"```json\n{body}\n```"
    guess = parse_answer(inside(body))
    assert guess is not None, body
    assert (guess.country, guess.lat_deg, guess.lon_deg) == (country, float(lat), float(lon))


@given(st.decimals(0, 90, places=5), st.decimals(0, 180, places=5), st.booleans(), st.booleans())
def test_hemisphere_letters_are_signs(lat, lon, south, west):
    written = f'{{"lat": "{lat}° {"S" if south else "N"}", "lon": "{"W" if west else "E"} {lon}"}}'
    guess = parse_answer(inside(written))
    assert guess.lat_deg == (-float(lat) if south else float(lat))
    assert guess.lon_deg == (-float(lon) if west else float(lon))


@given(st.decimals(0, 90, places=5), st.decimals(0, 180, places=5), st.sampled_from("−‒–－-"))
def test_every_dash_is_a_minus(lat, lon, dash):
    for written in (f'{{"lat": {dash}{lat}, "lon": {dash}{lon}}}', f"lat: {dash}{lat}, lon: {dash}{lon}"):
        guess = parse_answer(inside(written))
        assert (guess.lat_deg, guess.lon_deg) == (-float(lat), -float(lon))


@given(st.integers(0, 89), st.integers(0, 59), st.floats(0, 59.999), st.booleans())
def test_minutes_and_seconds_count(degrees, minutes, seconds, south):
    text = f"{degrees}° {minutes}' {seconds:.3f}\" {'S' if south else 'N'}"
    guess = parse_answer(inside(json.dumps({"lat": text, "lon": "1"})))
    size = degrees + minutes / 60 + float(f"{seconds:.3f}") / 3600
    assert guess.lat_deg == pytest.approx(-size if south else size, abs=1e-12)


@given(LAT, LON, st.data())
def test_a_cut_off_answer_says_nothing(lat, lon, data):
    text = inside(json.dumps({"country": "Kenya", "lat": lat, "lon": lon}))
    cut = data.draw(st.integers(0, len(text) - 1))
    assert parse_answer(text[:cut]) is None
    closed = len("<think>left</think>")
    assert is_truncated(text[:cut]) == (cut > 1 and cut not in (closed, closed + 1))


PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "< Answer >",
        "</ANSWER>",
        GOOD,
        '{"lat": 1, "lon": 2}',
        "a<b",
        " ",
    ]
)


@given(st.lists(PIECES, max_size=9).map("".join))
@settings(max_examples=400)
def test_the_fast_path_reads_what_the_walk_reads(text):
    body = read_answer(text).body
    walked = None if body is None else answer._parse_body(body)
    assert parse_answer(text) == walked


@given(st.text(max_size=300))
@settings(max_examples=300)
def test_any_body_is_on_the_globe_or_nothing(body):
    for text in (body, inside(body), inside('{"country": "Kenya", "lat": ' + body + ', "lon": 2}')):
        guess = parse_answer(text)
        if guess is not None:
            assert -90.0 <= guess.lat_deg <= 90.0 and -180.0 <= guess.lon_deg <= 180.0
            assert guess.country_iso2 is None or guess.country_iso2 in country_table().english


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["lat", "lon", "country", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(JSON_VALUES)
@settings(max_examples=300)
def test_any_json_is_read_or_refused(value):
    guess = parse_answer(inside(json.dumps(value)))
    if guess is not None:
        assert isinstance(value, dict)
