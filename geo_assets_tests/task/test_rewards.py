import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.errors import DataError, ProfileError
from geo_assets.task import rewards
from geo_assets.task.rewards import REWARDS, TrainingClock, components, get_reward, trl_reward_functions
from geo_assets.task.terms import Reward, Terms, by_distance, geoguessr_total
from geo_assets_tests.cases.answers import GARBAGE
from geo_assets_tests.task.samples import completion

KENYA = (-1.2921, 36.8219, "KE")
ANSWER = completion("Kenya", -1.2921, 36.8219)
ZERO = {"format": 0.0, "country": 0.0, "dist": 0.0, "total": 0.0, "d_km": None, "geoscore": 0.0}

LAT = st.floats(-90, 90)
LON = st.floats(-180, 180)


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_a_perfect_answer_earns_one(name):
    parts = components(ANSWER, *KENYA, reward=name)
    assert parts["total"] == pytest.approx(1.0, abs=1e-12)
    assert parts["total"] <= 1.0
    assert (parts["format"], parts["country"], parts["d_km"], parts["geoscore"]) == (1.0, 1.0, 0.0, 5000.0)


@pytest.mark.parametrize("name", sorted(REWARDS))
@pytest.mark.parametrize("text", ["", "Country: Kenya", "<think>x</think>", ANSWER[:-3], *GARBAGE[:3]])
def test_no_answer_earns_exactly_nothing(name, text):
    assert components(text, *KENYA, reward=name) == ZERO


def test_the_default_formula():
    parts = components(completion("Kenya", -1.2921, 38.8219), *KENYA)
    d_km = parts["d_km"]
    assert d_km == pytest.approx(222.33, abs=0.1)
    dist = 0.5 * math.exp(-d_km / 1492.7) + 0.5 * math.exp(-d_km / 250)
    assert parts["dist"] == pytest.approx(dist, abs=1e-15)
    assert parts["total"] == pytest.approx(0.10 + 0.30 + 0.60 * dist, abs=1e-15)
    assert parts["geoscore"] == pytest.approx(5000 * math.exp(-d_km / 1492.7))


@given(st.floats(-4.6, 4.0), st.floats(34.0, 41.5))
def test_the_right_country_with_wrong_coordinates_inside_it(lat, lon):
    assert 0.40 <= components(completion("Kenya", lat, lon), *KENYA)["total"] <= 1.0


def test_a_far_point_in_the_right_country_lies_in_the_stated_range():
    assert 0.40 <= components(completion("Kenya", 3.5, 41.5), *KENYA)["total"] <= 0.70


def test_an_unknown_country_keeps_format_and_distance():
    parts = components(completion("Atlantis", -1.2921, 36.8219), *KENYA)
    assert (parts["format"], parts["country"], parts["dist"]) == (1.0, 0.0, 1.0)


def test_coordinates_alone_are_not_the_asked_form():
    parts = components('<answer>{"lat": -1.2921, "lon": 36.8219}</answer>', *KENYA)
    assert (parts["format"], parts["country"], parts["dist"]) == (0.0, 0.0, 1.0)


def test_kosovo_is_kosovo():
    pristina = (42.4623, 21.4697)
    assert components(completion("Kosovo", *pristina), *pristina, "XK")["country"] == 1.0
    assert components(completion("Kosovo", *pristina), *pristina, "RS")["country"] == 0.0


def test_an_unknown_truth_is_no_match_for_an_unknown_guess():
    assert components(completion("Atlantis", 1, 2), 1.0, 2.0, None)["country"] == 0.0


@pytest.mark.parametrize("name", sorted(REWARDS))
@given(
    lat=LAT, lon=LON, country=st.sampled_from(["Kenya", "France", "Atlantis", ""]), true=st.tuples(LAT, LON)
)
def test_every_term_is_finite_and_in_range(name, lat, lon, country, true):
    parts = components(completion(country, lat, lon), *true, "KE", reward=name)
    for term in ("format", "country", "dist", "total"):
        assert 0.0 <= parts[term] <= 1.0
    assert 0.0 <= parts["geoscore"] <= 5000.0


@pytest.mark.parametrize("name", ["geoguessr", "bands", "region"])
@given(near=st.floats(0, 20_015), far=st.floats(0, 20_015))
def test_nearer_never_earns_less(name, near, far):
    near, far = sorted((near, far))
    kernel = {
        "geoguessr": rewards.geoguessr_dist,
        "bands": rewards.bands_dist,
        "region": rewards.region_dist,
    }[name]
    assert 0.0 <= kernel(far) <= kernel(near) <= 1.0


@pytest.mark.parametrize(
    ("d_km", "earned"), [(0, 1), (375, 0.75), (750, 0.5), (1625, 0.35), (2500, 0.2), (20_000, 0)]
)
def test_bands(d_km, earned):
    assert rewards.bands_dist(d_km) == pytest.approx(earned)


@pytest.mark.parametrize(
    ("d_km", "earned"), [(0, 1), (200, math.exp(-1)), (2000, math.exp(-10)), (2000.01, 0)]
)
def test_region(d_km, earned):
    assert rewards.region_dist(d_km) == pytest.approx(earned)


def test_unknown_rewards_are_refused_with_the_choices():
    for ask in (lambda: get_reward("nope"), lambda: components(ANSWER, *KENYA, reward="nope")):
        with pytest.raises(ProfileError, match="bands, geoguessr, hierarchical, region"):
            ask()


@pytest.mark.parametrize("name", sorted(REWARDS))
@pytest.mark.parametrize("latitude", [math.nan, math.inf, 91.0])
def test_a_row_without_a_place_is_an_error_and_not_a_reward(name, latitude):
    with pytest.raises(DataError, match="build its set again"):
        components(ANSWER, latitude, 36.8, "KE", reward=name)


COLUMNS = {
    "latitude": [KENYA[0]] * 3,
    "longitude": [KENYA[1]] * 3,
    "country_iso2": ["KE"] * 3,
    "id": ["a", "b", "c"],
}
COMPLETIONS = [
    [{"role": "assistant", "content": text}] for text in (ANSWER, "nothing", completion("France", 48, 2))
]


def test_trl_gets_the_total_and_its_terms_as_curves():
    functions, weights = trl_reward_functions("geoguessr")
    assert [function.__name__ for function in functions] == [
        "total_reward", "format_reward", "country_reward", "dist_reward", "geoscore",
    ]  # fmt: skip
    assert weights == [1.0, 0.0, 0.0, 0.0, 0.0]
    values = [function(prompts=["p"] * 3, completions=COMPLETIONS, **COLUMNS) for function in functions]
    assert [value[0] for value in values] == [1.0, 1.0, 1.0, 1.0, 5000.0]
    assert [value[1] for value in values] == [0.0] * 5
    assert all(isinstance(number, float) and math.isfinite(number) for value in values for number in value)


@pytest.mark.parametrize("form", ["text", "message", "parts"])
def test_trl_completions_come_in_three_forms(form):
    given_as = {
        "text": ANSWER,
        "message": [{"role": "assistant", "content": ANSWER}],
        "parts": [{"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}],
    }[form]
    (total, *_), _ = trl_reward_functions("geoguessr")
    assert total(["p"], [given_as], [KENYA[0]], [KENYA[1]], ["KE"]) == [1.0]


@pytest.mark.parametrize("broken", [[], [{}], [None], None, [{"content": None}], [{"content": [None]}], 7])
def test_a_broken_completion_earns_nothing(broken):
    (total, *_), _ = trl_reward_functions("geoguessr")
    assert total(["p"], [broken], [KENYA[0]], [KENYA[1]], ["KE"]) == [0.0]


def test_the_schedule_follows_the_optimizer_step_and_survives_a_resume():
    text = completion("Kenya", 0.5, 37.0)  # right country, wrong place: worth more early than late
    row = (["p"], [text], [KENYA[0]], [KENYA[1]], ["KE"])
    clock = TrainingClock(total_steps=100)
    (total, *_), _ = trl_reward_functions("hierarchical", clock)
    seen = []
    for step in (0, 50, 100, 250):
        clock.step = step
        seen += total(*row)
    assert seen[0] > seen[1] > seen[2] == seen[3]

    resumed = TrainingClock(total_steps=100, step=50)
    (again, *_), _ = trl_reward_functions("hierarchical", resumed)
    assert again(*row) == [seen[1]]

    (state_read, *_), _ = trl_reward_functions("hierarchical")
    assert state_read(*row, trainer_state=SimpleNamespace(global_step=50, max_steps=100)) == [seen[1]]
    assert state_read(*row) == [seen[2]]


def test_a_clock_never_leaves_its_range():
    assert [TrainingClock(10, step).progress for step in (-5, 0, 5, 10, 15)] == [0.0, 0.0, 0.5, 1.0, 1.0]
    assert TrainingClock(0, 0).progress == 0.0


def test_a_reward_that_pays_for_a_country_alone_cannot_be_trained_on(monkeypatch):
    def score(texts, latitude, longitude, country_iso2, progress=1.0):
        from geo_assets.geo.countries import country_name

        return [
            Terms(1.0, 1.0, 1.0, float(iso2 is not None and country_name(iso2) in text), None, 0.0)
            for text, iso2 in zip(texts, country_iso2, strict=True)
        ]

    monkeypatch.setitem(REWARDS, "naive", Reward("naive", "the name occurs in the text", score))
    with pytest.raises(ProfileError, match="can be gamed"):
        trl_reward_functions("naive")


def test_a_reward_of_distance_and_country_can_be_added(monkeypatch):
    own = Reward("own", "half", by_distance(lambda d_km: 0.5 * math.exp(-d_km / 800.0), geoguessr_total))
    monkeypatch.setitem(REWARDS, "own", own)
    (total, *_), _ = trl_reward_functions("own")
    assert total(["p"], [ANSWER], [KENYA[0]], [KENYA[1]], ["KE"]) == [pytest.approx(0.7)]


def test_a_scheduled_reward_logs_its_weights_once_a_batch():
    row = ([ANSWER], [KENYA[0]], [KENYA[1]], ["KE"])
    state = SimpleNamespace(global_step=25, max_steps=100)
    logged: list[tuple[str, float]] = []
    for name in ("geoguessr", "hierarchical"):
        for function in trl_reward_functions(name)[0]:
            function(["p"], *row, trainer_state=state, log_metric=lambda *pair: logged.append(pair))
    assert len(logged) == len(dict(logged)) == 8
    assert dict(logged)["curriculum/country_weight"] == pytest.approx(0.325)
    assert dict(logged)["curriculum/city_level"] == 1.0
