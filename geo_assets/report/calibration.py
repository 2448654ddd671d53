"""Calibration: does the spread of k sampled guesses tell which answers to trust?

The spread of a photo is the median great-circle distance, in km, between its parsed sampled guesses. A
useful spread falls with the score. Left out: confidence stated in words, and token probabilities.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from geo_assets.geo.geodesy import haversine_km
from geo_assets.report import wording
from geo_assets.report.blocks import Figure
from geo_assets.report.figures import both
from geo_assets.report.rows import Axis, Mark, Row, dot_rows
from geo_assets.report.run import Answers, Run

FIFTHS = 5
LEAST = 50


@dataclass(frozen=True)
class Fifth:
    """A fifth of the photos, by spread."""

    low_km: float
    high_km: float
    n: int
    mean_geoscore: float
    country_acc: float


@dataclass(frozen=True)
class Calibration:
    """Photos by spread, and the rank correlation of spread and error of the greedy guess."""

    k: int
    n: int
    fifths: tuple[Fifth, ...]
    rank_correlation: float


def spreads_km(answers: Answers) -> dict[str, float]:
    """Photo id to the median distance between its parsed guesses; photos with fewer than two are left out."""
    guesses: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for p in answers.predictions:
        if p.parsed and p.lat_deg is not None and p.lon_deg is not None:
            guesses[p.id].append((p.lat_deg, p.lon_deg))
    found = {}
    for photo_id, points in guesses.items():
        if len(points) > 1:
            lat, lon = np.array(points).T
            i, j = np.triu_indices(len(points), 1)
            found[photo_id] = float(np.median(haversine_km(lat[i], lon[i], lat[j], lon[j])))
    return found


def calibration(run: Run, split: str) -> Calibration | None:
    """The calibration of the policy on a split, or None where too few photos have two parsed samples."""
    sampled, greedy = run.get("policy", split, "sampled"), run.get("policy", split, "greedy")
    if sampled is None or greedy is None:
        return None
    spread = spreads_km(sampled)
    ids = sorted(set(spread) & set(greedy.first), key=lambda photo_id: (spread[photo_id], photo_id))
    if len(ids) < LEAST:
        return None
    errors = [greedy.first[i].d_km if greedy.first[i].d_km is not None else 20_015.0 for i in ids]
    cuts = [round(len(ids) * q / FIFTHS) for q in range(FIFTHS + 1)]
    fifths = []
    for start, end in pairwise(cuts):
        members = [greedy.first[i] for i in ids[start:end]]
        fifths.append(
            Fifth(
                spread[ids[start]],
                spread[ids[end - 1]],
                len(members),
                float(np.mean([p.geoscore for p in members])),
                float(np.mean([p.country_iso2 == p.true_country_iso2 for p in members])),
            )
        )
    k = max(p.k for p in sampled.predictions) + 1
    table = pl.DataFrame({"spread": [spread[i] for i in ids], "error": errors})
    correlation = table.select(pl.corr("spread", "error", method="spearman")).item()
    return Calibration(k, len(ids), tuple(fifths), correlation)


def calibration_figure(found: Calibration) -> Figure:
    """The greedy answer's mean score by the spread of the samples."""
    rows = [
        Row(
            f"{wording.value(f.low_km, 'km')} to {wording.value(f.high_km, 'km')}",
            (Mark(f.mean_geoscore, "after"),),
            f"{f.mean_geoscore:,.0f}, country {f.country_acc:.0%}",
        )
        for f in found.fifths
    ]
    axis = Axis(0, 5000, "mean score of the greedy answer")
    alt = "Mean score by the spread of the sampled guesses. " + "; ".join(
        f"{r.label}: {r.note}" for r in rows
    )
    caption = (
        f"Each row is a fifth of the photos, from the tightest cloud of {found.k} sampled guesses to the "
        f"widest; n = {found.n:,} photos with at least two readable guesses. Rank correlation of spread and "
        f"error: {found.rank_correlation:.2f} (1 would rank the answers perfectly, 0 says nothing)."
    )
    return Figure(
        "calibration",
        "Does it know when it does not know?",
        alt,
        caption,
        *both(lambda w: dot_rows(rows, axis, w, alt)),
    )
