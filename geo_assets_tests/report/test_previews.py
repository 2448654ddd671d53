"""Markdown previews: sizes that a page shows inline, hostile text, damaged photos."""

from __future__ import annotations

import base64
import io
import math
import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from PIL import Image

from geo_assets.report import previews
from geo_assets.report.run import Run
from geo_assets_tests.report.artifacts import HOSTILE, draw_photo
from geo_assets_tests.report.test_figures import prediction


@pytest.mark.parametrize("n", [2, 20, 199, 5000])
def test_sparkline_stays_inline_and_parses(n: int) -> None:
    points = [(i, math.sin(i / 7) * 1000 * (-1) ** i) for i in range(n)]
    found = previews.sparkline(points, "a title that is far too long for a curve | of this kind " * 3)
    assert len(found) < previews.INLINE_CHARS
    data = re.search(r"\(data:image/svg\+xml,([^ ()]+)\)", found)
    assert data
    root = ElementTree.fromstring(unquote(data.group(1)))
    numbers = [int(v) for v in root[0].attrib["points"].split(",")]
    assert 4 <= len(numbers) <= 50
    assert all(48 <= v <= 312 for v in numbers[::2])
    assert all(5 <= v <= 55 for v in numbers[1::2])
    assert root[1].text == f"{points[0][1]:.3g}" or n > 25


def test_a_long_sparkline_is_the_means_of_its_groups() -> None:
    found = previews.sparkline([(n, n % 2) for n in range(100)], "reward")
    assert "reward: 0.5 to 0.5" in found


def test_sparkline_skips_what_is_not_finite() -> None:
    assert previews.sparkline([(0, math.nan), (1, 2.0)], "x") == ""
    assert "2 to 3" in previews.sparkline([(0, 2.0), (1, math.inf), (2, 3.0)], "x")


def test_curves_have_first_and_last() -> None:
    found = previews.curves({"reward": [(0, 0.1), (1, 0.25)], "empty": []})
    assert "| reward | 0.1 | 0.25 |" in found
    assert "empty" not in found


def test_image_grid_holds_pictures_within_the_limit(tmp_path: Path) -> None:
    photos: list = [(draw_photo(i, (1024, 768)), f"photo {i}") for i in range(30)]
    found = previews.image_grid(photos)
    assert len(found.encode()) <= previews.MOST_BYTES
    jpegs = re.findall(r"data:image/jpeg;base64,([^)]+)\)", found)
    assert len(jpegs) >= 4
    assert Image.open(io.BytesIO(base64.b64decode(jpegs[0]))).size[0] <= 160


def test_image_grid_survives_a_damaged_photo_and_shapes_the_table(tmp_path: Path) -> None:
    (tmp_path / "bad.jpg").write_bytes(b"not a photo")
    draw_photo(1).save(tmp_path / "good.jpg")
    found = previews.image_grid(
        [
            (tmp_path / "bad.jpg", "bad | one"),
            (tmp_path / "good.jpg", "good"),
            (tmp_path / "good.jpg", "more"),
        ],
        2,
    )
    assert "cannot be opened" in found
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in found.splitlines()} == {3}


def test_country_bars_count_everything() -> None:
    found = previews.country_bars({f"{a}{b}": 1 for a in "ABCDE" for b in "EFGHIJ"} | {"FR": 30})
    lines = found.splitlines()
    assert lines[2].startswith("| France | 30 | 50.0% | ████████████████ |")
    assert lines[-1].startswith("| 11 more | 11 |")


def test_place_map_thins_a_large_set() -> None:
    few = previews.place_map([(90.0, 180.0), (-90.0, -180.0)])
    many = previews.place_map([(0.01 * n - 80, 0.02 * n - 170) for n in range(16_000)])
    assert few.startswith("![where 2 photos are](")
    assert many.startswith("![where 16,000 photos are](")
    assert len(many) < previews.MOST_BYTES


def test_completions_table_escapes_the_model() -> None:
    found = previews.completions_table([prediction("a|b", completion=HOSTILE, d_km=None, parsed=False)])
    assert "<script>" not in found
    assert "](javascript" not in found
    assert "\u202e" not in found
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in found.splitlines()} == {9}
    assert "no answer" in found


def test_metrics_table_reads_metrics_json(pod_run: Run) -> None:
    answers = pod_run.get("policy", "eval_osv", "greedy")
    assert answers
    found = previews.metrics_table({"eval_osv greedy": answers.metrics})
    assert f"{answers.metrics['mean_geoscore']:,.0f}" in found
    assert "| 240 |" in found


def test_error_map_is_a_small_jpeg(pod_run: Run) -> None:
    answers = pod_run.get("policy", "eval_osv", "greedy")
    assert answers
    found = previews.error_map(answers.predictions)
    assert len(found) < previews.MOST_BYTES
    data = base64.b64decode(found.split("base64,")[1][:-1])
    assert Image.open(io.BytesIO(data)).size[0] == 480
