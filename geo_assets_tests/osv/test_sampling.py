"""Seeded ranks and quotas: independent of input order, stable under growth."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geo_assets.osv import sampling


def ranks(counts, seed=42):
    ids = [(f"{c}{n:05d}", c) for c, size in counts.items() for n in range(size)]
    frame = pl.DataFrame(ids, schema={"id": pl.String, "country_iso2": pl.String}, orient="row")
    return sampling.ranked(frame.with_columns(sampling.priorities(frame["id"], seed)))


def test_priorities_are_pinned():
    ids = pl.Series(["517681129360654", "0123456789", "abc", "99999999999999999999"])
    found = sampling.priority(ids, 42)
    assert found.tolist() == sampling.priority(ids, 42).tolist()
    assert sampling.priority(pl.Series(["517681129360654"]), 42).tolist() == [14651757855684809825]
    assert not set(found.tolist()) & set(sampling.priority(ids, 43).tolist())
    assert not set(found.tolist()) & set(sampling.priority(ids, 42, "order").tolist())


def test_ids_that_differ_have_keys_that_differ():
    ids = ["7", "07", "007", "+7", "0", "00", "", "a", "7.0", " 7", "18446744073709551616", "-7"]
    assert len(set(sampling.keys(pl.Series(ids)).tolist())) == len(ids)
    assert sampling.keys(pl.Series(["7", "9007199254740993"])).tolist() == [7, 9007199254740993]
    assert sampling.keys(pl.Series(["7", "07"]))[0] == sampling.keys(pl.Series(["7"]))[0] == 7
    assert sampling.keys(pl.Series([None, "5"], dtype=pl.String)).tolist() == [0, 5]


def test_splitmix64_s_published_first_output():
    zero = np.zeros(1, dtype=np.uint64)
    assert sampling._splitmix64(zero).tolist() == [0xE220A8397B1DCDAF]


def test_priorities_look_random():
    found = sampling.priority(pl.Series([str(n) for n in range(20_000)]), 0)
    counts, expected = [((found >> (64 - 4)) == bucket).sum() for bucket in range(16)], 20_000 / 16
    assert max(abs(c - expected) for c in counts) < 5 * expected**0.5


@given(st.permutations(range(30)), st.integers(0, 5))
def test_ranks_do_not_depend_on_the_order_of_rows(order, seed):
    frame = pl.DataFrame({"id": [str(n) for n in range(30)], "country_iso2": ["FR", "NA", "JP"] * 10})
    frame = frame.with_columns(sampling.priorities(frame["id"], seed))
    assert sampling.ranked(frame[list(order)]).equals(sampling.ranked(frame))


def test_more_rows_never_reshuffle_the_ones_before():
    few, many = ranks({"FR": 50}), ranks({"FR": 80})
    kept = many.filter(pl.col("id").is_in(few["id"].implode()))
    assert kept["id"].to_list() == few["id"].to_list()


def test_caps():
    assert sampling.capped_quotas(ranks({"FR": 500, "NA": 3, "JP": 400}), 400) == {
        "FR": 400,
        "JP": 400,
        "NA": 3,
    }


@pytest.mark.parametrize("limit", [1, 4, 7, 200, 5000])
def test_a_limit_is_spread_evenly(limit):
    found = sampling.capped_quotas(ranks({"FR": 500, "NA": 3, "JP": 400}), 400, limit)
    assert sum(found.values()) == min(limit, 803)
    others = [found.get(c, 0) for c in ("FR", "JP")]
    assert max(others) - min(others) <= 1 or found["NA"] == 3


def test_spread_takes_every_country_first():
    table = ranks({"FR": 5000, "NA": 4, "JP": 12, "BR": 300})
    found = sampling.spread_quotas(table, 1000, 10)
    assert sum(found.values()) == 1000
    assert found["NA"] == 4 and found["JP"] >= 10 and found["BR"] >= 10
    assert found["FR"] > 800


def test_spread_of_fewer_rows_than_countries_and_than_asked():
    table = ranks({"FR": 5, "NA": 4, "JP": 3})
    assert sampling.spread_quotas(table, 2, 10) in (
        {"FR": 1, "NA": 1},
        {"FR": 1, "JP": 1},
        {"JP": 1, "NA": 1},
    )
    assert sampling.spread_quotas(table, 100, 10) == {"FR": 5, "JP": 3, "NA": 4}


def test_nothing_to_choose_from():
    empty = ranks({})
    assert sampling.capped_quotas(empty, 5) == {} and sampling.spread_quotas(empty, 5, 1) == {}
