"""Any vision task as an environment: the same object serves rollouts, evaluation, attacks and training.

What an environment of your own needs is here; docs/environments.md walks through one.
"""

from __future__ import annotations

from geo_assets.gym.attacks import Attack
from geo_assets.gym.environment import Environment, Limits, Observation, Outcome, Spec, State, ask
from geo_assets.gym.registry import make, names
from geo_assets.gym.single_turn import SingleTurn

__all__ = [
    "Attack", "Environment", "Limits", "Observation", "Outcome", "SingleTurn", "Spec", "State", "ask",
    "make", "names",
]  # fmt: skip
