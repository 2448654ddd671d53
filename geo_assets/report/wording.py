"""How metrics are named and numbers are written, the same in every table, figure and sentence.

Shares are written as percentages and their differences as percentage points (pp); distances in km;
scores are GeoScores, 0 to 5,000 points. A value that does not exist is written as an en dash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from geo_assets.geo.countries import country_name

Unit = Literal["share", "points", "reward", "km", "plain", "tokens", "seconds"]
NONE = "–"
MINUS = "−"


@dataclass(frozen=True)
class Metric:
    """A metric's key in `metrics.json` (dots descend), its label, unit, and whether more is better."""

    key: str
    label: str
    unit: Unit
    better: Literal["up", "down", "none"] = "up"


METRICS: tuple[Metric, ...] = (
    Metric("mean_geoscore", "Mean score", "points"),
    Metric("mean_reward", "Mean reward", "reward"),
    Metric("country_acc", "Country right", "share"),
    Metric("sovereign_acc", "Sovereign state right", "share"),
    Metric("country_acc_coords", "Country, by coordinates", "share"),
    Metric("country_agreement", "Text agrees with coordinates", "share", "none"),
    Metric("region_acc", "Region right", "share"),
    Metric("city_acc", "City right", "share"),
    Metric("median_km", "Median error", "km", "down"),
    Metric("acc_at_km.1", "Within 1 km", "share"),
    Metric("acc_at_km.25", "Within 25 km", "share"),
    Metric("acc_at_km.200", "Within 200 km", "share"),
    Metric("acc_at_km.750", "Within 750 km", "share"),
    Metric("acc_at_km.2500", "Within 2,500 km", "share"),
    Metric("format_rate", "Right form", "share"),
    Metric("truncated_rate", "Cut off", "share", "down"),
    Metric("prompt_echo_rate", "Copies of the example", "share", "down"),
    Metric("effective_countries", "Countries named, effective", "plain", "none"),
    Metric("js_divergence", "Country mix, divergence", "plain", "down"),
    Metric("top_coordinate_share", "Most frequent coordinates", "share", "down"),
    Metric("mean_completion_tokens", "Tokens per answer", "tokens", "none"),
    Metric("images_per_second", "Photos per second", "plain", "none"),
)
BY_KEY = {metric.key: metric for metric in METRICS}
SPLIT_NAMES = {
    "eval_osv": "OSV-5M test photos",
    "eval_quick": "Quick set",
    "eval_pano": "Panoramas",
    "eval_photos": "Your own photos",
}
DEMO_SPLIT_NAMES = {
    "eval_osv": "Drawn test scenes",
    "eval_quick": "Drawn quick set",
    "eval_pano": "Drawn panoramas",
}


def split_name(split: str, demo: bool) -> str:
    """What readers call a split."""
    names = SPLIT_NAMES | DEMO_SPLIT_NAMES if demo else SPLIT_NAMES
    return names.get(split, split)


def country(iso2: str | None) -> str:
    """The English name of a code; the code itself where it is no known one.

    >>> country("KE"), country("QQ"), country(None)
    ('Kenya', 'QQ', 'unknown')
    """
    if not iso2:
        return "unknown"
    try:
        return country_name(iso2)
    except KeyError:
        return iso2


def lookup(metrics: Mapping, key: str) -> float | None:
    """A metric by its dotted key; integer-like keys match numbers and strings.

    >>> lookup({"acc_at_km": {"25": 0.5}}, "acc_at_km.25")
    0.5
    """
    found: object = metrics
    for part in key.split("."):
        if not isinstance(found, Mapping):
            return None
        keys = [k for k in found if str(k).removesuffix(".0") == part]
        found = found[keys[0]] if keys else None
    return float(found) if isinstance(found, int | float) and math.isfinite(found) else None


def value(amount: float | None, unit: Unit) -> str:
    """A value in its unit.

    >>> value(0.4567, "share"), value(2310.4, "points"), value(None, "km")
    ('45.7%', '2,310', '–')
    """
    if amount is None or not math.isfinite(amount):
        return NONE
    if unit == "share":
        return f"{100 * amount:.1f}%"
    if unit == "km":
        return f"{amount:,.0f} km" if amount >= 10 else f"{amount:.1f} km"
    if unit == "points":
        return f"{amount:,.0f}"
    if unit == "tokens":
        return f"{amount:,.1f}"
    return (
        f"{amount:.3f}" if unit == "reward" else f"{amount:,.0f}" if abs(amount) >= 100 else f"{amount:.2f}"
    )


def change(amount: float | None, unit: Unit, with_unit: bool = True) -> str:
    """A signed difference in its unit.

    >>> change(0.012, "share"), change(-3.2, "points"), change(0.05, "share", with_unit=False)
    ('+1.2 pp', '−3', '+5.0')
    """
    if amount is None or not math.isfinite(amount):
        return NONE
    size = abs(amount)
    shown = f"{100 * size:.1f}" if unit == "share" else value(size, unit).removesuffix(" km")
    sign = "" if float(shown.replace(",", "")) == 0 else MINUS if amount < 0 else "+"
    suffix = {"share": " pp", "km": " km"}.get(unit, "") if with_unit else ""
    return f"{sign}{shown}{suffix}"


def move(before: float | None, after: float | None, unit: Unit) -> str:
    """Before and after in one cell.

    >>> move(0.506, 0.58, "share"), move(2857, 3172.4, "points")
    ('50.6 → 58.0%', '2,857 → 3,172')
    """
    first = value(before, unit).removesuffix(" km").removesuffix("%")
    return f"{first} → {value(after, unit)}"


def interval(low: float | None, high: float | None, unit: Unit) -> str:
    """A 95% interval of a difference, without its unit.

    >>> interval(0.01, 0.034, "share")
    '[+1.0, +3.4]'
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return ""
    return f"[{change(low, unit, False)}, {change(high, unit, False)}]"


def p_value(p: float | None) -> str:
    """A p-value; never zero.

    >>> p_value(0.00001), p_value(0.0432)
    ('< 0.001', '0.043')
    """
    if p is None or not math.isfinite(p):
        return NONE
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def distance(value_km: float | None) -> str:
    """A distance for a sentence: `no answer` where there is none.

    >>> distance(0.42), distance(12_345.6)
    ('0.4 km', '12,346 km')
    """
    return "no answer" if value_km is None else value(value_km, "km")


def duration(seconds: float | None) -> str:
    """Hours and minutes.

    >>> duration(45), duration(700), duration(9000)
    ('45 s', '12 min', '2.5 h')
    """
    if seconds is None or not math.isfinite(seconds):
        return NONE
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
