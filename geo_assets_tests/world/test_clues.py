"""The clues: what a country shows, how often, and the text that names it."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter
from dataclasses import fields, replace

import pytest
from fontTools.ttLib import TTFont

from geo_assets.world import clues
from geo_assets.world.attributes import CHOICES, SCRIPT_WORDS, all_countries
from geo_assets.world.climate import VEGETATION_WORDS, local_vegetation, noon_sun
from geo_assets.world.lettering import font_file
from geo_assets.world.places import places

SAMPLES = 400


def sampled(iso2: str, n: int = SAMPLES) -> list[clues.Clues]:
    rng = random.Random(iso2)
    return [clues.sample_clues(rng, clues.sample_place(rng, iso2, "train")) for _ in range(n)]


def test_there_are_24_countries_beside_namibia():
    assert len(clues.COUNTRIES) == 24
    assert set(all_countries()) - set(clues.COUNTRIES) == {"NA"}


def test_every_value_of_the_table_is_a_known_word():
    for country in all_countries().values():
        assert country.drive_side in ("left", "right")
        assert country.script in SCRIPT_WORDS
        for name, choices in CHOICES.items():
            assert getattr(country, name) in choices, (country.iso2, name)


def test_drive_sides_agree_with_an_independent_table(shared_data):
    with (shared_data / "geo" / "country_attributes.csv").open(encoding="utf-8", newline="") as file:
        known = {row["iso2"]: row["drive_side"] for row in csv.DictReader(file)}
    for country in all_countries().values():
        assert country.drive_side == known[country.iso2], country.iso2


@pytest.mark.parametrize("iso2", sorted(clues.COUNTRIES))
def test_a_country_mostly_shows_its_own_attributes(iso2):
    country, scenes = clues.COUNTRIES[iso2], sampled(iso2)
    assert Counter(s.drive_side for s in scenes).most_common(1)[0][0] == country.drive_side
    assert Counter(s.script for s in scenes).most_common(1)[0][0] == country.script
    for name in CHOICES:
        own = sum(getattr(scene, name) == getattr(country, name) for scene in scenes) / SAMPLES
        # Noise takes 4%; the line and plate habits of some countries up to 45% more.
        assert own > (0.5 if name in ("centre_line", "plate_rear", "plate_front") else 0.9), (name, own)


def test_noise_is_there_but_small():
    scenes = [scene for iso2 in clues.COUNTRIES for scene in sampled(iso2, 100)]
    odd = [scene for scene in scenes if scene.drive_side != clues.COUNTRIES[scene.place.iso2].drive_side]
    assert 0.005 < len(odd) / len(scenes) < 0.04


def test_each_thing_is_shown_as_often_as_stated():
    scenes = [scene for iso2 in clues.COUNTRIES for scene in sampled(iso2, 100)]
    for name, chance in clues.VISIBLE.items():
        assert sum(name in scene.shows for scene in scenes) / len(scenes) == pytest.approx(chance, abs=0.04)


def test_vegetation_belongs_to_the_climate_of_the_place():
    for iso2 in clues.COUNTRIES:
        for scene in sampled(iso2, 60):
            assert scene.vegetation in local_vegetation(iso2, scene.place.koppen)


def test_plants_grow_on_their_continents():
    grows = {
        iso2: {kind for p in places(iso2) for kind in local_vegetation(iso2, p.koppen)}
        for iso2 in clues.COUNTRIES
    }
    homes = {kind: {iso2 for iso2, kinds in grows.items() if kind in kinds} for kind in VEGETATION_WORDS}
    assert homes["eucalypt"] == {"AU"}
    assert homes["cactus"] <= {"AR", "BR", "MX", "US"}
    assert homes["acacia"] <= {"EG", "IN", "KE", "MA", "ZA"}


def test_the_noon_sun_stands_in_the_south_north_of_the_tropic():
    for share in (0.0, 0.13, 0.25, 0.5, 0.75, 0.99):
        assert noon_sun(35.0, share)[0] == "south"
        assert noon_sun(-35.0, share)[0] == "north"
    assert noon_sun(51.5, 0.25)[1] == pytest.approx(61.9, abs=0.1)  # London in June
    assert noon_sun(51.5, 0.75)[1] == pytest.approx(15.1, abs=0.1)  # and in December


def test_yellow_plates_are_a_clue_to_new_south_wales():
    scenes = sampled("AU", 800)
    here = [s.plate_rear == "yellow" for s in scenes if s.place.region == "New South Wales"]
    elsewhere = [s.plate_rear == "yellow" for s in scenes if s.place.region != "New South Wales"]
    assert sum(here) / len(here) > 0.9 and sum(elsewhere) / len(elsewhere) < 0.05


def test_all_sign_texts_have_glyphs_in_their_font():
    known = {script: set(TTFont(font_file(script)).getBestCmap()) for script in SCRIPT_WORDS}
    for iso2, country in all_countries().items():
        for place in places(iso2):
            assert place.sign_name, place
            assert {ord(c) for c in place.sign_name} <= known[country.script], place
            assert {ord(c) for c in place.name + place.name.upper()} <= known["Latin"], place


def test_think_text_names_what_is_seen_and_nothing_else():
    scene = replace(
        sampled("GR", 1)[0], script="Greek", vegetation="olive", sun_side="south", plate_rear="euro"
    )
    scene = replace(scene, centre_line="white", warning_sign="yellow triangle", drive_side="right")
    everything = replace(scene, shows=frozenset(clues.VISIBLE))
    assert clues.think_text(everything) == (
        "Greek sign, drives right, white line, yellow triangle, euro plate, olives, sun south"
    )
    assert clues.think_text(replace(scene, shows=frozenset())) == "drives right, olives"


def test_corpus_has_the_form_of_the_task_and_every_country():
    texts = clues.corpus(seed=1, n=240)
    form = re.compile(
        r"<think>[a-zA-Z ,]+</think>"
        r'<answer>\{"country": "([A-Za-z ]+)", "lat": (-?\d+), "lon": (-?\d+)\}</answer>'
    )
    matches = [form.fullmatch(text) for text in texts]
    assert all(matches)
    counts = Counter(match[1] for match in matches if match)
    assert counts == {country.name: 10 for country in clues.COUNTRIES.values()}
    assert texts == clues.corpus(seed=1, n=240) != clues.corpus(seed=2, n=240)


def test_think_texts_are_short():
    longest = max(
        (clues.think_text(scene) for iso2 in clues.COUNTRIES for scene in sampled(iso2, 60)), key=len
    )
    assert len(re.findall(r"\w+|,", longest)) <= 25


def test_lookalikes_are_half_of_the_countries_and_point_elsewhere():
    assert len(clues.LOOKALIKES) == 12
    for iso2, other in clues.LOOKALIKES.items():
        assert iso2 != other and {iso2, other} <= set(clues.COUNTRIES)
        assert other not in clues.LOOKALIKES


def test_words_cover_the_vegetation_of_every_climate():
    kinds = {k for iso2 in all_countries() for p in places(iso2) for k in local_vegetation(iso2, p.koppen)}
    assert kinds <= set(VEGETATION_WORDS)


def test_clues_have_a_field_for_every_drawn_attribute():
    assert set(CHOICES) <= {field.name for field in fields(clues.Clues)}
