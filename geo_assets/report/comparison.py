"""Paired differences between two models on the same photos, whole splits or parts of them.

The statistics are `task.intervals.paired`; this module picks the rows, adds what the report needs to say
(is the change for the better, is it clear), and remembers results, because many sections ask for the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from geo_assets.report.blocks import Tone
from geo_assets.report.run import Answers
from geo_assets.report.wording import BY_KEY, METRICS, Metric
from geo_assets.task.intervals import Interval, mean_interval, paired

Verdict = Literal["better", "worse", "unclear"]


@dataclass(frozen=True)
class Difference:
    """One metric before and after, over n photos, with the 95% interval of the difference."""

    metric: Metric
    n: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float | None
    """Exact McNemar; None where photos are not simply right or wrong."""
    mde: float | None
    """The smallest gain that n photos show with 80% power."""

    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0 or self.high < 0

    @property
    def verdict(self) -> Verdict:
        """Better or worse only where the interval excludes zero and the metric has a good side."""
        if not self.clear or self.metric.better == "none":
            return "unclear"
        return "better" if (self.difference > 0) == (self.metric.better == "up") else "worse"

    @property
    def tone(self) -> Tone:
        """The colour of the verdict."""
        tones: dict[Verdict, Tone] = {"better": "good", "worse": "bad", "unclear": "muted"}
        return tones[self.verdict]


def _rows(answers: Answers, ids: Collection[str]) -> np.ndarray:
    where = {photo_id: row for row, photo_id in enumerate(answers.columns.ids)}
    return np.array([where[photo_id] for photo_id in ids])


def _difference(before: Answers, after: Answers, key: str, ids: tuple[str, ...]) -> Difference:
    statistic: Literal["mean", "median"] = "median" if key == "median_km" else "mean"
    found = paired(
        before.values[key][_rows(before, ids)],
        after.values[key][_rows(after, ids)],
        statistic,
        after.resamples,
        after.seed,
    )
    first, second, change, low, high = (
        float(found[name] or 0.0) for name in ("before", "after", "difference", "low", "high")
    )
    return Difference(
        BY_KEY[key], len(ids), first, second, change, low, high, p=found["p_mcnemar"], mde=found["mde"]
    )


def compare(
    before: Answers, after: Answers, keys: Iterable[str] | None = None, ids: Collection[str] | None = None
) -> dict[str, Difference]:
    """Differences of metrics that have a value per photo, over the photos that both answered.

    Args:
        before, after: answers to the same split.
        keys: metric keys; all by default.
        ids: only these photos.

    Returns:
        Metric key to difference; empty where no photo is common.
    """
    common = [photo_id for photo_id in before.columns.ids if photo_id in after.photo_ids]
    if ids is not None:
        wanted = set(ids)
        common = [photo_id for photo_id in common if photo_id in wanted]
    if not common:
        return {}
    chosen = keys if keys is not None else [m.key for m in METRICS if m.key in after.values]
    found, photos = {}, tuple(common)
    for key in chosen:
        name = (before.who, before.split, before.decoding, key, photos)
        if name not in after.remembered:
            after.remembered[name] = _difference(before, after, key, photos)
        found[key] = after.remembered[name]
    return found


def own_interval(answers: Answers, key: str) -> Interval:
    """The 95% interval of one mean of one model."""
    return mean_interval(answers.values[key], answers.resamples, answers.seed)
