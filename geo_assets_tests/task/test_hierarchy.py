import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.task.hierarchy import COARSE, FINE, LEVELS, TAU_KM, curriculum, score_levels, weights
from geo_assets_tests.task.samples import completion

PARIS = (48.8566, 2.3522, "FR")


def earned(text: str, true=PARIS, progress: float = 1.0) -> float:
    return score_levels([text], [true[0]], [true[1]], [true[2]], progress)[0].total


@given(st.floats(-1, 2))
def test_weights_are_positive_and_sum_to_one(progress):
    found = weights(progress)
    assert sum(found) == pytest.approx(1.0)
    assert min(found) > 0


def test_weights_move_from_coarse_to_fine():
    assert weights(0) == COARSE and weights(1) == pytest.approx(FINE)
    assert COARSE[0] > FINE[0] and COARSE[-1] < FINE[-1]


def test_levels_in_order_of_fineness():
    city = completion("France", 48.87, 2.33)  # Paris, 2 km off
    region = completion("France", 48.40, 2.70)  # Ile-de-France, 57 km off
    country = completion("France", 43.30, 5.40)  # Marseille
    neighbour = completion("Germany", 52.52, 13.40)
    far = completion("Australia", -33.87, 151.21)
    for progress in (0.0, 0.5, 1.0):
        values = [earned(text, progress=progress) for text in (city, region, country, neighbour, far)]
        assert values == sorted(values, reverse=True)
        assert len(set(values)) == len(values)


def test_a_right_level_counts_whole_and_a_wrong_one_decays():
    blend = weights(1.0)
    marseille = completion("France", 43.30, 5.40)
    found = score_levels([marseille], [PARIS[0]], [PARIS[1]], ["FR"])[0]
    d_km = found.d_km
    by_hand = (
        blend[0]
        + blend[1] * math.exp(-d_km / TAU_KM[1])
        + blend[2] * math.exp(-d_km / TAU_KM[2])
        + blend[3] * math.exp(-d_km / TAU_KM[3])
    )
    assert found.total == pytest.approx(by_hand)


def test_a_wrong_country_is_worth_its_nearness():
    def country_level(name: str) -> float:
        return earned(completion(name, *PARIS[:2]), progress=0.0) - sum(weights(0.0)[1:])

    belgium, spain, japan, nowhere = map(country_level, ("Belgium", "Spain", "Japan", "Atlantis"))
    assert weights(0.0)[0] > belgium > spain > japan > nowhere
    assert nowhere == pytest.approx(0.0, abs=1e-12)


def test_a_missing_level_scores_nothing_and_keeps_its_weight():
    alone = '<answer>{"lat": 48.8566, "lon": 2.3522}</answer>'
    assert earned(alone, progress=0.0) == pytest.approx(1.0 - COARSE[0])
    assert earned("Country: France", progress=0.0) == 0.0


def test_batches_equal_single_scores():
    texts = [completion("France", 48.0, 2.0), "none", completion("Kenya", 1.0, 37.0)]
    together = score_levels(texts, [PARIS[0]] * 3, [PARIS[1]] * 3, ["FR"] * 3, 0.3)
    assert [terms.total for terms in together] == [earned(text, progress=0.3) for text in texts]
    assert score_levels([], [], [], []) == []


def test_the_log_shows_weights_and_mean_levels():
    texts = [completion("France", *PARIS[:2]), "none"]
    found = curriculum(texts, [PARIS[0]] * 2, [PARIS[1]] * 2, ["FR"] * 2, 0.25)
    assert [found[f"{level}_weight"] for level in LEVELS] == pytest.approx([0.325, 0.275, 0.225, 0.175])
    assert [found[f"{level}_level"] for level in LEVELS] == [0.5] * 4
    blend = sum(found[f"{level}_weight"] * found[f"{level}_level"] for level in LEVELS)
    assert blend == pytest.approx(0.5)  # the mean reward of the two
