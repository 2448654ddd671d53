import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.score import geoscore
from geo_assets.task.controls import best_point, derangement, no_look_answers, prior_place, survival
from geo_assets.task.gold import Place
from geo_assets.task.rewards import components
from geo_assets_tests.task.samples import answered, gold, right, unparsed


def places(n: int = 80) -> list[Place]:
    return [Place(r["latitude"], r["longitude"], r["country_iso2"]) for r in gold(n)]


@given(st.integers(2, 200), st.integers(0, 50))
def test_every_row_gets_another_row_s_image(n, seed):
    order = derangement(n, seed)
    assert sorted(order) == list(range(n))
    assert all(i != j for i, j in enumerate(order))
    assert order == derangement(n, seed)


def test_one_row_has_no_other_image():
    with pytest.raises(ValueError, match="two rows"):
        derangement(1, 0)


def test_no_other_place_of_the_rows_scores_better():
    fit = places()
    lat, lon = np.array([p.latitude for p in fit]), np.array([p.longitude for p in fit])
    best = best_point(fit)
    means = [geoscore(haversine_km(lat, lon, p.latitude, p.longitude)).mean() for p in fit]
    assert geoscore(haversine_km(lat, lon, best.latitude, best.longitude)).mean() == pytest.approx(max(means))
    assert best == best_point(fit[::-1])


def test_the_prior_is_the_most_frequent_country():
    fit = [*places(40), *(Place(36.0 + i / 10, 138.0, "JP") for i in range(20))]
    assert prior_place(fit).country_iso2 == "JP"


def test_their_answers_are_ordinary_completions():
    answers = no_look_answers(places())
    assert set(answers) == {"constant", "prior"}
    for text in answers.values():
        assert components(text, 0.0, 0.0, "KE")["format"] == 1.0


def test_what_survives_without_the_right_image():
    rows = range(60)
    blind = [answered(i, "FR", 48.0, 2.0) for i in rows]
    seeing = [right(i) for i in rows]
    assert survival(blind, seeing, blind, blind).surviving_share == 0.0
    assert survival(blind, seeing, blind, seeing).surviving_share == 1.0
    half = [right(i) if i % 2 else blind[i] for i in rows]
    assert 0.3 < survival(blind, seeing, blind, half).surviving_share < 0.7


def test_no_clear_gain_has_no_share():
    rows = range(20)
    assert survival(*[[unparsed(i) for i in rows]] * 4).surviving_share is None
