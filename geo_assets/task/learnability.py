"""Which rows GRPO can learn from: those whose completions differ in what they earn.

With group-relative advantages a photo whose completions all earn the same teaches nothing. Set A
holds photos with `0 < hits < k` or a reward standard deviation above the threshold, and at least
one parsed completion; set B is a seeded share of the rest, against forgetting. Everything is
computed from cached completions, so any threshold or reward is replayed without a model.

Left out: generating completions, and copying images.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from geo_assets.settings import Learnable
from geo_assets.task import rewards
from geo_assets.task.predictions import Prediction

ZERO_STD = 1e-6
"""Below this a group counts as having no spread (TRL's frac_reward_zero_std uses closeness to 0)."""


@dataclass(frozen=True)
class LearnableRow:
    """A sampled photo, what its completions earned, and the set it is chosen for ("" = left out)."""

    id: str
    country_iso2: str
    reward_mean: float
    reward_std: float
    """Population standard deviation of the k rewards."""
    hits: int
    """Completions that name the true country."""
    completions: int
    parsed: int
    set: Literal["A", "B", ""] = ""


@dataclass(frozen=True)
class Selection:
    """The chosen rows, shuffled, and the figures of `filter_stats.json`."""

    rows: list[LearnableRow]
    stats: dict[str, Any]


def score_rows(predictions: Sequence[Prediction], reward: str | None = None) -> list[LearnableRow]:
    """One row per photo, in the order of first appearance.

    Args:
        predictions: k completions per photo.
        reward: None takes each prediction's own `total`; a name scores the completions anew.
    """
    totals = [prediction.total for prediction in predictions]
    if reward is not None:
        scored = rewards.get_reward(reward).score(
            [p.completion for p in predictions],
            [p.true_latitude for p in predictions],
            [p.true_longitude for p in predictions],
            [p.true_country_iso2 for p in predictions],
        )
        totals = [terms.total for terms in scored]
    groups: dict[str, list[int]] = {}
    for row, prediction in enumerate(predictions):
        groups.setdefault(prediction.id, []).append(row)
    return [_row([predictions[i] for i in group], [totals[i] for i in group]) for group in groups.values()]


def _row(group: Sequence[Prediction], totals: Sequence[float]) -> LearnableRow:
    first = group[0]
    return LearnableRow(
        id=first.id,
        country_iso2=first.true_country_iso2,
        reward_mean=float(np.mean(totals)),
        reward_std=float(np.std(totals)),
        hits=sum(p.country_iso2 is not None and p.country_iso2 == p.true_country_iso2 for p in group),
        completions=len(group),
        parsed=sum(p.parsed for p in group),
    )


def is_learnable(row: LearnableRow, std_threshold: float) -> bool:
    """Whether a row belongs to set A."""
    return row.parsed > 0 and (0 < row.hits < row.completions or row.reward_std > std_threshold)


def select(predictions: Sequence[Prediction], settings: Learnable, reward: str | None = None) -> Selection:
    """Chooses `train_learnable` from scored completions.

    Args:
        predictions: all completions of all sampled rows.
        settings: thresholds, share and seed.
        reward: None takes the rewards that the predictions carry; a name replays them with another.
    """
    scored = score_rows(predictions, reward)
    threshold = settings.std_threshold
    learnable = [row for row in scored if is_learnable(row, threshold)]
    if len(learnable) < settings.fallback_below and settings.fallback_std_threshold < threshold:
        threshold = settings.fallback_std_threshold
        learnable = [row for row in scored if is_learnable(row, threshold)]
    chosen_a = {row.id for row in learnable}
    rest = sorted((row for row in scored if row.id not in chosen_a), key=lambda row: row.id)
    chosen_b = random.Random(f"{settings.seed} rest").sample(rest, round(settings.share_of_rest * len(rest)))
    rows = [replace(row, set="A") for row in learnable] + [replace(row, set="B") for row in chosen_b]
    rows.sort(key=lambda row: row.id)
    random.Random(settings.seed).shuffle(rows)
    return Selection(rows, _stats(scored, rows, threshold, len(learnable), len(chosen_b)))


def _stats(
    scored: Sequence[LearnableRow], rows: Sequence[LearnableRow], threshold: float, n_a: int, n_b: int
) -> dict[str, Any]:
    completions = sum(row.completions for row in scored)
    countries = Counter(row.country_iso2 for row in rows)
    return {
        "rows_sampled": len(scored),
        "completions": completions,
        "base_mean_reward": _share(sum(row.reward_mean * row.completions for row in scored), completions),
        "base_country_acc": _share(sum(row.hits for row in scored), completions),
        "base_format_rate": _share(sum(row.parsed for row in scored), completions),
        "set_a": n_a,
        "set_b": n_b,
        "rows": len(rows),
        "countries": len(countries),
        "rows_per_country": dict(sorted(countries.items())),
        "std_threshold": threshold,
        "sampled_zero_std_share": _share(sum(row.reward_std < ZERO_STD for row in scored), len(scored)),
        "expected_zero_std_share": _share(sum(row.reward_std < ZERO_STD for row in rows), len(rows)),
    }


def _share(part: float, whole: int) -> float:
    return part / whole if whole else 0.0


def rank_rewards(
    predictions: Sequence[Prediction], settings: Learnable, names: Sequence[str] | None = None
) -> list[Mapping[str, Any]]:
    """Rewards by the share of sampled photos that each makes learnable, the greatest first.

    Returns:
        Dicts of `reward`, `learnable_share`, `zero_std_share`, `mean_std`, `base_mean_reward`.
    """
    table = []
    for name in names or sorted(rewards.REWARDS):
        scored = score_rows(predictions, name)
        learnable = sum(is_learnable(row, settings.std_threshold) for row in scored)
        table.append(
            {
                "reward": name,
                "learnable_share": _share(learnable, len(scored)),
                "zero_std_share": _share(sum(row.reward_std < ZERO_STD for row in scored), len(scored)),
                "mean_std": _share(sum(row.reward_std for row in scored), len(scored)),
                "base_mean_reward": _share(sum(row.reward_mean for row in scored), len(scored)),
            }
        )
    return sorted(table, key=lambda entry: (-entry["learnable_share"], entry["reward"]))
