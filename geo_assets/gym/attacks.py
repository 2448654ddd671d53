"""Canned completions that an environment must not pay for, and the table that shows it.

An attack plays a task without an honest look at its images. `at_most` is the mean reward that its
knowledge is honestly worth: 0 for text that is no answer, the share of the commonest answer for a constant.
Left out: attacks on places (`task/attacks.py` has those of the geospot environments).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from geo_assets.gym.environment import Environment
from geo_assets.task.attacks import TOLERANCE, AttackTable


@dataclass(frozen=True)
class Attack:
    """A canned policy. `play` gets the task's index and gives its completion, or one for each turn."""

    name: str
    play: Callable[[int], str | Sequence[str]]
    at_most: float = 0.0

    def turns(self, index: int) -> Sequence[str]:
        said = self.play(index)
        return [said] if isinstance(said, str) else said


def attack_table(environment: Environment, tasks: int) -> AttackTable:
    """Mean reward of every attack over the first `tasks` tasks; a part outside [0, 1] is a fault too."""
    n = min(tasks, len(environment))
    rows: list[dict[str, Any]] = []
    for attack in environment.attacks():
        earned = [play_script(environment, index, attack.turns(index)) for index in range(n)]
        score = sum(earned) / n
        passed = score <= attack.at_most + TOLERANCE and all(0.0 <= reward <= 1.0 for reward in earned)
        rows.append(_row(environment, attack.name, score, attack.at_most, passed))
    honest = [
        play_script(environment, index, [environment.solution(index)] * environment.limits.max_turns)
        for index in range(n)
    ]
    best = max((attack.at_most for attack in environment.attacks()), default=0.0)
    score = sum(honest) / n
    rows.append(_row(environment, "(the solution pays more)", score, best, score > best + TOLERANCE))
    failed = [row["attack"] for row in rows if not row["passed"]]
    message = f"{len(rows) - len(failed)} of {len(rows)} conditions hold on {n} tasks"
    if failed:
        message += f"; broken: {', '.join(failed[:5])}. Correct the environment's score"
    return AttackTable(rows, n, not failed, message)


def play_script(environment: Environment, index: int, turns: Sequence[str]) -> float:
    """The last reward of an episode whose completions are known; what is missing is answered with nothing."""
    state = environment.blind(index)
    for turn in range(environment.limits.max_turns):
        outcome = environment.step(state, turns[turn] if turn < len(turns) else "")
        if outcome.done:
            return outcome.reward
        state = outcome.state
    return 0.0


def _row(environment: Environment, attack: str, score: float, limit: float, passed: bool) -> dict[str, Any]:
    shown = {"score": round(score, 4), "honest": round(limit, 4), "passed": passed}
    return {"reward": environment.name, "attack": attack, "knowledge": "nothing", **shown}
