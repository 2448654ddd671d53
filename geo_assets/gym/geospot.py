"""`geospot`: where was this photo taken? The product's own task, with any of its rewards.

The reward is the one that `Spec.task` names; a scheduled one (`hierarchical`) moves from coarse to fine
with the training progress that the state carries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from geo_assets.geo.countries import country_name
from geo_assets.gym.attacks import Attack
from geo_assets.gym.environment import Limits, Observation, Outcome, Spec, State, answered
from geo_assets.gym.scenes import SET_OPTION, Picture, Scene, scenes
from geo_assets.gym.single_turn import SingleTurn
from geo_assets.task import prompt
from geo_assets.task.attacks import AttackTable, answer_text, require_sound, run_attacks
from geo_assets.task.rewards import get_reward
from geo_assets.task.terms import Terms


class GeoSpot(SingleTurn):
    """One photo, one answer in the task's form."""

    name = "geospot"
    about = "where was this photo taken? Thinking, then country and coordinates"
    parts = ("format", "country", "dist")
    options: ClassVar[Mapping[str, str]] = MappingProxyType({"set": SET_OPTION})

    def __init__(self, spec: Spec) -> None:
        super().__init__(spec)
        self.limits = Limits(spec.task.max_completion_length)
        self.reward = require_sound(get_reward(spec.task.reward))

    def make_tasks(self) -> Sequence[Scene]:
        """See `Environment.make_tasks`."""
        return scenes(self.spec)

    def pictures(self, task: Scene) -> tuple[Picture, ...]:
        """The pictures of a task that the prompt carries."""
        return task.pictures()[:1]

    def ask(self, task: Scene) -> Observation:
        """See `SingleTurn.ask`."""
        pictures = self.pictures(task)
        return Observation(tuple(prompt.messages(self.spec.task.prompt, len(pictures))), pictures)

    def score(self, task: Scene, completion: str) -> Mapping[str, float]:
        """See `SingleTurn.score`, at the end of training."""
        return parts_of(self.terms([task], [completion], 1.0)[0])

    def terms(self, tasks: Sequence[Scene], completions: Sequence[str], progress: float) -> list[Terms]:
        """The reward's terms of many completions at once."""
        return self.reward.score(completions, *_places(tasks), progress)

    def curriculum(
        self, task_indices: Sequence[int], completions: Sequence[str], progress: float
    ) -> Mapping[str, float]:
        """See `Environment.curriculum`."""
        if self.reward.curriculum is None:
            return {}
        tasks = [self.tasks[index] for index in task_indices]
        return self.reward.curriculum(completions, *_places(tasks), progress)

    def step(self, state: State, completion: str) -> Outcome:
        """See `Environment.step`."""
        return self.step_many([state], [completion])[0]

    def step_many(self, states: Sequence[State], completions: Sequence[str]) -> list[Outcome]:
        """See `Environment.step_many`: one call of the reward for each stage of training among the states."""
        earned: dict[int, Terms] = {}
        for progress in dict.fromkeys(state.progress for state in states):
            places = [place for place, state in enumerate(states) if state.progress == progress]
            tasks = [self.tasks[states[place].index] for place in places]
            texts = [completions[place] for place in places]
            earned |= dict(zip(places, self.terms(tasks, texts, progress), strict=True))
        return [
            Outcome(answered(state, text), earned[place].total, True, _info(earned[place]))
            for place, (state, text) in enumerate(zip(states, completions, strict=True))
        ]

    def attacks(self) -> Sequence[Attack]:
        """None of its own: `attack_table` runs the task's suite, stage by stage."""
        return ()

    def attack_table(self, tasks: int = 200) -> AttackTable:
        """The task's attack suite on this environment's places."""
        rows = [
            {"latitude": task.latitude, "longitude": task.longitude, "country_iso2": task.country_iso2}
            for task in self.tasks[:tasks]
        ]
        return run_attacks(rows, [self.reward])

    def solution(self, task_index: int) -> str:
        """See `Environment.solution`."""
        task = self.tasks[task_index]
        return answer_text(country_name(task.country_iso2), task.latitude, task.longitude)

    def truth(self, task_index: int) -> Mapping[str, Any]:
        """See `Environment.truth`."""
        task = self.tasks[task_index]
        return {"latitude": task.latitude, "longitude": task.longitude, "country_iso2": task.country_iso2}


def _places(tasks: Sequence[Scene]) -> tuple[list[float], list[float], list[str]]:
    """Latitudes, longitudes and countries."""
    return (
        [task.latitude for task in tasks],
        [task.longitude for task in tasks],
        [task.country_iso2 for task in tasks],
    )


def parts_of(terms: Terms) -> dict[str, float]:
    """What `score` gives of a reward's terms."""
    return {"total": terms.total, "format": terms.format, "country": terms.country, "dist": terms.dist}


def _info(terms: Terms) -> dict[str, Any]:
    parts = parts_of(terms)
    parts.pop("total")
    return {**parts, "d_km": terms.d_km, "geoscore": terms.geoscore}
