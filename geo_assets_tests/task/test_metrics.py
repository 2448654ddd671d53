import json
from dataclasses import replace

import numpy as np
import pytest

from geo_assets.errors import DataError
from geo_assets.geo.score import geoscore
from geo_assets.task.metrics import FAR_KM, columns, compare, per_completion, summarise
from geo_assets.task.prompt import EXAMPLE_ANSWERS
from geo_assets_tests.task.samples import answered, prediction, right, row, unparsed


def at_distance(i: int, d_km: float):
    return replace(right(i), d_km=d_km, geoscore=geoscore(d_km))


def test_perfect_answers():
    figures = summarise([right(i) for i in range(8)], seconds=4.0)
    for name in (
        "country_acc",
        "sovereign_acc",
        "country_acc_coords",
        "country_agreement",
        "region_acc",
        "city_acc",
    ):
        assert figures[name] == 1.0
    assert figures["mean_geoscore"] == 5000.0
    assert figures["median_km"] == 0.0
    assert figures["mean_reward"] == pytest.approx(1.0)
    assert figures["acc_at_km"] == {"1": 1.0, "25": 1.0, "200": 1.0, "750": 1.0, "2500": 1.0}
    assert figures["effective_countries"] == pytest.approx(4.0)
    assert figures["js_divergence"] == pytest.approx(0.0, abs=1e-12)
    assert (figures["n"], figures["n_photos"], figures["n_parsed"]) == (8, 8, 8)
    assert (figures["seconds"], figures["images_per_second"]) == (4.0, 2.0)


@pytest.mark.parametrize(("n_right", "n_unparsed", "mean"), [(3, 1, 3750.0), (1, 99, 50.0)])
def test_unparsed_answers_are_neither_dropped_nor_imputed(n_right, n_unparsed, mean):
    made = [right(i) for i in range(n_right)] + [unparsed(n_right + i) for i in range(n_unparsed)]
    figures = summarise(made, resamples=200)
    share = n_right / (n_right + n_unparsed)
    assert figures["mean_geoscore"] == pytest.approx(mean)
    assert (
        figures["acc_at_km"]["1"] == figures["format_rate"] == figures["country_acc"] == pytest.approx(share)
    )
    assert figures["n_parsed"] == n_right


def test_refusals_at_the_far_end_of_the_median():
    assert summarise([right(0), unparsed(1), unparsed(2)])["median_km"] == FAR_KM
    assert summarise([right(0), right(1), unparsed(2)])["median_km"] == 0.0


def test_thresholds_include_their_value():
    distances = [1.0, 25.0, 200.0, 750.0, 2500.0, 1.0 + 1e-9]
    found = summarise([at_distance(i, d_km) for i, d_km in enumerate(distances)])["acc_at_km"]
    assert found == {"1": 1 / 6, "25": 3 / 6, "200": 4 / 6, "750": 5 / 6, "2500": 6 / 6}


def test_the_level_of_a_point_is_the_one_of_its_nearest_city():
    nairobi = row(0)
    assert nairobi["country_iso2"] == "KE"
    far_in_kenya = answered(0, "KE", -4.0435, 39.6682)  # Mombasa
    over_the_border = answered(8, "KE", -3.37, 36.69)  # Arusha, Tanzania
    same_region = answered(16, "UG", -1.30, 36.80)
    ocean = answered(24, "KE", 0.0, 0.0)
    table = columns([far_in_kenya, over_the_border, same_region, ocean])
    values = {name: v.ravel().tolist() for name, v in per_completion(table).items()}
    assert values["country_acc"] == [1, 1, 0, 1]
    assert values["country_acc_coords"] == [1, 0, 1, 0]
    assert values["country_agreement"] == [1, 0, 0, 0]
    assert values["region_acc"] == [0, 0, 1, 0]


def test_territories_merge_in_the_sovereign_metric_only():
    paris = row(2)
    reunion = replace(answered(2, "RE", -21.1, 55.5), true_country_iso2="FR")
    figures = summarise([reunion])
    assert paris["country_iso2"] == "FR"
    assert (figures["country_acc"], figures["sovereign_acc"]) == (0.0, 1.0)


def test_an_unknown_country_never_matches():
    figures = summarise(
        [prediction(0, '<answer>{"country": "Atlantis", "lat": -1.29, "lon": 36.82}</answer>')]
    )
    assert (figures["country_acc"], figures["sovereign_acc"], figures["country_agreement"]) == (0.0, 0.0, 0.0)
    assert figures["country_acc_coords"] == 1.0


def test_echoes_of_the_prompt_and_cut_offs_are_counted():
    echo = prediction(0, f"<answer>{EXAMPLE_ANSWERS[0]}</answer>")
    cut = prediction(1, "<think>very long", finish_reason="length")
    figures = summarise([echo, cut, right(2), right(3)])
    assert (figures["prompt_echo_rate"], figures["truncated_rate"]) == (0.25, 0.25)


def test_metrics_are_plain_json_without_nan():
    figures = summarise([unparsed(i) for i in range(5)])
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures


def test_every_headline_has_an_interval_around_it():
    rng = np.random.default_rng(0)
    made = [right(i) if rng.random() < 0.6 else answered(i, "FR", 40.0, 3.0) for i in range(200)]
    figures = summarise(made, resamples=2_000)
    flat = {name: figures[name] for name in figures["intervals"] if name != "acc_at_km"}
    flat |= {f"acc_at_km.{km}": value for km, value in figures["acc_at_km"].items()}
    bounds = figures["intervals"] | {
        f"acc_at_km.{k}": v for k, v in figures["intervals"]["acc_at_km"].items()
    }
    assert {"mean_geoscore", "median_km", "country_acc", "format_rate", "mean_reward", "city_acc"} <= set(
        flat
    )
    for name, value in flat.items():
        low, high = bounds[name]
        assert low <= value <= high, name
    assert summarise(made, resamples=2_000) == figures


def test_samples_of_one_photo_are_not_independent():
    once = [right(i) if i % 2 else unparsed(i) for i in range(100)]
    four = [right(i, k) if i % 2 else unparsed(i, k) for i in range(100) for k in range(4)]
    one, many = summarise(once), summarise(four)
    assert (many["n"], many["n_photos"]) == (400, 100)
    assert many["intervals"]["country_acc"] == pytest.approx(one["intervals"]["country_acc"], abs=0.02)


def test_compare_is_paired_by_photo():
    before = [unparsed(i) if i % 4 == 0 else right(i) for i in range(80)]
    after = [right(i) for i in range(80)]
    change = compare(before, after)["country_acc"]
    assert (change["before"], change["after"], change["difference"]) == (0.75, 1.0, 0.25)
    assert change["low"] > 0.1 and change["excludes_zero"]
    assert change["p_mcnemar"] == pytest.approx(2 * 0.5**20)
    same = compare(after, after)["mean_geoscore"]
    assert (same["difference"], same["low"], same["high"], same["excludes_zero"]) == (0.0, 0.0, 0.0, False)
    with pytest.raises(DataError, match="different photos"):
        compare(before, after[1:] + after[:1])
