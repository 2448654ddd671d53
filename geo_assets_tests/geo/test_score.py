import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.geo.score import geoscore
from geo_assets_tests.cases.distances import PAIRS, Pair


@pytest.mark.parametrize(
    ("d_km", "points"),
    [
        (0, 5000.0),
        (0.025, 4999.9163),
        (0.149, 4999.5009),
        (0.15, 4999.4976),
        (25, 4916.9565),
        (750, 3025.2468),
        (1492.7, 1839.3972),
        (2500, 936.7119),
        (10000, 6.1591),
    ],
)
def test_known_scores(d_km, points):
    assert geoscore(d_km) == pytest.approx(points, abs=5e-5)
    assert geoscore(np.array([d_km]))[0] == pytest.approx(points, abs=5e-5)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_scores_of_known_pairs(pair: Pair):
    assert geoscore(pair.d_km) == pytest.approx(pair.geoscore, abs=1e-2)


@given(st.floats(0, 20_016), st.floats(0, 20_016))
def test_nearer_is_never_worth_less(a_km, b_km):
    near, far = sorted((a_km, b_km))
    assert 0.0 < geoscore(far) <= geoscore(near) <= 5000.0


def test_the_mean_of_many_equal_scores_is_exact():
    scores = geoscore(np.full(210_122, 592.9))
    assert scores.mean() == pytest.approx(geoscore(592.9), abs=1e-9)


@pytest.mark.parametrize("bad", [float("nan"), -1.0])
def test_no_distance_has_no_score(bad):
    with pytest.raises(ValueError, match="0 km"):
        geoscore(bad)
    with pytest.raises(ValueError, match="mask unparsed"):
        geoscore(np.array([1.0, bad]))
