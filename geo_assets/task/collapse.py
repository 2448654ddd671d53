"""Collapse watch: whether a model still tells photos apart or answers the same to all.

Shares of completions, effective numbers (exponential of Shannon entropy; M. O. Hill, 1973) and
the Jensen-Shannon divergence in bits (J. Lin, 1991) between countries named and countries true.
A collapse is judged against the true distribution, because a lopsided set makes lopsided answers.

Left out: whether the answers are right.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np

from geo_assets.task.answer import parse_answer
from geo_assets.task.predictions import Columns, Prediction, columns

NO_COUNTRY = "none"
"""Stands for the country of answers that name none or an unknown one."""

MIN_EFFECTIVE_COUNTRIES = 3.0
MIN_SHARE_OF_TRUE = 0.25

COORDINATE_DECIMALS = 4
"""Coordinates that agree to about 11 m are the same point."""


def effective_number(counts: Iterable[float]) -> float:
    """`exp(-Σ p·ln p)`: how many equally frequent categories would be as diverse; 0 for none.

    >>> effective_number([5, 5, 5, 5]), effective_number([9]), effective_number([])
    (4.0, 1.0, 0.0)
    """
    positive = [count for count in counts if count > 0]
    total = sum(positive)
    if not positive:
        return 0.0
    return round(exp(-sum(count / total * log(count / total) for count in positive)), 12)


def js_divergence(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Jensen-Shannon divergence of two count tables in bits: 0 for equal, 1 for disjoint ones.

    Raises:
        ValueError: a table is empty.

    >>> js_divergence({"KE": 1}, {"KE": 7}), js_divergence({"KE": 1}, {"FR": 1})
    (0.0, 1.0)
    """
    keys = sorted(set(left) | set(right))
    p = np.array([left.get(key, 0) for key in keys], dtype=np.float64)
    q = np.array([right.get(key, 0) for key in keys], dtype=np.float64)
    if p.sum() <= 0 or q.sum() <= 0:
        raise ValueError("a divergence needs two tables with something in them")
    p, q = p / p.sum(), q / q.sum()
    mean = (p + q) / 2.0
    return float(min(1.0, max(0.0, (_bits(p, mean) + _bits(q, mean)) / 2.0)))


def _bits(p: np.ndarray, q: np.ndarray) -> float:
    some = p > 0
    return float((p[some] * np.log2(p[some] / q[some])).sum())


def spread_figures(table: Columns) -> dict[str, Any]:
    """Spread of the answers against the truth.

    Returns:
        `pred_country_top10`: up to ten dicts of `country_iso2`, `share` of all completions and
        `true_share`; `effective_countries`, `effective_true_countries`; `js_divergence`;
        `top_country_share`; `top_coordinate_share`. Shares are of all completions, parsed or not.
    """
    named = Counter(code or NO_COUNTRY for code in table.country_iso2.ravel().tolist())
    truth = Counter(table.true_country_iso2.tolist())
    n, n_photos = table.parsed.size, len(table.ids)
    top = sorted(
        ((code, c) for code, c in named.items() if code != NO_COUNTRY), key=lambda item: (-item[1], item[0])
    )
    return {
        "pred_country_top10": [
            {"country_iso2": code, "share": count / n, "true_share": truth[code] / n_photos}
            for code, count in top[:10]
        ],
        "effective_countries": effective_number(count for _, count in top),
        "effective_true_countries": effective_number(truth.values()),
        "js_divergence": js_divergence(named, truth),
        "top_country_share": top[0][1] / n if top else 0.0,
        "top_coordinate_share": _top_coordinate_share(table),
    }


def _top_coordinate_share(table: Columns) -> float:
    scale = 10**COORDINATE_DECIMALS
    lat = np.rint(table.lat_deg[table.parsed] * scale).astype(np.int64)
    lon = np.rint(table.lon_deg[table.parsed] * scale).astype(np.int64)
    if not len(lat):
        return 0.0
    _, counts = np.unique(lat * (1 << 32) + lon, return_counts=True)
    return float(counts.max() / table.parsed.size)


def collapse_figures(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """`spread_figures` of predictions, whose truths are the gold distribution."""
    return spread_figures(columns(predictions))


@dataclass(frozen=True)
class Verdict:
    """What the watch saw in the last completions of a training run."""

    passed: bool
    message: str
    figures: dict[str, float | int]


def watch(
    samples: Iterable[Mapping[str, Any] | str],
    last: int = 512,
    true_country_iso2: Iterable[str] | None = None,
    max_coordinate_share: float = 0.5,
) -> Verdict:
    """Judges the last completions of a run (`samples.jsonl`).

    Args:
        samples: dicts, or JSON lines, with a `completion`.
        last: how many of the newest count.
        true_country_iso2: the countries of the training rows. Fewer than a quarter of their
            effective number is a collapse; without them, fewer than 3 countries.
        max_coordinate_share: more completions than this on one point is a collapse.
    """
    true = effective_number(Counter(true_country_iso2).values()) if true_country_iso2 is not None else None
    least = MIN_EFFECTIVE_COUNTRIES if true is None else MIN_SHARE_OF_TRUE * true
    texts = [(json.loads(row) if isinstance(row, str) else row)["completion"] for row in samples][-last:]
    guesses = [guess for guess in map(parse_answer, texts) if guess]
    countries = Counter(guess.country_iso2 or NO_COUNTRY for guess in guesses)
    points = Counter(
        (round(g.lat_deg, COORDINATE_DECIMALS), round(g.lon_deg, COORDINATE_DECIMALS)) for g in guesses
    )
    n = max(1, len(texts))
    effective = effective_number(countries.values())
    point_share = max(points.values(), default=0) / n
    figures = {
        "n": len(texts),
        "parsed_share": len(guesses) / n,
        "effective_countries": effective,
        "top_country_share": max(countries.values(), default=0) / n,
        "top_coordinate_share": point_share,
    }
    if true is not None:
        figures["effective_true_countries"] = true
    passed = bool(guesses) and effective >= least and point_share <= max_coordinate_share
    message = (
        f"last {len(texts)} completions: {effective:.1f} effective countries "
        f"(at least {least:.2g}), "
        f"{point_share:.0%} on one point (at most {max_coordinate_share:.0%})"
    )
    return Verdict(passed, message, figures)
