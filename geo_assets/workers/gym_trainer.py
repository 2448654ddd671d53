"""The main line's trainer for any environment: samples show whole episodes, and no country is counted."""

from __future__ import annotations

from typing import Any

from geo_assets.gym.environment import text_of
from geo_assets.workers.grpo_trainer import GeoTrainer


class GymTrainer(GeoTrainer):
    """See the module."""

    @staticmethod
    def text_of(completion: Any) -> str:
        """Everything that was said in an episode, tool calls and tool answers included."""
        if isinstance(completion, str):
            return completion
        return "\n".join(_words(message) for message in completion)

    def _note_guesses(self, texts: list[str]) -> None:
        """Answers here are not countries."""


def _words(message: dict[str, Any]) -> str:
    said = text_of({**message, "content": message.get("content") or ""})
    calls = [str(call.get("function", call)) for call in message.get("tool_calls") or ()]
    return "\n".join([*([said] if said else []), *calls])
