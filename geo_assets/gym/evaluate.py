"""How well episodes went: mean reward and parts with 95% intervals, and what changed between two policies.

Samples of one task belong together: intervals resample tasks, not completions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from geo_assets.gym.play import Episode
from geo_assets.task.intervals import mean_interval, paired


class Earned(NamedTuple):
    """All that a comparison needs of an episode: which sample of its task it was, and its reward."""

    sample: int
    reward: float


def rewards(episodes: Sequence[Episode | Earned]) -> np.ndarray:
    """Rewards of shape (tasks, samples), in order of task and sample."""
    samples = 1 + max(episode.sample for episode in episodes)
    return np.array([episode.reward for episode in episodes]).reshape(-1, samples)


def summarise(episodes: Sequence[Episode], parts: Sequence[str]) -> dict[str, Any]:
    """Plain figures of episodes: mean reward with its interval, each part, lengths, truncation."""
    earned = rewards(episodes)
    found: dict[str, Any] = {
        "n": len(earned),
        "samples": earned.shape[1],
        "mean_reward": float(earned.mean()),
        "interval": [float(bound) for bound in mean_interval(earned)],
    }
    for part in parts:
        values = [float(episode.info.get(part) or 0.0) for episode in episodes]
        found[f"{part}_rate" if part == "format" else part] = sum(values) / len(values)
    found["truncated_rate"] = sum(episode.truncated for episode in episodes) / len(episodes)
    found["mean_turns"] = sum(len(episode.turns) for episode in episodes) / len(episodes)
    tokens = sum(turn.n_tokens for episode in episodes for turn in episode.turns)
    found["mean_completion_tokens"] = tokens / len(episodes)
    return found


def compare(before: Sequence[Episode | Earned], after: Sequence[Episode | Earned]) -> dict[str, Any]:
    """The change of the mean reward over the same tasks (`task.intervals.paired`)."""
    return paired(rewards(before), rewards(after))
