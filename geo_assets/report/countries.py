"""Per-country figures: how each country's photos were answered before and after.

With the usual few photos of a country most differences are chance; the table gives n and the paired
interval, the map draws countries of fewer than `FEW` photos paler, and the text says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from geo_assets.report import wording
from geo_assets.report.blocks import Cell, Figure, Table
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.figures import both
from geo_assets.report.maps import CHANGE_CLASSES, CountryChange, country_map
from geo_assets.report.rows import Axis, Mark, Row, dot_rows
from geo_assets.report.run import Answers

FEW = 10
CHART_ROWS = 24


@dataclass(frozen=True)
class Country:
    """One true country: its photos, and the differences over them."""

    iso2: str
    name: str
    n: int
    centre: tuple[float, float]
    score: Difference
    right: Difference


def by_country(before: Answers, after: Answers) -> list[Country]:
    """Countries of the truth, most photos first, then by name."""
    places: dict[str, list[tuple[float, float]]] = defaultdict(list)
    ids: dict[str, set[str]] = defaultdict(set)
    for photo_id, prediction in after.first.items():
        ids[prediction.true_country_iso2].add(photo_id)
        places[prediction.true_country_iso2].append((prediction.true_latitude, prediction.true_longitude))
    found = []
    for iso2, members in ids.items():
        found_differences = compare(before, after, ("mean_geoscore", "country_acc"), members)
        lats, lons = zip(*places[iso2], strict=True)
        found.append(
            Country(
                iso2,
                wording.country(iso2),
                len(members),
                (float(np.median(lats)), float(np.median(lons))),
                found_differences["mean_geoscore"],
                found_differences["country_acc"],
            )
        )
    return sorted(found, key=lambda c: (-c.n, c.name))


def change_map(countries: Sequence[Country], n: int) -> Figure:
    """The world, each country filled by the change of its mean score."""
    changes = [
        CountryChange(
            c.iso2,
            c.score.difference,
            c.n,
            c.centre,
            f"{c.name}: {wording.value(c.score.before, 'points')} → "
            f"{wording.value(c.score.after, 'points')} ({wording.change(c.score.difference, 'points')}), n "
            f"= {c.n}",
        )
        for c in countries
    ]
    up = sum(c.score.difference > 0 for c in countries)
    alt = (
        f"World map: the mean score rose in {up} of {len(countries)} countries. The table below has each "
        "country."
    )
    legend = tuple((class_, words) for _, class_, words in CHANGE_CLASSES)
    if any(c.score.difference == 0 for c in countries):
        legend = (*legend, ("f0", "no change"))
    caption = (
        f"Change of the mean score, points, by the photo's true country, greedy, n = {n:,} photos of "
        f"{len(countries)} countries. Paler: fewer than {FEW} photos. Grey: none."
    )
    return Figure(
        "countries-map",
        "Change of the mean score by country",
        alt,
        caption,
        country_map(changes, alt, FEW),
        legend=legend,
    )


def country_chart(countries: Sequence[Country]) -> Figure:
    """Mean score before and after for the countries with the most photos, largest change first."""
    shown = sorted(countries[:CHART_ROWS], key=lambda c: -c.score.difference)
    rows = [
        Row(
            f"{c.name} ({c.n})",
            (
                Mark(c.score.before, "before"),
                Mark(c.score.after, "after" if c.score.difference >= 0 else "loss"),
            ),
            wording.change(c.score.difference, "points"),
            connect=True,
        )
        for c in shown
    ]
    axis = Axis(0, 5000, "mean score of the country's photos")
    alt = "Mean score before and after. " + "; ".join(f"{row.label} {row.note}" for row in rows)
    which = (
        "Every country"
        if len(shown) == len(countries)
        else f"The {len(shown)} countries with the most photos"
    )
    caption = f"{which} (n in brackets), sorted by change; greedy answers to the same photos."
    legend = (("m-before", "before"), ("m-after", "after, better"), ("m-loss", "after, worse"))
    return Figure(
        "countries",
        "Mean score by country",
        alt,
        caption,
        *both(lambda w: dot_rows(rows, axis, w, alt)),
        legend=legend,
    )


def country_table(countries: Sequence[Country]) -> Table:
    """Every country with n, shares right, mean scores and the paired interval."""
    rows = []
    for c in countries:
        d, tone = c.score, c.score.tone
        rows.append(
            (
                c.name,
                f"{c.n:,}",
                wording.value(c.right.before, "share"),
                wording.value(c.right.after, "share"),
                wording.value(d.before, "points"),
                wording.value(d.after, "points"),
                Cell(
                    f"{wording.change(d.difference, 'points')} {wording.interval(d.low, d.high, 'points')}",
                    tone,
                ),
            )
        )
    clear = sum(c.score.verdict in ("better", "worse") for c in countries)
    note = (
        f"Intervals of single countries are not corrected for there being {len(countries)} of them: about "
        f"one in twenty excludes zero by chance. Here {clear} do."
    )
    columns = ("Country", "n", "Right before", "Right after", "Score before", "Score after", "Change [95%]")
    return Table("Every country", columns, tuple(rows), note, folded=len(rows) > 30)
