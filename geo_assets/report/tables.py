"""Before/after tables: every metric of every split, with paired intervals and p-values.

Metrics that are a property of the whole set (spread over countries, speed) have no value per photo and
so neither interval nor p-value; their change is shown alone.
"""

from __future__ import annotations

from geo_assets.report import wording
from geo_assets.report.blocks import Cell, Table
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.run import DECODINGS, Run

Row = tuple[Cell | str, ...]


def _change(metric: wording.Metric, d: Difference | None, before: float | None, after: float | None) -> Row:
    """The cells change with interval, and p."""
    if d is not None:
        words = f"{wording.change(d.difference, metric.unit)} {wording.interval(d.low, d.high, metric.unit)}"
        return Cell(words.strip(), d.tone), wording.p_value(d.p)
    if before is None or after is None:
        return wording.NONE, wording.NONE
    return Cell(wording.change(after - before, metric.unit), "muted"), wording.NONE


def split_table(run: Run, split: str, decoding: str, folded: bool) -> Table | None:
    """One split under one decoding: base, start and policy, and the policy's change against each."""
    policy = run.get("policy", split, decoding)
    befores = [who for who in dict.fromkeys((run.start, "base")) if run.get(who, split, decoding)]
    if policy is None or not befores:
        return None
    shown = list(reversed(befores))
    answers = {who: run.answers[who, split, decoding] for who in befores}
    differences = {who: compare(answers[who], policy) for who in befores}
    rows: list[Row] = []
    for metric in wording.METRICS:
        values = {who: _value(answers[who].metrics, differences[who], metric.key, "before") for who in befores}
        after = _value(policy.metrics, differences[befores[0]], metric.key, "after")
        if after is None and all(v is None for v in values.values()):
            continue
        row: list[Cell | str] = [metric.label, *(wording.value(values[who], metric.unit) for who in shown)]
        row.append(wording.value(after, metric.unit))
        for who in befores:
            row += _change(metric, differences[who].get(metric.key), values[who], after)
        rows.append(tuple(row))
    columns = ["Metric", *(who.capitalize() for who in shown), "Policy"]
    for who in befores:
        columns += [f"Against {who} [95%]", "p"]
    name = wording.split_name(split, run.is_demo)
    n = policy.n_photos
    k = len(policy.predictions) // n
    per_photo = f", {k} answers each" if k > 1 else ""
    caption = f"{name} ({split}), {decoding}, n = {n:,} photos{per_photo}"
    return Table(caption, tuple(columns), tuple(rows), folded=folded)


def _value(metrics: dict, differences: dict[str, Difference], key: str, side: str) -> float | None:
    """The paired value where there is one, so that a row always adds up; else the split's own."""
    if key in differences:
        return getattr(differences[key], side)
    return wording.lookup(metrics, key)


def metric_tables(run: Run) -> list[Table]:
    """All splits and decodings; the main one open, the rest folded."""
    tables = []
    for split in run.splits:
        for decoding in DECODINGS:
            table = split_table(run, split, decoding, folded=bool(tables))
            if table is not None:
                tables.append(table)
    return tables
