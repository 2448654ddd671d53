"""Filling quotas: replacement by the next row of the same country."""

from geo_assets.osv.fill import fill
from geo_assets.osv.sampling import capped_quotas, spread_quotas
from geo_assets_tests.osv.test_sampling import ranks


def refusing(bad):
    calls = []

    def attempt(ids):
        calls.append(list(ids))
        return ["damaged" if i in bad else None for i in ids]

    attempt.calls = calls
    return attempt


def country_ids(table, country):
    return table.filter(country_iso2=country)["id"].to_list()


def test_a_refused_row_is_replaced_by_the_next_of_its_country():
    table = ranks({"FR": 10, "NA": 10})
    france = country_ids(table, "FR")
    filled = fill(table, {"FR": 3, "NA": 2}, refusing({france[1]}))
    assert [i for i in filled.ids if i.startswith("FR")] == [france[0], france[2], france[3]]
    assert len(filled.ids) == 5
    assert filled.refused == {france[1]: "damaged"} and filled.reasons == {"damaged": 1}


def test_every_row_is_tried_at_most_once_and_only_what_is_needed():
    table = ranks({"FR": 50, "NA": 50})
    attempt = refusing(set(country_ids(table, "FR")[:3]))
    fill(table, {"FR": 5, "NA": 5}, attempt)
    tried = [i for call in attempt.calls for i in call]
    assert len(tried) == len(set(tried)) == 13


def test_a_country_that_runs_out_stays_short_without_a_total():
    table = ranks({"FR": 4, "NA": 10})
    filled = fill(table, {"FR": 4, "NA": 4}, refusing(set(country_ids(table, "FR"))))
    assert len(filled.ids) == 4 and filled.reasons == {"damaged": 4}


def test_others_make_up_for_it_with_a_total():
    table = ranks({"FR": 4, "NA": 10, "JP": 3})
    quotas = spread_quotas(table, 12, 3)
    filled = fill(table, quotas, refusing(set(country_ids(table, "FR"))), total=12)
    assert len(filled.ids) == len(set(filled.ids)) == 12
    assert not any(i.startswith("FR") for i in filled.ids)


def test_everything_damaged_ends():
    table = ranks({"FR": 4, "NA": 3})
    filled = fill(table, capped_quotas(table, 3), refusing(set(table["id"])), total=5)
    assert filled.ids == [] and len(filled.refused) == 7
