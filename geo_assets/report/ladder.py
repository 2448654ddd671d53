"""The leak ladder: the gain again on fewer and fewer photos that could owe it to the training set.

Rungs: all photos; without photos by someone who also took a training photo; only photos with no training
photo within 1, 10 and 50 km; and, because the checkpoint was chosen on the quick set, without the photos
of that set. Distances are km.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from geo_assets.report import wording
from geo_assets.report.blocks import Cell, Figure, Table
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.figures import both, change_axis
from geo_assets.report.rows import Mark, Row, dot_rows
from geo_assets.report.run import Run

ENOUGH = 100


@dataclass(frozen=True)
class Rung:
    """One subset of the photos; `score` and `right` are None where no photo is left."""

    name: str
    n: int
    score: Difference | None
    right: Difference | None


def _subsets(run: Run, split: str, everyone: set[str]) -> list[tuple[str, set[str]]]:
    found = [("All photos", everyone)]
    leaks = run.leaks.get(split)
    if leaks is not None:
        far = pl.col("nearest_train_km").fill_null(float("inf"))
        rungs = [("Without the same photographer", ~pl.col("same_creator").fill_null(False))]
        rungs += [(f"No training photo within {km} km", far > km) for km in (1, 10, 50)]
        found += [(name, everyone & set(leaks.filter(rule)["id"].to_list())) for name, rule in rungs]
    quick = run.get("policy", "eval_quick", "greedy")
    if split == "eval_osv" and quick is not None and (rest := everyone - set(quick.first)) != everyone:
        found.append(("Without the photos that chose the checkpoint", rest))
    return found


def ladder(run: Run, split: str) -> list[Rung]:
    """Every rung of a split, under greedy decoding (sampled where there is no greedy)."""
    pair = run.pair(split, "greedy") or run.pair(split, "sampled")
    if pair is None:
        return []
    everyone = set(pair[0].first) & set(pair[1].first)
    rungs = []
    for name, ids in _subsets(run, split, everyone):
        found = compare(*pair, ("mean_geoscore", "country_acc"), ids) if ids else {}
        rungs.append(Rung(name, len(ids), found.get("mean_geoscore"), found.get("country_acc")))
    return rungs


def strictest(rungs: list[Rung]) -> Rung | None:
    """The last distance rung with at least `ENOUGH` photos."""
    far = [r for r in rungs if r.name.startswith("No training photo") and r.n >= ENOUGH and r.score]
    return far[-1] if far else None


def ladder_figure(rungs: list[Rung]) -> Figure | None:
    """The gain on each rung with its interval."""
    measured = [(rung, rung.score) for rung in rungs if rung.score]
    if len(measured) < 2:
        return None
    rows = []
    for rung, d in measured:
        kind = {"better": "after", "worse": "loss"}.get(d.verdict, "before")
        mark = Mark(d.difference, kind, d.low, d.high, hollow=kind == "before")
        rows.append(Row(f"{rung.name} (n = {rung.n:,})", (mark,), wording.change(d.difference, "points")))
    axis = change_axis([d for _, d in measured])
    alt = "Change of the mean score by subset. " + "; ".join(f"{row.label}: {row.note}" for row in rows)
    caption = (
        "If the gain came from photos near training photos, it would shrink down the ladder. Paired 95% "
        "intervals."
    )
    return Figure(
        "ladder",
        "Does the gain outlive the leaks?",
        alt,
        caption,
        *both(lambda w: dot_rows(rows, axis, w, alt)),
    )


def ladder_table(rungs: list[Rung]) -> Table:
    """The rungs in numbers."""
    rows: list[tuple[Cell | str, ...]] = []
    for rung in rungs:
        s, r = rung.score, rung.right
        if s is None or r is None:
            rows.append((rung.name, "0", *[wording.NONE] * 4))
            continue
        rows.append(
            (
                rung.name,
                f"{rung.n:,}",
                wording.move(s.before, s.after, "points"),
                Cell(
                    f"{wording.change(s.difference, 'points')} {wording.interval(s.low, s.high, 'points')}",
                    s.tone,
                ),
                wording.move(r.before, r.after, "share"),
                wording.p_value(r.p),
            )
        )
    columns = ("Photos", "n", "Mean score", "Change [95%]", "Country right", "p")
    return Table(
        "The leak ladder in numbers", columns, tuple(rows), "p: exact McNemar test of the countries right."
    )
