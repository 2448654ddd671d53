"""Evaluation: layout, controls, prefix, resume, and completions that hold anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pytest

from geo_assets.backends.base import Completion, Request
from geo_assets.osv.schema import PANO_SCHEMA, write_parquet
from geo_assets.osv.sets import read_set
from geo_assets.settings import Settings
from geo_assets.workers import predict, scoring
from geo_assets.workers.harness import Job

HOSTILE = (
    '<think>x</think><answer>{"country": "Japan", "lat": 35.7, "lon": 139.7}</answer>',
    "",
    "\ud800 \x00 <answer>",
    '<answer>{"country": "Japan", "lat": NaN, "lon": 1e999}</answer>',
    "🙂" * 500,
    '<answer>{"country": ["Japan"], "lat": true, "lon": 0}</answer>',
)


class Backend:
    """Answers from a list, in turn; counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def close(self) -> None:
        """Nothing to free."""

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        self.asked += requests
        return [
            [Completion(HOSTILE[(i + k) % len(HOSTILE)], 5, "stop") for k in range(r.sampling.samples)]
            for i, r in enumerate(requests)
        ]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Backend:
    made = Backend()
    monkeypatch.setattr("geo_assets.backends.make", lambda *_: made)
    return made


@pytest.fixture(scope="module")
def splits(make_set: Callable[[str, int], Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """eval_osv, its prefix, panoramas of three views, and an empty set of own photos."""
    osv = make_set("eval_osv", 12)
    quick = tmp_path_factory.mktemp("quick")
    write_parquet(read_set(osv).head(5), quick / "eval_quick.parquet")
    (quick / "images").symlink_to(osv / "images")
    (quick / "dropped.json").write_text(json.dumps({"rows": 5}))
    plain = make_set("eval_pano", 3)
    rows = read_set(plain)
    views = pl.Series("views", [[path] * 3 for path in rows["image_path"]])
    write_parquet(rows.with_columns(views).select(list(PANO_SCHEMA)), plain / "eval_pano.parquet")
    photos = make_set("eval_photos", 0)
    return {"eval_osv": osv, "eval_quick": quick, "eval_pano": plain, "eval_photos": photos}


def test_base_metrics_writes_every_cell(
    tmp_path: Path, settings: Settings, splits: dict[str, Path], base: Path, start: Path, backend: Backend
) -> None:
    order = Job("base_metrics", tmp_path, settings, {**splits, "base_model": base, "warm_start": start})
    predict.main(order)
    cells = sorted(str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("metrics.json"))
    assert cells == [
        *(f"base/eval_osv/{decoding}" for decoding in ("greedy", "sampled")),
        *(f"base/eval_pano/{decoding}" for decoding in ("greedy", "sampled")),
        *(f"base/eval_quick/{cell}" for cell in ("blank", "greedy", "sampled", "shuffled")),
    ]
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["start"] == "same as base"
    rows = scoring.load(tmp_path / "base" / "eval_osv" / "sampled")
    ids = read_set(splits["eval_osv"])["id"].to_list()
    assert [(row.id, row.k) for row in rows] == [(row_id, k) for row_id in ids for k in range(2)]
    greedy = summary["base"]["eval_osv"]["greedy"]
    assert (greedy["n"], greedy["n_parsed"], greedy["country_acc"]) == (12, 2, pytest.approx(1 / 12))
    assert (tmp_path / "thumbs" / "eval_osv" / f"{ids[0]}.jpg").exists()


def test_the_prefix_is_cut_out_and_never_asked_for(
    tmp_path: Path, settings: Settings, splits: dict[str, Path], base: Path, start: Path, backend: Backend
) -> None:
    predict.main(Job("base_metrics", tmp_path, settings, {**splits, "base_model": base, "warm_start": start}))
    whole, prefix = (
        (tmp_path / "base" / name / "sampled" / "predictions.jsonl") for name in ("eval_osv", "eval_quick")
    )
    assert prefix.read_text().splitlines() == whole.read_text().splitlines()[: 5 * 2]
    # Two decodings of 12 + 3 rows, and two controls of 5: eval_quick itself is not among them.
    assert len(backend.asked) == 2 * (12 + 3) + 2 * 5


def test_a_killed_evaluation_asks_for_missing_cells_alone(
    tmp_path: Path, settings: Settings, splits: dict[str, Path], base: Path, start: Path, backend: Backend
) -> None:
    order = Job("base_metrics", tmp_path, settings, {**splits, "base_model": base, "warm_start": start})
    predict.main(order)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json*") if path.name != "timings.json"}
    (tmp_path / "base" / "eval_pano" / "greedy" / "metrics.json").unlink()
    asked = len(backend.asked)
    predict.main(order)
    assert len(backend.asked) == asked + 3
    assert {path: path.read_bytes() for path in before} == before


def test_every_row_gets_another_rows_photo_and_panoramas_carry_their_views(
    splits: dict[str, Path], settings: Settings
) -> None:
    folder = splits["eval_osv"]
    split = predict.Split("eval_osv", folder, scoring.rows_of(folder))
    plain = predict._requests(
        split, settings.task, predict.decodings(settings.evaluate, settings.task)["greedy"]
    )
    shuffled = predict._shuffled(plain, settings.task, seed=3)
    assert [r.key for r in shuffled] == [r.key for r in plain]
    assert all(one.photos != other.photos for one, other in zip(plain, shuffled, strict=True))
    assert sorted(r.photos for r in shuffled) == sorted(r.photos for r in plain)
    blank = predict._blank(plain, settings.task, seed=3)
    assert {photo.getextrema() for request in blank for photo in request.photos} == {((128, 128),) * 3}
    pano = scoring.rows_of(splits["eval_pano"])
    requests = scoring.requests_of(splits["eval_pano"], pano, settings.task, plain[0].sampling)
    assert [len(request.photos) for request in requests] == [3, 3, 3]
    assert sum(part["type"] == "image" for part in requests[0].messages[-1]["content"]) == 3


def test_rl_metrics_measures_the_way_to_training_rows(
    tmp_path: Path,
    settings: Settings,
    splits: dict[str, Path],
    start: Path,
    learnable: Path,
    backend: Backend,
) -> None:
    best, run = tmp_path / "best", tmp_path / "run"
    best.mkdir()
    (best / "best.json").write_text(json.dumps({"step": 4, "checkpoint": "checkpoint-4"}))
    upstream = {"checkpoint_metrics": best, "lora_checkpoints": run, "warm_start": start}
    order = Job(
        "rl_metrics", tmp_path / "out", settings, {**splits, **upstream, "train_learnable": learnable}
    )
    order.out.mkdir()
    predict.main(order)
    leaks = pl.read_parquet(order.out / "leaks" / "eval_osv.parquet")
    assert leaks.columns == ["id", "same_creator", "nearest_train_km"]
    assert leaks["nearest_train_km"].to_list() == pytest.approx([0.0] * 12)
    assert leaks["same_creator"].all()
    assert not (order.out / "thumbs").exists()


def test_eval_quick_of_other_rows_is_asked_for(
    tmp_path: Path, settings: Settings, splits: dict[str, Path], base: Path, start: Path, backend: Backend,
    make_set: Callable[[str, int], Path],
) -> None:  # fmt: skip
    other = {**splits, "eval_quick": make_set("eval_quick", 2), "base_model": base, "warm_start": start}
    predict.main(Job("base_metrics", tmp_path, settings, other))
    assert len(scoring.load(tmp_path / "base" / "eval_quick" / "greedy")) == 2
    assert len(backend.asked) == 2 * (12 + 3 + 2) + 2 * 2
