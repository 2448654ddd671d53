import re

import pytest

from geo_assets.errors import DataError, ProfileError
from geo_assets.geo.countries import country_name
from geo_assets.task.attacks import (
    ATTACKS,
    honest_scores,
    require_sound,
    run_attacks,
)
from geo_assets.task.gold import make_gold, standard_gold
from geo_assets.task.rewards import REWARDS
from geo_assets.task.terms import Reward, Terms
from geo_assets_tests.task.samples import gold


def by_text(name: str, pay) -> Reward:
    """A reward that looks at the text and the true country's name."""

    def score(texts, latitude, longitude, country_iso2, progress=1.0):
        return [
            Terms(0.0, 0.0, 0.0, float(pay(text, country_name(iso2))), None, 0.0)
            for text, iso2 in zip(texts, country_iso2, strict=True)
        ]

    return Reward(name, "a published kind of fault", score)


def broken(table) -> set[str]:
    return {str(row["attack"]) for row in table.rows if not row["passed"]}


@pytest.mark.parametrize("name", sorted(REWARDS))
def test_the_product_s_rewards_hold(name):
    table = run_attacks(standard_gold(), [name])
    assert table.passed, broken(table)
    assert table.n_gold == 1_000
    stages = 2 if REWARDS[name].scheduled else 1
    assert len(table.rows) == stages * (len(ATTACKS) + 1)


def test_they_hold_on_a_small_world_too():
    table = run_attacks(gold(120))
    assert table.passed, broken(table)
    assert {str(row["reward"]).split(" at ")[0] for row in table.rows} == set(REWARDS)


def test_there_are_about_a_dozen_attacks():
    assert len(ATTACKS) >= 12
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize(
    ("pay", "attack"),
    [
        (lambda text, country: country in text, "country only"),
        (lambda text, country: country in text, "shotgun"),
        (lambda text, country: re.search(r"NaN|1e999", text) is not None or country in text, "NaN"),
        (lambda text, country: "<answer>" in text, "(knowing more pays more)"),
        (lambda text, country: 1.0, "answer omitted"),
        (lambda text, country: "think" in text, "think only"),
        (lambda text, country: len(text) > 1_000, "huge garbage"),
        (lambda text, country: 0.3 * ("0.0" in text) + 0.2 * (country in text), "null island"),
        (lambda text, country: "Bouvet" in text, "prompt example"),
        (lambda text, country: min(1.0, text.count("<answer>") / 20), "many answers"),
    ],
    ids=[
        "substring",
        "shotgun",
        "non-finite",
        "form",
        "constant",
        "thought",
        "length",
        "zero",
        "echo",
        "many",
    ],
)
def test_gameable_rewards_are_found_out(pay, attack):
    table = run_attacks(gold(120), [by_text("gameable", pay)])
    assert not table.passed
    assert attack in broken(table)
    assert "gameable" in table.message and "task.reward" in table.message


def test_a_gameable_reward_cannot_be_selected():
    with pytest.raises(ProfileError, match="can be gamed"):
        require_sound(by_text("substring", lambda text, country: country in text))


def test_a_reward_that_leaves_its_range_is_refused():
    for value in (1.5, -0.1, float("nan"), float("inf")):
        with pytest.raises(ProfileError, match="leaves"):
            run_attacks(gold(40), [by_text("wild", lambda text, country, value=value: value)])


def test_honest_answers_climb_with_knowledge():
    honest = honest_scores(REWARDS["geoguessr"], standard_gold())
    assert honest["nothing"] < honest["country"] < honest["place"] == pytest.approx(1.0)


def test_the_table_depends_on_the_rows_and_not_on_their_order():
    rows = gold(60)
    assert run_attacks(rows, ["bands"]).rows == run_attacks(rows[::-1], ["bands"]).rows


def test_many_rows_are_sampled_and_one_country_is_refused():
    assert len(make_gold(gold(5_000)).rows) == 2_000
    with pytest.raises(DataError, match="two countries"):
        make_gold([row for row in gold(40) if row["country_iso2"] == "KE"])
    with pytest.raises(ProfileError, match="choose one of"):
        run_attacks(gold(40), ["nope"])
