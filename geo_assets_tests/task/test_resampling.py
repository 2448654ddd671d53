"""The short ways of drawing agree with drawing every row."""

import numpy as np
import pytest

from geo_assets.task import resampling
from geo_assets.task.resampling import joint_medians, resampled_means, resampled_medians

QUANTILES = [2.5, 25, 50, 75, 97.5]


def same_distribution(found, plain, tolerance: float):
    scale = plain.std()
    assert np.percentile(found, QUANTILES) == pytest.approx(
        np.percentile(plain, QUANTILES), abs=tolerance * scale
    )
    assert found.std() == pytest.approx(scale, rel=0.06)


def scores(n: int) -> np.ndarray:
    values = 5000 * np.exp(-np.random.default_rng(0).exponential(800, n) / 1492.7)
    values[: n // 20] = 0.0
    return values


def test_binned_means_agree_with_drawn_means(monkeypatch):
    values = scores(6_000)
    binned = resampled_means(values, 6_000, seed=1)
    monkeypatch.setattr(resampling, "MAX_ROWS_DRAWN", 10_000)
    same_distribution(binned, resampled_means(values, 6_000, seed=2), 0.08)


def test_counted_means_agree_with_drawn_means(monkeypatch):
    values = np.repeat([0.0, 0.25, 1.0], [300, 150, 50])
    counted = resampled_means(values, 8_000, seed=1)
    monkeypatch.setattr(resampling, "MAX_DISTINCT", 0)
    same_distribution(counted, resampled_means(values, 8_000, seed=2), 0.08)


@pytest.mark.parametrize("n", [300, 301])
def test_medians_by_order_statistics_agree_with_drawn_medians(n):
    values = np.random.default_rng(1).exponential(500, n)
    drawn = joint_medians([values[:, None]], 8_000, seed=3)[0]
    same_distribution(resampled_medians(values, 8_000, seed=4), drawn, 0.1)


@pytest.mark.parametrize("samples", [1, 3])
def test_windowed_medians_agree_with_drawn_medians(monkeypatch, samples):
    rng = np.random.default_rng(2)
    n = 4_500
    place = rng.exponential(500, (n, 1))
    before = place * rng.uniform(0.5, 1.5, (n, samples))
    after = place * rng.uniform(0.4, 1.4, (n, samples))
    after[: n // 3] = 20_015.0
    windowed = joint_medians([before, after], 3_000, seed=5)
    monkeypatch.setattr(resampling, "MAX_ROWS_DRAWN", 10_000)
    drawn = joint_medians([before, after], 3_000, seed=6)
    for found, plain in zip(windowed, drawn, strict=True):
        same_distribution(found, plain, 0.12)
    together, apart = (np.corrcoef(*pair)[0, 1] for pair in (windowed, drawn))
    assert together == pytest.approx(apart, abs=0.08)


def test_windowed_medians_of_tied_values():
    ties = np.repeat([1.0, 2.0], [2_500, 2_501])[:, None]
    found = joint_medians([ties], 500, seed=0)[0]
    assert set(found) <= {1.0, 2.0}
    assert 0.3 < (found == 2.0).mean() < 0.7
    constant = joint_medians([np.full((5_000, 1), 7.0)], 50, seed=0)[0]
    assert set(constant) == {7.0}


def test_one_photo_has_one_mean_and_one_median():
    assert set(resampled_means(np.array([3.0]), 10, 0)) == {3.0}
    assert set(resampled_medians(np.array([3.0]), 10, 0)) == {3.0}
