"""Before/after tables: every metric of every split, with paired intervals and p-values.

Metrics that are a property of the whole set (spread over countries, speed) have no value per photo and
so neither interval nor p-value; their change is shown alone.
"""

from __future__ import annotations

import numpy as np

from geo_assets.report import wording
from geo_assets.report.blocks import Cell, Table
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.run import DECODINGS, Answers, Run

Row = tuple[Cell | str, ...]
SIDES = ("before", "after")


def _change(metric: wording.Metric, d: Difference | None, before: float | None, after: float | None) -> Row:
    """The cells change with interval, and p."""
    if d is not None:
        words = f"{wording.change(d.difference, metric.unit)} {wording.interval(d.low, d.high, metric.unit)}"
        return Cell(words.strip(), d.tone), wording.p_value(d.p)
    if before is None or after is None:
        return wording.NONE, wording.NONE
    return Cell(wording.change(after - before, metric.unit), "muted"), wording.NONE


def split_table(run: Run, split: str, decoding: str, before: str, folded: bool) -> Table | None:
    """One split under one decoding: the policy's change against `before`, the base beside the start."""
    pair = run.pair(split, decoding, before)
    if pair is None:
        return None
    differences = compare(*pair)
    base = run.get("base", split, decoding) if before == "start" else None
    rows: list[Row] = []
    for metric in wording.METRICS:
        first, second = (
            _value(a.metrics, differences, metric.key, s) for a, s in zip(pair, SIDES, strict=True)
        )
        if first is None and second is None:
            continue
        shown = [*([_own(base, metric.key)] if base else []), first, second]
        change = _change(metric, differences.get(metric.key), first, second)
        rows.append((metric.label, *(wording.value(v, metric.unit) for v in shown), *change))
    columns = (
        "Metric",
        *(["Base"] if base else []),
        before.capitalize(),
        "Policy",
        f"Against {before} [95%]",
        "p",
    )
    name, n = wording.split_name(split, run.is_demo), differences["mean_geoscore"].n
    k = len(pair[1].predictions) // pair[1].n_photos
    per_photo = f", {k} answers each" if k > 1 else ""
    caption = f"{name} ({split}), {decoding}, against {before}, n = {n:,} photos{per_photo}"
    return Table(caption, columns, tuple(rows), folded=folded)


def _own(answers: Answers, key: str) -> float | None:
    """The value of one model by itself."""
    if key in answers.values:
        values = answers.values[key]
        return float(np.median(values) if key == "median_km" else values.mean())
    return wording.lookup(answers.metrics, key)


def _value(metrics: dict, differences: dict[str, Difference], key: str, side: str) -> float | None:
    """The paired value where there is one, so that a row always adds up; else the split's own."""
    if key in differences:
        return getattr(differences[key], side)
    return wording.lookup(metrics, key)


def metric_tables(run: Run) -> list[Table]:
    """All splits and decodings against the start, then against the base; the first open, the rest folded."""
    tables: list[Table] = []
    for before in dict.fromkeys((run.start, "base")):
        for split in run.splits:
            for decoding in DECODINGS:
                table = split_table(run, split, decoding, before, folded=bool(tables))
                if table is not None:
                    tables.append(table)
    return tables
