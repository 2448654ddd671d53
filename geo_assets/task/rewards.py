"""What a completion earns: named, pure functions from text and truth to numbers in [0, 1].

The formulas live in `terms.py` and `hierarchy.py`; here are their names, the dict form that
evaluation uses and the functions that TRL calls. A reward is never None for an unparsed
completion, but 0. `trl_reward_functions` refuses a reward that a canned policy can game
(`attacks.py`), so that one cannot be trained on.

Left out: anything that judges the thinking text, and length penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from geo_assets.errors import ProfileError
from geo_assets.task.hierarchy import curriculum, score_levels
from geo_assets.task.terms import (
    Reward,
    Terms,
    bands_dist,
    by_distance,
    dist_only,
    geoguessr_dist,
    geoguessr_total,
    region_dist,
)

REWARDS: dict[str, Reward] = {
    reward.name: reward
    for reward in (
        Reward(
            "geoguessr",
            "0.10 format + 0.30 country + 0.60 distance with decays of 1492.7 and 250 km",
            by_distance(geoguessr_dist, geoguessr_total),
        ),
        Reward(
            "bands",
            "distance alone, piecewise linear through 750, 2500 and 20000 km",
            by_distance(bands_dist, dist_only),
        ),
        Reward(
            "region",
            "distance alone, exp(-d/200 km), nothing beyond 2000 km",
            by_distance(region_dist, dist_only),
        ),
        Reward(
            "hierarchical",
            "country, region, city and coordinates with decays of 2000, 500, 100 and 25 km, coarse to fine",
            score_levels,
            scheduled=True,
            curriculum=curriculum,
        ),
    )
}


def get_reward(name: str) -> Reward:
    """The reward of a name, sound or not (`attacks.require_sound` tells).

    Raises:
        ProfileError: there is none of that name.
    """
    if name not in REWARDS:
        raise ProfileError(f"task.reward is {name!r}: choose one of {', '.join(sorted(REWARDS))}")
    return REWARDS[name]


def components(
    text: str, latitude: float, longitude: float, country_iso2: str | None, reward: str = "geoguessr"
) -> dict[str, float | None]:
    """Every term of one completion as a plain dict: format, country, dist, total, d_km, geoscore.

    Args:
        text: the completion.
        latitude, longitude: the true place in degrees.
        country_iso2: the true country.
        reward: a name in `REWARDS`.

    Raises:
        ProfileError: the reward is unknown.
        DataError: the true place is not on the globe.

    >>> answer = '<answer>{"country": "Kenya", "lat": -1.0, "lon": 37.0}</answer>'
    >>> components(answer, -1.0, 37.0, "KE")["total"]
    1.0
    >>> components("no idea", -1.0, 37.0, "KE")
    {'format': 0.0, 'country': 0.0, 'dist': 0.0, 'total': 0.0, 'd_km': None, 'geoscore': 0.0}
    """
    return get_reward(reward).score([text], [latitude], [longitude], [country_iso2])[0]._asdict()


@dataclass
class TrainingClock:
    """Where training stands, in optimizer steps, for rewards that change on the way.

    Set `step` from the trainer's own counter (`state.global_step`), which a checkpoint restores,
    and a resumed run blends as an uninterrupted one does. A count of calls would start again.
    """

    total_steps: int
    step: int = 0

    @property
    def progress(self) -> float:
        """Share of training done, in [0, 1].

        >>> TrainingClock(total_steps=200, step=50).progress
        0.25
        """
        return min(1.0, max(0.0, self.step / max(1, self.total_steps)))


CURRICULUM = "curriculum"
"""Prefix of the training log's figures of a scheduled reward."""

DIAGNOSTICS = ("format", "country", "dist", "geoscore")
"""Terms that TRL logs as curves of their own, at weight 0."""


def trl_reward_functions(
    name: str, schedule: TrainingClock | None = None
) -> tuple[list[Callable[..., list[float]]], list[float]]:
    """Reward functions and weights for `GRPOTrainer`: the total at weight 1, its terms at weight 0.

    Each has the form `f(prompts, completions, latitude, longitude, country_iso2, **columns)`; the
    text is `completion[0]["content"]`. Their names are `total_reward`, `format_reward`,
    `country_reward`, `dist_reward` and `geoscore`.

    Args:
        name: a name in `REWARDS`.
        schedule: a clock that a trainer callback sets; None reads the `trainer_state` that TRL
            passes along (`global_step` of `max_steps`), and without one takes the end of training.

    Raises:
        ProfileError: the reward is unknown, or a canned policy games it.
    """
    from geo_assets.task.attacks import require_sound  # attacks.py scores the rewards of this module

    chosen = require_sound(get_reward(name))
    memo: dict[tuple, list[Terms]] = {}

    def scored(completions, latitude, longitude, country_iso2, columns) -> list[Terms]:
        texts = tuple(completion_text(completion) for completion in completions)
        progress = _progress(schedule, columns.get("trainer_state"))
        key = (texts, tuple(latitude), tuple(longitude), tuple(country_iso2), progress)
        if key not in memo:
            memo.clear()
            memo[key] = chosen.score(texts, latitude, longitude, country_iso2, progress)
            if chosen.curriculum and (log := columns.get("log_metric")):
                figures = chosen.curriculum(texts, latitude, longitude, country_iso2, progress)
                log_curriculum(log, figures)
        return memo[key]

    def function(term: str, label: str) -> Callable[..., list[float]]:
        def score(prompts, completions, latitude, longitude, country_iso2, **columns) -> list[float]:
            rows = scored(completions, latitude, longitude, country_iso2, columns)
            return [getattr(row, term) for row in rows]

        score.__name__ = score.__qualname__ = label
        return score

    labels = [("total", "total_reward")]
    labels += [(term, term if term == "geoscore" else f"{term}_reward") for term in DIAGNOSTICS]
    return [function(*pair) for pair in labels], [1.0] + [0.0] * len(DIAGNOSTICS)


def log_curriculum(log: Callable[[str, float], None], figures: Mapping[str, float]) -> None:
    """Hand the figures of a scheduled reward to TRL's `log_metric`, under `curriculum/`."""
    for name, value in figures.items():
        log(f"{CURRICULUM}/{name}", value)


def _progress(schedule: TrainingClock | None, trainer_state: Any) -> float:
    if schedule is not None:
        return schedule.progress
    if trainer_state is None:
        return 1.0
    return TrainingClock(total_steps=trainer_state.max_steps, step=trainer_state.global_step).progress


def completion_text(completion: object) -> str:
    """The text of a completion in TRL's forms: a string, or messages whose content is text or parts.

    >>> completion_text([{"role": "assistant", "content": [{"type": "text", "text": "hi"}]}])
    'hi'
    """
    if isinstance(completion, (list, tuple)):
        content = completion[0].get("content") if completion and isinstance(completion[0], dict) else ""
    else:
        content = completion
    if isinstance(content, (list, tuple)):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
