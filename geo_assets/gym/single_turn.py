"""Environments of one completion: say how a task is asked and what a completion earns; the rest is here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from geo_assets.gym.environment import NOTHING_SEEN, Environment, Observation, Outcome, State, answered


class SingleTurn(Environment):
    """One question, one completion, done."""

    @abstractmethod
    def ask(self, task: Any) -> Observation:
        """What the model sees of a task."""

    @abstractmethod
    def score(self, task: Any, completion: str) -> Mapping[str, float]:
        """`total`, the reward in [0, 1], and every one of `self.parts`."""

    def reset(self, task_index: int, progress: float = 1.0) -> tuple[State, Observation]:
        """See `Environment.reset`."""
        observation = self.ask(self.tasks[task_index])
        return State(task_index, observation, progress=progress), observation

    def blind(self, task_index: int, progress: float = 1.0) -> State:
        """See `Environment.blind`."""
        return State(task_index, NOTHING_SEEN, progress=progress)

    def step(self, state: State, completion: str) -> Outcome:
        """See `Environment.step`."""
        earned = dict(self.score(self.tasks[state.index], completion))
        return Outcome(answered(state, completion), float(earned.pop("total")), True, earned)
