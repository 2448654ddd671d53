"""Which rows have a label that can be trusted."""

import numpy as np
import polars as pl
import pytest

from geo_assets.osv import labels

WINDHOEK, PARIS, PACIFIC = (-22.56, 17.08), (48.85, 2.35), (0.0, -140.0)


def frame(*rows):
    table = pl.DataFrame(
        [(i, p[0], p[1], c) for i, p, c in rows],
        schema={"id": pl.String, "latitude": pl.Float64, "longitude": pl.Float64, "country": pl.String},
        orient="row",
    )
    return table.with_columns(labels.reason().alias(labels.REASON))


def clean(*rows):
    counts = labels.LabelCounts()
    return labels.clean(frame(*rows), counts), counts


def test_na_is_namibia():
    kept, counts = clean(("1", WINDHOEK, "NA"), ("2", PARIS, "FR"))
    assert kept["country"].to_list() == ["NA", "FR"]
    assert not counts.dropped


@pytest.mark.parametrize("cell", ["NMB", None])
def test_namibia_is_recovered_only_where_the_point_lies_there(cell):
    kept, counts = clean(("1", WINDHOEK, cell), ("2", PARIS, cell))
    assert kept.drop(labels.REASON).rows() == [("1", *WINDHOEK, "NA")]
    assert counts.recovered_namibia == 1
    assert counts.dropped == {"country_malformed" if cell else "country_missing": 1}


def test_odd_countries_are_counted_and_shown():
    kept, counts = clean(*((str(n), PARIS, c) for n, c in enumerate(["fr", "FRA", "F1", "??", "FRA", "FR"])))
    assert kept["id"].to_list() == ["5"]
    assert counts.dropped == {"country_malformed": 5}
    assert counts.odd_countries == {"fr": 1, "FRA": 2, "F1": 1, "??": 1}


@pytest.mark.parametrize("code", ["ZZ", "XX", "AN", "UK", "EU"])
def test_two_letters_that_are_no_country_are_counted_and_shown(code):
    kept, counts = clean(("1", PARIS, code), ("2", PARIS, "FR"), ("3", PARIS, "XK"))
    assert kept["id"].to_list() == ["2", "3"]
    assert counts.dropped == {"country_unknown": 1} and counts.odd_countries == {code: 1}


@pytest.mark.parametrize(
    "point",
    [(None, 2.0), (91.0, 2.0), (-90.01, 2.0), (10.0, 180.5), (10.0, -181.0), (float("nan"), 2.0),
     (float("inf"), 2.0), (10.0, float("-inf")), (0.0, 0.0)],
)  # fmt: skip
def test_points_that_are_nowhere(point):
    kept, counts = clean(("1", point, "FR"), ("2", (90.0, -180.0), "FR"))
    assert kept["id"].to_list() == ["2"]
    assert counts.dropped == {"coordinates_bad": 1}


def test_an_empty_id_is_an_error_row():
    kept, counts = clean((None, PARIS, "FR"))
    assert kept.is_empty() and counts.dropped == {"id_missing": 1}


def test_a_padded_country_is_trimmed():
    kept, counts = clean(("1", PARIS, " FR "), ("2", PARIS, "  "))
    assert kept["country"].to_list() == ["FR"] and counts.dropped == {"country_missing": 1}


def test_far_labels_are_those_whose_country_is_elsewhere():
    strasbourg_kehl = (48.5734, 7.8150)  # in Germany, a kilometre from France
    rows = [("1", PARIS, "FR"), ("2", PARIS, "JP"), ("3", strasbourg_kehl, "FR"), ("4", PARIS, "BV")]
    table = frame(*rows).rename({"country": "country_iso2"})
    assert labels.far_labels(table).to_list() == [False, True, False, False]


def test_agreement_is_the_nearest_place_s_country():
    table = frame(("1", PARIS, "FR"), ("2", PARIS, "DE"), ("3", WINDHOEK, "NA"))
    assert labels.agreement(table.rename({"country": "country_iso2"})).to_list() == [True, False, True]
    assert labels.nearest_country(np.empty(0), np.empty(0)).tolist() == []
