"""train_learnable: sampling, the cache of completions, resume."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from geo_assets.backends.base import Completion, Request
from geo_assets.settings import Learnable, Settings
from geo_assets.workers import learnable, scoring
from geo_assets.workers.harness import Job


class Backend:
    """Answers Japan to every other sample; the same request always gets the same answer."""

    def __init__(self, break_after: int | None = None) -> None:
        self.asked: list[str] = []
        self._break_after = break_after

    def close(self) -> None:
        """Nothing to free."""

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        if self._break_after is not None and len(self.asked) >= self._break_after:
            raise KeyboardInterrupt
        self.asked += [request.key for request in requests]
        return [[self._answer(r.key, k) for k in range(r.sampling.samples)] for r in requests]

    @staticmethod
    def _answer(key: str, k: int) -> Completion:
        name = "Japan" if k % 2 else "Kenya"
        text = f'<answer>{{"country": "{name}", "lat": {k}.5, "lon": {len(key)}}}</answer>'
        return Completion(text, 9, "stop")


@pytest.fixture
def order(tmp_path: Path, settings: Settings, pool: Path, start: Path) -> Job:
    (tmp_path / "out").mkdir()
    return Job("train_learnable", tmp_path / "out", settings, {"train_pool": pool, "warm_start": start})


def run(order: Job, monkeypatch: pytest.MonkeyPatch, backend: Backend) -> None:
    monkeypatch.setattr("geo_assets.backends.make", lambda *_: backend)
    learnable.main(order)


def test_it_leaves_rows_images_and_every_completion(order: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    run(order, monkeypatch, Backend())
    rows = pl.read_parquet(order.out / "train_learnable.parquet")
    assert {"id", "country_iso2", "reward_mean", "reward_std", "hits", "set"} <= set(rows.columns)
    assert all((order.out / path).is_file() for path in rows["image_path"])
    lines = [json.loads(line) for line in (order.out / "completions.jsonl").read_text().splitlines()]
    assert Counter(line["k"] for line in lines) == {0: 10, 1: 10, 2: 10}
    assert set(lines[0]) == {"id", "k", "text", "n_tokens", "finish_reason"}
    hits = dict(zip(rows["country_iso2"], rows["hits"], strict=True))
    assert hits["JP"] == 1 and hits["KE"] == 2 and hits["FR"] == 0
    assert json.loads((order.out / "filter_stats.json").read_text())["rows"] == len(rows)


@pytest.mark.parametrize("cut", ["between rows", "inside a line", "inside a row"])
def test_a_killed_run_never_asks_twice_and_ends_the_same(
    order: Job, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    monkeypatch.setattr(learnable, "ROWS_PER_APPEND", 4)
    with pytest.raises(KeyboardInterrupt):
        run(order, monkeypatch, Backend(break_after=8))
    path = order.out / "completions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 8 * 3
    whole_rows = 8
    if cut != "between rows":
        path.write_text("".join(lines[:-1]) + (lines[-1][:20] if cut == "inside a line" else ""))
        whole_rows = 7
    second = Backend()
    run(order, monkeypatch, second)
    assert len(second.asked) == 10 - whole_rows
    once = {p.name: p.read_bytes() for p in order.out.iterdir() if p.is_file()}
    for path in order.out.iterdir():
        if path.is_file():
            path.unlink()
    run(order, monkeypatch, Backend())
    assert {p.name: p.read_bytes() for p in order.out.iterdir() if p.is_file()} == once


def test_countries_are_capped_and_the_seed_decides(pool: Path) -> None:
    rows = scoring.rows_of(pool)
    section = Learnable(rows=10, cap_per_country=2, seed=5)
    chosen = learnable.sample_rows(rows, section)
    assert Counter(row["country_iso2"] for row in chosen) == {"JP": 2, "FR": 2, "KE": 2, "BR": 2}
    assert learnable.sample_rows(rows[::-1], section) == chosen
    other = learnable.sample_rows(rows, section.model_copy(update={"seed": 6}))
    assert [row["id"] for row in other] != [row["id"] for row in chosen]
