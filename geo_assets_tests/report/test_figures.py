"""Charts and maps: positions, colours, contrast, projections; sections' numbers against known answers."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from geo_assets.geo.geodesy import haversine_km
from geo_assets.report import calibration, controls, countries, examples, ladder, maps, outlines, palette, svg
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.curves import Plot, Series, line_chart
from geo_assets.report.figures import landscape
from geo_assets.report.rows import Axis, Mark, Row, dot_rows
from geo_assets.report.run import Answers, Run
from geo_assets.report.wording import BY_KEY
from geo_assets.task.metrics import Prediction


def prediction(photo_id: str, k: int = 0, **changes: object) -> Prediction:
    fields = {
        "id": photo_id, "k": k, "completion": "<think>x</think>", "country": "Kenya", "country_iso2": "KE",
        "lat_deg": 0.0, "lon_deg": 37.0, "parsed": True, "truncated": False, "true_latitude": 0.0,
        "true_longitude": 37.0, "true_country_iso2": "KE", "d_km": 0.0, "geoscore": 5000.0, "format": 1.0,
        "country_reward": 1.0, "dist": 1.0, "total": 1.0, "n_tokens": 10, "finish_reason": "stop",
    }  # fmt: skip
    return Prediction(**{**fields, **changes})  # type: ignore[arg-type]


def answers(predictions: list[Prediction], who: str = "policy", decoding: str = "greedy") -> Answers:
    return Answers(who, "eval_osv", decoding, tuple(predictions), {}, resamples=300, seed=1)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [palette.LIGHT, palette.DARK])
def test_text_reaches_wcag_aa_and_marks_three_to_one(mode: dict[str, str]) -> None:
    for text in ("ink", "muted", "before-text", "after-text", "loss-text", "link"):
        for ground in ("paper", "panel"):
            assert contrast(mode[text], mode[ground]) >= 4.5, (text, ground)
    for mark in ("before", "after", "loss"):
        assert contrast(mode[mark], mode["paper"]) >= 3.0, mark


def test_both_modes_name_the_same_colours_and_the_css_uses_no_other() -> None:
    assert palette.LIGHT.keys() == palette.DARK.keys()
    used = set(re.findall(r"var\(--([\w-]+)\)", palette.figure_css()))
    assert used <= palette.LIGHT.keys()


def test_rows_place_marks_on_the_scale() -> None:
    axis = Axis(0, 100, "points")
    drawn = dot_rows([Row("a", (Mark(0, "after"),)), Row("b", (Mark(100, "after"),))], axis, 800, "alt")
    first, second = (float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn))
    middle = dot_rows([Row("a", (Mark(50, "after"),)), Row("b", (Mark(100, "after"),))], axis, 800, "alt")
    assert float(re.findall(r'<circle cx="([\d.]+)"', middle)[0]) == pytest.approx(
        (first + second) / 2, abs=0.1
    )


def test_rows_keep_outliers_inside_and_fit_a_phone() -> None:
    rows = [Row("a very long label of a country", (Mark(900, "after", -50, 2000),), "+900 [−50, +2,000]")]
    drawn = dot_rows(rows, Axis(0, 100, "points"), 360, "alt")
    assert all(0 <= float(x) <= 360 for x in re.findall(r'(?:cx|x1|x2)="(-?[\d.]+)"', drawn))


def test_line_chart_breaks_at_missing_values() -> None:
    series = Series(((0, 1.0), (1, 2.0), (2, float("nan")), (3, 2.0), (4, 1.0)))
    drawn = line_chart([series], Plot("x", "y"), 400, 200, "alt")
    assert len(re.findall(r'class="l-after"', drawn)) == 2
    assert "nan" not in drawn


def test_words_in_figures_are_escaped() -> None:
    drawn = dot_rows([Row("<b>&", (Mark(1, "after", tip="<i>"),))], Axis(0, 2, "x"), 800, '"alt" <x>')
    assert "<b>" not in drawn
    assert "<i>" not in drawn
    assert "&lt;x&gt;" in drawn


def test_ticks_cover_and_never_exceed() -> None:
    for low, high in ((0, 1), (-17.3, 402.0), (0.401, 0.433), (0, 5000)):
        found = svg.ticks(low, high, 5)
        assert 2 <= len(found) <= 6
        assert all(low <= value <= high for value in found)


def test_projection_is_symmetric_and_keeps_north_up() -> None:
    x, y = outlines.project(40.0, 100.0)
    mirrored, _ = outlines.project(40.0, -100.0)
    assert x + mirrored == pytest.approx(outlines.WIDTH)
    assert outlines.project(60.0, 0.0)[1] < y < outlines.project(-30.0, 0.0)[1]
    assert outlines.project(outlines.SOUTH, 0.0)[1] <= outlines.HEIGHT


def test_equal_earth_keeps_areas() -> None:
    def cell(lat: float) -> float:
        (x0, y0), (x1, y1) = outlines.project(lat, 10.0), outlines.project(lat + 0.1, 10.1)
        top = outlines.project(lat + 0.1, 10.0)[0]
        return ((x1 - top) + (outlines.project(lat, 10.1)[0] - x0)) / 2 * (y0 - y1)

    ratio = cell(60.0) / cell(0.0)
    assert ratio == pytest.approx(np.cos(np.radians(60.05)) / np.cos(np.radians(0.05)), rel=0.01)


def test_outlines_know_countries_and_stay_in_the_world() -> None:
    found = outlines.rings()
    assert {"US", "KE", "XK", "TW", "NA", "NO", "FR"} <= found.keys()
    points = [point for country in found.values() for ring in country for point in ring]
    assert all(-90 <= lat <= 90 and -180 <= lon <= 180 for lat, lon in points)
    for country in found.values():
        for ring in country:
            assert max(abs(a[1] - b[1]) for a, b in pairwise(ring)) < 180


def test_great_circle_is_shortest_and_ends_at_both_places() -> None:
    start, end = (51.5, -0.1), (35.7, 139.7)
    (points,) = outlines.great_circle(start, end)
    length = sum(haversine_km(*a, *b) for a, b in pairwise(points))
    assert length == pytest.approx(haversine_km(*start, *end), rel=1e-6)
    assert points[0] == pytest.approx(start)
    assert points[-1] == pytest.approx(end)
    assert max(lat for lat, _ in points) > 60


@pytest.mark.parametrize("pair", [((0, 0), (0, 180)), ((90, 0), (-90, 0)), ((10, 20), (10, 20))])
def test_great_circle_survives_poles_antipodes_and_the_same_point(pair: tuple) -> None:
    points = [point for piece in outlines.great_circle(*pair) for point in piece]
    assert all(np.isfinite(value) for point in points for value in point)


def test_maps_colour_by_error_and_change() -> None:
    spots = [maps.Spot((0, 0), 10.0, "near"), maps.Spot((10, 10), None, "no <answer>")]
    drawn = maps.error_map(spots, "alt")
    assert re.findall(r'class="dot (\w+)"', drawn) == ["g3", "b3"]
    assert "no &lt;answer&gt;" in drawn
    changes = [
        maps.CountryChange("FR", 200.0, 30, (46, 2), "France"),
        maps.CountryChange("MT", -600.0, 2, (35.9, 14.4), "Malta"),
    ]
    drawn = maps.country_map(changes, "alt")
    assert 'class="edge g2"' in drawn
    assert re.search(r'<circle cx="[\d.]+" cy="[\d.]+" r="4" class="small b3 few">', drawn)


def test_landscape_sorts_real_runs_in_and_sets_drawn_ones_apart() -> None:
    runs = [
        ("This run: base", "before", 2300.0, 2200.0, 2400.0),
        ("This run: policy", "after", 3500.0, None, None),
    ]
    real, drawn = (landscape(runs, 1000, demo) for demo in (False, True))
    labels = re.findall(r">([^<>]+)</text>", real.wide)
    assert (
        labels.index("Claude 3.5 Sonnet")
        < labels.index("This run: base")
        < labels.index("OSV-5M&#x27;s classifier")
    )
    assert "do not compare" not in real.wide
    assert "hollow" not in real.wide
    assert drawn.wide.count("hollow") == 2
    assert "do not compare" in drawn.wide


def test_compare_uses_the_photos_that_both_answered() -> None:
    before = answers([prediction("a", geoscore=0.0), prediction("b", geoscore=100.0)], "base")
    after = answers([prediction("b", geoscore=300.0), prediction("c", geoscore=5000.0)])
    found = compare(before, after, ("mean_geoscore",))["mean_geoscore"]
    assert (found.n, found.before, found.after) == (1, 100.0, 300.0)
    assert compare(before, after, ("mean_geoscore",), ids={"a"}) == {}


def test_country_figures_match_the_predictions(pod_run: Run) -> None:
    before, after = pod_run.pair("eval_osv", "greedy")  # type: ignore[misc]
    found = countries.by_country(before, after)
    assert sum(c.n for c in found) == after.n_photos
    top = found[0]
    mine = [p for p in after.predictions if p.true_country_iso2 == top.iso2]
    assert top.n == len(mine)
    assert top.score.after == pytest.approx(np.mean([p.geoscore for p in mine]))
    assert top.right.after == pytest.approx(np.mean([p.country_iso2 == top.iso2 for p in mine]))


def test_examples_are_the_extremes() -> None:
    before = answers(
        [prediction(name, geoscore=s) for name, s in (("a", 0.0), ("b", 5000.0), ("c", 10.0), ("d", 7.0))]
    )
    after = answers(
        [prediction(name, geoscore=s) for name, s in (("a", 4000.0), ("b", 0.0), ("c", 10.0), ("d", 9.0))]
    )
    gains, losses = examples.extremes(before, after, 2)
    assert [p.id for _, p in gains] == ["a", "d"]
    assert [p.id for _, p in losses] == ["b"]


def test_surviving_share_needs_a_clear_gain() -> None:
    def control(key: str, gain: float, low: float) -> controls.Control:
        score = Difference(BY_KEY["mean_geoscore"], 50, 0.0, gain, gain, low, gain + 50, None, None)
        return controls.Control(key, key, score, score)

    found = [control("greedy", 200.0, 100.0), control("shuffled", 50.0, -10.0)]
    assert controls.surviving_share(found, "shuffled") == 0.25
    assert controls.surviving_share(found, "blank") is None
    assert controls.surviving_share([control("greedy", 20.0, -5.0), found[1]], "shuffled") is None


def test_baselines_need_no_model() -> None:
    places = [(0.0, 10.0, "GA"), (0.0, 10.1, "GA"), (0.0, 10.2, "GA"), (60.0, 100.0, "RU")]
    rows = [
        prediction(str(i), true_latitude=lat, true_longitude=lon, true_country_iso2=iso2, geoscore=0.0)
        for i, (lat, lon, iso2) in enumerate(places)
    ]
    best, common = controls.baselines(answers(rows))
    assert best.mean_geoscore == pytest.approx((5000 + 2 * 5000 * np.exp(-11.12 / 1492.7)) / 4, rel=0.01)
    assert best.country_acc == common.country_acc == 0.75


def test_ladder_drops_what_each_rung_says(pod_run: Run) -> None:
    leaks = pod_run.leaks["eval_osv"]
    rungs = {r.name: r.n for r in ladder.ladder(pod_run, "eval_osv")}
    assert rungs["All photos"] == 240
    assert rungs["Without the same photographer"] == leaks.filter(~pl.col("same_creator")).height
    assert rungs["No training photo within 10 km"] == leaks.filter(pl.col("nearest_train_km") > 10).height
    assert rungs["Without the photos that chose the checkpoint"] == 120
    none_far = replace(pod_run, leaks={"eval_osv": leaks.with_columns(nearest_train_km=pl.lit(0.2))})
    empty = {r.name: r for r in ladder.ladder(none_far, "eval_osv")}["No training photo within 1 km"]
    assert (empty.n, empty.score) == (0, None)
    assert ladder.ladder_table([empty]).rows[0][1] == "0"


def test_calibration_ranks_by_spread(pod_run: Run) -> None:
    sampled, greedy = [], []
    for i in range(60):
        for k in range(3):
            sampled.append(prediction(f"p{i:02d}", k, lat_deg=0.0, lon_deg=37.0 + k * i / 60))
        greedy.append(prediction(f"p{i:02d}", d_km=float(i), geoscore=5000.0 - i))
    run = replace(
        pod_run,
        answers={
            ("policy", "eval_osv", "sampled"): answers(sampled, decoding="sampled"),
            ("policy", "eval_osv", "greedy"): answers(greedy),
        },
    )
    found = calibration.calibration(run, "eval_osv")
    assert (found.k, found.n, len(found.fifths)) == (3, 60, 5)
    assert found.rank_correlation == pytest.approx(1.0)
    assert [f.mean_geoscore for f in found.fifths] == sorted(
        (f.mean_geoscore for f in found.fifths), reverse=True
    )
    assert calibration.spreads_km(answers([prediction("x")])) == {}
