from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.task.intervals import mcnemar_exact, mean_interval, median_interval, paired


def test_a_share_has_the_binomial_interval():
    low, high = mean_interval([1.0] * 436 + [0.0] * 364)
    assert (low, high) == pytest.approx((0.51, 0.579), abs=0.004)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered_mean = covered_median = 0
    for trial in range(300):
        values = rng.exponential(1.0, 120)
        low, high = mean_interval(values, resamples=500, seed=trial)
        covered_mean += low <= 1.0 <= high
        low, high = median_interval(values, resamples=500, seed=trial)
        covered_median += low <= np.log(2.0) <= high
    assert 0.90 <= covered_mean / 300 <= 0.985
    assert 0.90 <= covered_median / 300 <= 0.985


def test_no_hit_and_all_hits_still_have_a_width():
    assert mean_interval([0.0] * 50) == pytest.approx((0.0, 1 - 0.025 ** (1 / 50)))
    assert mean_interval([1.0] * 50) == pytest.approx((0.025 ** (1 / 50), 1.0))
    assert mean_interval([0.3] * 50) == pytest.approx((0.3, 0.3))


def test_seeds_decide():
    values = np.random.default_rng(2).normal(size=300)
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1)
    assert mean_interval(values, seed=1) != mean_interval(values, seed=2)


@pytest.mark.parametrize("bad", [[], [[]], [float("nan")], [1.0, float("inf")], [[[1.0]]]])
def test_nothing_and_infinity_have_no_interval(bad):
    with pytest.raises(ValueError, match="finite values"):
        mean_interval(bad)


@given(st.integers(0, 14), st.integers(0, 14))
def test_mcnemar_equals_the_sum_over_all_outcomes(gained, lost):
    n = gained + lost
    tail = sum(comb(n, i) for i in range(min(gained, lost) + 1)) / 2**n
    assert mcnemar_exact(gained, lost) == pytest.approx(min(1.0, 2.0 * tail))


def test_a_paired_interval_is_narrower_than_the_sides():
    rng = np.random.default_rng(3)
    before = rng.normal(1000, 800, 400)
    after = before + rng.normal(60, 100, 400)
    change = paired(before, after)
    assert change["difference"] == pytest.approx(60, abs=15)
    assert change["excludes_zero"]
    assert change["high"] - change["low"] < 0.2 * np.subtract(*mean_interval(before)[::-1])
    assert change["p_mcnemar"] is None


def test_noise_is_no_change():
    rng = np.random.default_rng(4)
    found = [
        paired(rng.normal(size=100), rng.normal(size=100), resamples=500)["excludes_zero"] for _ in range(200)
    ]
    assert np.mean(found) < 0.12


def test_the_smallest_gain_is_found_four_times_in_five():
    rng = np.random.default_rng(5)
    n, sd = 150, 1.0
    gain = paired(np.zeros(n), rng.normal(0, sd, n))["mde"]
    assert gain == pytest.approx(2.80 * sd / np.sqrt(n), rel=0.15)
    found = [
        paired(np.zeros(n), rng.normal(2.80 * sd / np.sqrt(n), sd, n), resamples=500)["excludes_zero"]
        for _ in range(200)
    ]
    assert 0.70 <= np.mean(found) <= 0.90


def test_hits_get_an_exact_p_value_and_nothing_changed_has_no_mde():
    change = paired([1, 0, 0, 1], [1, 1, 1, 0])
    assert change["p_mcnemar"] == pytest.approx(mcnemar_exact(2, 1))
    unchanged = paired([1, 0, 1], [1, 0, 1])
    assert (unchanged["p_mcnemar"], unchanged["mde"], unchanged["excludes_zero"]) == (1.0, None, False)
    assert paired([[1, 0]], [[1, 1]])["p_mcnemar"] is None


def test_a_handful_of_photos_proves_nothing():
    for n in range(1, 6):
        change = paired([0.0] * n, [1.0] * n)
        assert (change["low"], change["excludes_zero"]) == (0.0, False)
        assert change["p_mcnemar"] > 0.05
    change = paired([0.0] * 6, [1.0] * 6)
    assert change["excludes_zero"] and change["p_mcnemar"] < 0.05
    assert not paired([100.0, 90.0], [10.0, 9.0], "median")["excludes_zero"]


def test_medians_are_paired_by_photo():
    rng = np.random.default_rng(6)
    before = rng.exponential(700, 500)
    change = paired(before, 0.8 * before, "median")
    assert change["difference"] == pytest.approx(-0.2 * np.median(before))
    assert change["high"] < 0


def test_different_photos_cannot_be_paired():
    with pytest.raises(ValueError, match="same photos"):
        paired([1.0], [1.0, 2.0])


def test_the_median_distribution_is_exact_on_a_tiny_set():
    from geo_assets.task.resampling import resampled_medians

    for values in ([1.0, 2.0, 10.0], [1.0, 2.0, 10.0, 11.0]):
        every = [np.median(draw) for draw in product(values, repeat=len(values))]
        drawn = resampled_medians(np.array(values), 200_000, seed=0)
        for value in set(every):
            assert np.mean(np.isclose(drawn, value)) == pytest.approx(
                np.mean(np.isclose(every, value)), abs=0.005
            )
