"""An environment as TRL trains on it: rows, reward functions, and for tools an environment factory.

The reward is what `step` gives for a completion; each part of the environment is a function of weight 0
with a curve of its own. Training progress comes from the trainer's step counter, which a checkpoint
restores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from geo_assets.errors import ProfileError
from geo_assets.gym.environment import Environment, Message, Observation
from geo_assets.gym.tool_use import ToolUse
from geo_assets.task.rewards import TrainingClock, completion_text, log_curriculum

RewardFunction = Callable[..., list[float]]
ENOUGH_TASKS = 200
"""Tasks that attacks are tried on; on fewer a lucky one may pass for a fault of the reward."""


def require_sound(environment: Environment) -> Environment:
    """The environment itself, once none of its attacks pays.

    Raises:
        ProfileError: one does.
    """
    table = environment.attack_table(ENOUGH_TASKS)
    if not table.passed:
        hint = ""
        if table.n_gold < ENOUGH_TASKS:
            hint = f"; on {table.n_gold} tasks it may be chance: gym.train_tasks: {ENOUGH_TASKS} tells"
        raise ProfileError(f"environment {environment.name!r} can be gamed: {table.message}{hint}")
    return environment


def reward_functions(environment: Environment) -> tuple[list[RewardFunction], list[float]]:
    """Functions and weights for `GRPOTrainer`: the reward at weight 1, each part at weight 0.

    Their names are `total_reward` and `<part>_reward`; rows need the column `index`.
    """
    memo: dict[Any, list[Mapping[str, float]]] = {}

    def scored(
        texts: Sequence[str], index: Sequence[int], columns: Mapping[str, Any]
    ) -> list[Mapping[str, float]]:
        progress, state = 1.0, columns.get("trainer_state")
        if state is not None:
            progress = TrainingClock(state.max_steps, state.global_step).progress
        key = (tuple(texts), tuple(index), progress)
        if key not in memo:
            memo.clear()
            memo[key] = score_answers(environment, texts, index, progress)
            if log := columns.get("log_metric"):
                log_curriculum(log, environment.curriculum(index, texts, progress))
        return memo[key]

    def function(part: str) -> RewardFunction:
        def score(completions: Sequence[Any], index: Sequence[int], **columns: Any) -> list[float]:
            texts = [last_text(completion) for completion in completions]
            return [row[part] for row in scored(texts, index, columns)]

        score.__name__ = score.__qualname__ = f"{part}_reward"
        return score

    return [function(part) for part in ("total", *environment.parts)], [1.0] + [0.0] * len(environment.parts)


def score_answers(
    environment: Environment, texts: Sequence[str], index: Sequence[int], progress: float
) -> list[Mapping[str, float]]:
    """`total` and parts of completions that end their episodes."""
    last = environment.limits.max_turns - 1
    states = [replace(environment.blind(int(i), progress), turn=last) for i in index]
    outcomes = environment.step_many(states, texts)
    return [
        {
            "total": outcome.reward,
            **{part: float(outcome.info.get(part) or 0.0) for part in environment.parts},
        }
        for outcome in outcomes
    ]


def last_text(completion: Any) -> str:
    """The text of the last thing the model said, in a string or in messages with tool answers between.

    >>> last_text([{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}])
    'a'
    """
    if isinstance(completion, str):
        return completion
    said = [message for message in completion if message.get("role", "assistant") == "assistant"]
    return completion_text(said[-1:])


def prompt_of(environment: Environment, observation: Observation) -> list[Message]:
    """The chat that TRL is given: for tools, TRL adds their description itself."""
    messages = [dict(message) for message in observation.messages]
    if isinstance(environment, ToolUse):
        messages[0] = {**messages[0], "content": str(messages[0]["content"]).partition("\n\n# Tools")[0]}
    return messages
