from collections import Counter

import pytest

from geo_assets.settings import Learnable
from geo_assets.task.learnability import is_learnable, rank_rewards, score_rows, select
from geo_assets_tests.task.samples import answered, prediction, right, row, unparsed

SETTINGS = Learnable(
    std_threshold=0.08, fallback_std_threshold=0.05, fallback_below=1, share_of_rest=0.2, seed=7
)


def group(i: int, kind: str) -> list:
    """Four completions of row i: all right, all wrong, mixed hits, spread in distance, or unparsed."""
    iso2, lat, lon = row(i)["country_iso2"], row(i)["latitude"], row(i)["longitude"]
    if kind == "right":
        return [right(i, k) for k in range(4)]
    if kind == "wrong":
        return [answered(i, "AU", -30.0, 140.0, k) for k in range(4)]
    if kind == "mixed":
        return [right(i, 0)] + [answered(i, "AU", -30.0, 140.0, k) for k in range(1, 4)]
    if kind == "spread":
        return [answered(i, iso2, lat + 4 * k, lon, k) for k in range(4)]
    return [unparsed(i, k) for k in range(4)]


def pool(n: int = 200) -> list:
    kinds = ("right", "wrong", "mixed", "spread", "unparsed")
    return [p for i in range(n) for p in group(i, kinds[i % 5])]


def test_what_each_group_earned():
    rows = score_rows([p for i, kind in enumerate(("right", "mixed", "unparsed")) for p in group(i, kind)])
    assert [(r.hits, r.parsed, r.completions) for r in rows] == [(4, 4, 4), (1, 4, 4), (0, 0, 4)]
    assert rows[0].reward_mean == pytest.approx(1.0) and rows[0].reward_std == pytest.approx(0.0, abs=1e-12)
    assert rows[1].reward_std > 0.3
    assert (rows[2].reward_mean, rows[2].reward_std) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("kind", "learnable"),
    [("right", False), ("wrong", False), ("mixed", True), ("spread", True), ("unparsed", False)],
)
def test_set_a(kind, learnable):
    assert is_learnable(score_rows(group(0, kind))[0], 0.08) == learnable


def test_set_b_is_a_share_of_the_rest():
    selection = select(pool(), SETTINGS)
    sets = Counter(r.set for r in selection.rows)
    assert sets == {"A": 80, "B": 24}  # 40% of 200 rows, and a fifth of the other 120
    stats = selection.stats
    assert (stats["rows_sampled"], stats["set_a"], stats["set_b"], stats["rows"]) == (200, 80, 24, 104)
    assert stats["base_country_acc"] == pytest.approx((4 + 0 + 1 + 4 + 0) / 20)
    assert stats["base_format_rate"] == pytest.approx(0.8)
    assert stats["sampled_zero_std_share"] == pytest.approx(0.6)
    assert stats["expected_zero_std_share"] == pytest.approx(24 / 104)
    assert stats["countries"] == 4 and sum(stats["rows_per_country"].values()) == 104


def test_selection_depends_on_rows_and_seed_alone():
    forward, backward = select(pool(), SETTINGS), select(pool()[::-1], SETTINGS)
    assert [r.id for r in forward.rows] == [r.id for r in backward.rows]
    other = select(pool(), SETTINGS.model_copy(update={"seed": 8}))
    assert [r.id for r in forward.rows] != [r.id for r in other.rows]
    assert [r.id for r in forward.rows] != sorted(r.id for r in forward.rows)


def test_too_few_rows_lower_the_threshold_without_generating_again():
    narrow = [
        p
        for i in range(10)
        for p in (answered(i, row(i)["country_iso2"], row(i)["latitude"] + d, row(i)["longitude"], k)
                  for k, d in enumerate((0.0, 0.1, 0.2, 0.55)))
    ]  # fmt: skip
    std = score_rows(narrow)[0].reward_std
    assert 0.02 < std < 0.08
    strict = select(narrow, SETTINGS.model_copy(update={"fallback_below": 0}))
    eased = select(
        narrow, SETTINGS.model_copy(update={"fallback_below": 1500, "fallback_std_threshold": 0.02})
    )
    assert (strict.stats["set_a"], strict.stats["std_threshold"]) == (0, 0.08)
    assert (eased.stats["set_a"], eased.stats["std_threshold"]) == (10, 0.02)


def test_rewards_are_replayed_without_a_model():
    table = {entry["reward"]: entry for entry in rank_rewards(pool(), SETTINGS)}
    assert set(table) == {"geoguessr", "bands", "region", "hierarchical"}
    assert table["geoguessr"]["learnable_share"] == pytest.approx(0.4)
    ranked = [entry["learnable_share"] for entry in rank_rewards(pool(), SETTINGS)]
    assert ranked == sorted(ranked, reverse=True)
    again = score_rows(pool(), "geoguessr")
    assert [r.reward_mean for r in again] == pytest.approx([r.reward_mean for r in score_rows(pool())])


def test_an_unknown_truth_is_never_hit():
    from dataclasses import replace

    odd = [
        replace(prediction(0, '<answer>{"lat": 1, "lon": 2}</answer>', k), true_country_iso2="")
        for k in range(4)
    ]
    assert score_rows(odd)[0].hits == 0


def test_no_rows_select_nothing():
    selection = select([], SETTINGS)
    assert selection.rows == [] and selection.stats["base_mean_reward"] == 0.0
