import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.task.collapse import collapse_figures, effective_number, js_divergence, watch
from geo_assets_tests.task.samples import answered, completion, right, unparsed

COUNTS = st.dictionaries(st.sampled_from("ABCDEF"), st.integers(1, 50), min_size=1)


@given(COUNTS)
def test_the_effective_number_lies_between_one_and_all(counts):
    assert 1.0 - 1e-9 <= effective_number(counts.values()) <= len(counts) + 1e-9


@given(COUNTS, COUNTS)
def test_a_divergence_is_symmetric_and_in_range(left, right_):
    found = js_divergence(left, right_)
    assert 0.0 <= found <= 1.0
    assert found == pytest.approx(js_divergence(right_, left))
    assert js_divergence(left, {key: 3 * count for key, count in left.items()}) == pytest.approx(
        0.0, abs=1e-9
    )


def test_an_empty_table_has_no_divergence():
    with pytest.raises(ValueError, match="two tables"):
        js_divergence({}, {"KE": 1})


def test_answers_that_tell_photos_apart():
    figures = collapse_figures([right(i) for i in range(40)])
    assert figures["effective_countries"] == pytest.approx(4.0)
    assert figures["effective_true_countries"] == pytest.approx(4.0)
    assert figures["top_country_share"] == 0.25
    assert figures["top_coordinate_share"] == 0.125
    assert [entry["country_iso2"] for entry in figures["pred_country_top10"]] == ["BR", "FR", "JP", "KE"]
    assert figures["pred_country_top10"][0] == {"country_iso2": "BR", "share": 0.25, "true_share": 0.25}


def test_one_answer_for_all():
    figures = collapse_figures(
        [answered(i, "FR", 48.0, 2.0) for i in range(36)] + [unparsed(i) for i in range(36, 40)]
    )
    assert figures["effective_countries"] == 1.0
    assert (figures["top_country_share"], figures["top_coordinate_share"]) == (0.9, 0.9)
    assert figures["js_divergence"] > 0.4


def test_no_answer_at_all():
    figures = collapse_figures([unparsed(i) for i in range(4)])
    assert (figures["effective_countries"], figures["top_coordinate_share"]) == (0.0, 0.0)
    assert figures["pred_country_top10"] == [] and figures["js_divergence"] == 1.0


def sample(i: int, text: str) -> dict:
    return {"step": i, "id": str(i), "completion": text}


def test_the_watch_passes_a_healthy_run_and_names_a_collapse():
    healthy = [sample(i, right(i).completion) for i in range(64)]
    assert watch(healthy).passed
    one_point = [sample(i, completion("France", 48.0, 2.0)) for i in range(64)]
    verdict = watch(healthy + one_point, last=64)
    assert not verdict.passed
    assert "1.0 effective countries" in verdict.message and "100% on one point" in verdict.message
    assert watch(one_point, true_country_iso2=["FR"] * 64, max_coordinate_share=1.0).passed
    assert not watch(one_point, true_country_iso2=["FR", "KE"] * 4 + list("ABCDEFGH")).passed
    assert not watch([sample(i, "no idea") for i in range(8)]).passed
    assert not watch([]).passed
    assert watch([json.dumps(row) for row in healthy]).figures["n"] == 64
