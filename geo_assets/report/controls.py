"""Controls on the quick set: how much of the gain survives without the right image.

Two controls ask the models again (a blank image; each photo's question asked about another photo), two
need no model: one best point for every photo, and the most frequent country for every photo. Both of
those are fitted to the very photos they are scored on, so they are upper bounds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.score import geoscore
from geo_assets.report import wording
from geo_assets.report.blocks import Figure, Table
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.figures import both
from geo_assets.report.rows import Axis, Mark, Row, dot_rows
from geo_assets.report.run import CONTROLS, Answers, Run

SPLIT = "eval_quick"
NAMES = {"greedy": "The right image", "shuffled": "Another photo's image", "blank": "A blank image"}


@dataclass(frozen=True)
class Control:
    """One condition: mean score and share of countries right, before and after training."""

    key: str
    name: str
    score: Difference
    right: Difference


@dataclass(frozen=True)
class Baseline:
    """An answer that needs no image, fitted to the split itself."""

    name: str
    mean_geoscore: float
    country_acc: float


def controls(run: Run) -> list[Control]:
    """The right image first, then the controls that both models answered."""
    found = []
    for key in ("greedy", *CONTROLS):
        if pair := run.pair(SPLIT, key):
            differences = compare(*pair, ("mean_geoscore", "country_acc"))
            found.append(Control(key, NAMES[key], differences["mean_geoscore"], differences["country_acc"]))
    return found


def baselines(answers: Answers) -> list[Baseline]:
    """The best constant point among the photos' own places, and the most frequent country's best point."""
    gold = list(answers.first.values())
    lat = np.array([p.true_latitude for p in gold])
    lon = np.array([p.true_longitude for p in gold])
    countries = np.array([p.true_country_iso2 for p in gold])
    scores = geoscore(haversine_km(lat[:, None], lon[:, None], lat[None, :], lon[None, :])).mean(axis=1)
    best = int(scores.argmax())
    common = min(Counter(countries.tolist()).items(), key=lambda item: (-item[1], item[0]))[0]
    inside = np.where(countries == common, scores, -1.0)
    return [
        Baseline("One best point for all", float(scores[best]), float((countries == countries[best]).mean())),
        Baseline(
            "Always the most frequent country", float(inside.max()), float((countries == common).mean())
        ),
    ]


def surviving_share(found: list[Control], key: str) -> float | None:
    """The gain of the mean score under a control over the gain with the right image.

    None where either is missing or the right image brings no clear gain (a share of noise says nothing).
    """
    by_key = {control.key: control.score for control in found}
    right, other = by_key.get("greedy"), by_key.get(key)
    if right is None or other is None or right.verdict != "better":
        return None
    return other.difference / right.difference


def controls_figure(found: list[Control], fitted: list[Baseline], n: int) -> Figure:
    """Mean score before and after under every condition."""
    rows = [
        Row(
            control.name,
            (
                Mark(control.score.before, "before"),
                Mark(control.score.after, "after" if control.score.difference >= 0 else "loss"),
            ),
            wording.change(control.score.difference, "points"),
            connect=True,
        )
        for control in found
    ]
    rows += [
        Row(b.name, (Mark(b.mean_geoscore, "reference", hollow=True),), f"{b.mean_geoscore:,.0f}", "muted")
        for b in fitted
    ]
    top = max([m.value for row in rows for m in row.marks])
    axis = Axis(0, min(5000, top * 1.1), "mean score")
    alt = "Mean score by control. " + "; ".join(f"{row.label}: {row.note}" for row in rows)
    caption = (
        f"Quick set, n = {n:,} photos, greedy. What training added should vanish when the image is wrong or "
        "blank; the hollow marks need no model at all and are fitted to these photos."
    )
    legend = (("m-before", "before"), ("m-after", "after"))
    return Figure(
        "controls",
        "Does it look at the photo?",
        alt,
        caption,
        *both(lambda w: dot_rows(rows, axis, w, alt)),
        legend=legend,
    )


def controls_table(found: list[Control], fitted: list[Baseline]) -> Table:
    """The same with intervals and countries right."""
    rows: list[tuple[str, ...]] = []
    for control in found:
        s, r = control.score, control.right
        rows.append(
            (
                control.name,
                wording.move(s.before, s.after, "points"),
                f"{wording.change(s.difference, 'points')} {wording.interval(s.low, s.high, 'points')}",
                wording.move(r.before, r.after, "share"),
            )
        )
    rows += [
        (
            b.name,
            wording.value(b.mean_geoscore, "points"),
            wording.NONE,
            wording.value(b.country_acc, "share"),
        )
        for b in fitted
    ]
    columns = ("Image", "Mean score", "Change [95%]", "Country right")
    return Table("Controls in numbers", columns, tuple(rows))
