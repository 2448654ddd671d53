import json

import pytest

from geo_assets.errors import ProfileError
from geo_assets.task.answer import parse_answer
from geo_assets.task.prompt import EXAMPLE_ANSWERS, SYSTEM, digest, is_echo, messages, user_text

CLUES = (
    "driving side", "language and script", "licence plates", "road markings and bollards", "utility poles",
    "vegetation and climate", "architecture", "soil colour", "place names",
)  # fmt: skip


def test_the_expert_prompt_asks_for_all_of_it():
    text = user_text("expert")
    assert "Where was this photo taken?" in text
    assert "<think>" in text and "<answer>" in text and "150 words" in text
    assert all(clue in text for clue in CLUES)
    assert all(f'"{key}"' in text for key in ("country", "lat", "lon"))
    assert "GeoGuessr" in SYSTEM["expert"] and "visual clues alone" in SYSTEM["expert"]


def test_the_short_prompt_is_the_one_of_the_demo():
    system, user = messages("short")
    assert system == {"role": "system", "content": "You are a geolocation expert."}
    assert user["content"] == [{"type": "image"}, {"type": "text", "text": "Where was this photo taken?"}]


@pytest.mark.parametrize("style", ["expert", "short"])
@pytest.mark.parametrize("n_views", [1, 3])
def test_one_placeholder_per_view_then_the_text(style, n_views):
    _, user = messages(style, n_views)
    assert [part["type"] for part in user["content"]] == ["image"] * n_views + ["text"]


def test_the_example_reads_as_an_answer_and_counts_as_an_echo():
    for example in EXAMPLE_ANSWERS:
        assert example in user_text("expert")
        assert set(json.loads(example)) == {"country", "lat", "lon"}
        guess = parse_answer(f"<answer>{example}</answer>")
        assert guess.country_iso2 == "BV"
        assert is_echo(guess.country, guess.lat_deg, guess.lon_deg)
        assert not is_echo(guess.country, guess.lat_deg, guess.lon_deg + 0.1)
    assert not is_echo(None, None, None)


def test_digests_tell_styles_apart_and_are_stable():
    assert digest("expert") != digest("short")
    assert digest("expert") == digest("expert")
    assert len(digest("short")) == 12


def test_a_changed_word_changes_the_digest(monkeypatch):
    before = digest("short")
    monkeypatch.setitem(SYSTEM, "short", "You are a geography expert.")
    assert digest("short") != before


def test_unknown_styles_and_no_views_are_refused():
    with pytest.raises(ProfileError, match="expert, short"):
        messages("poet")
    with pytest.raises(ValueError, match="at least one view"):
        messages("short", 0)
