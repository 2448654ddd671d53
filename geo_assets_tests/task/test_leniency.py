import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.task.leniency import Pairs, degrees, hemisphere_pair, lenient_pairs


@pytest.mark.parametrize(
    ("text", "axis", "number"),
    [
        ("48.8566", "lat", 48.8566),
        (" +48.8566 ", "lat", 48.8566),
        ("48,8566", "lat", 48.8566),
        ("48.8566°", "lat", 48.8566),
        ("48.8566º N", "lat", 48.8566),
        ("N48.8566", "lat", 48.8566),
        ("2.3522 deg W", "lon", -2.3522),
        ("2.3522 degrees east", "lon", 2.3522),
        ("1e1", "lat", 10.0),
        ("33E", "lon", 33.0),
        ("33E0", "lon", 33.0),
        ("180", "lon", 180.0),
        ("180", "lat", None),
        ("90.0000001", "lat", None),
        ("1e999", "lat", None),
        ("12345", "lon", None),
        ("", "lat", None),
        ("-", "lat", None),
        (".", "lat", None),
        ("48.8566.1", "lat", None),
        ("48 8566", "lat", None),
        ("4026'", "lat", None),
        ("40°26'46\"E", "lat", None),
        ("٤٨.٨", "lat", None),
        ("4" * 101, "lat", None),
        ("NaN", "lat", None),
        ("48.8 N or S", "lat", None),
    ],
)
def test_degrees(text, axis, number):
    assert degrees(text, axis) == number


@pytest.mark.parametrize(
    "value", [True, False, None, [1], (1,), {"lat": 1}, 10**400, float("nan"), float("inf"), 1j]
)
def test_values_that_are_no_coordinate(value):
    assert degrees(value, "lat") is None


@given(st.text(max_size=120), st.sampled_from(["lat", "lon"]))
def test_any_text_is_in_range_or_nothing(text, axis):
    number = degrees(text, axis)
    assert number is None or abs(number) <= {"lat": 90, "lon": 180}[axis]


@pytest.mark.parametrize(
    ("body", "pairs"),
    [
        ("{a: 1}", [("a", "1")]),
        ("a: 1; b = 2", [("a", "1"), ("b", "2")]),
        ("{'a': 'x, y', }", [("a", "x, y")]),
        ('{"a": "say \\"x\\""}', [("a", 'say "x"')]),
        ("{a: {b: 1}}", [("a", Pairs([("b", "1")]))]),
        ("{a: [1, 2]}", None),
        ("{a: null}", None),
        ("{a: }", None),
        ("{a 1}", None),
        ("a: 1}", None),
        ("{a: 1", None),
        ("", None),
        ("prose alone", None),
    ],
)
def test_objects_that_are_not_strict_json(body, pairs):
    assert lenient_pairs(body) == pairs


@given(st.text(alphabet="{}:,;'\"“”=lat on1.5-°NS\n\\", max_size=200))
def test_any_marks_are_read_or_refused(body):
    pairs = lenient_pairs(body)
    assert pairs is None or all(isinstance(key, str) for key, _ in pairs)
    point = hemisphere_pair(body)
    assert point is None or (abs(point[0]) <= 90 and abs(point[1]) <= 180)
