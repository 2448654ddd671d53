"""The one loop: episodes of an environment, played by a backend in batches, with everything that was said.

Sampling is seeded by task, turn and sample, so neither the batch size nor other episodes change a
completion. Images are brought to the model's photo size here, once. Left out: learning (`training.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image

from geo_assets.backends.base import Backend, Completion, Request, Sampling
from geo_assets.gym.environment import Environment, Message, State, text_of
from geo_assets.gym.policies import key_of
from geo_assets.models import loading
from geo_assets.models.loading import PIXELS_PER_CELL
from geo_assets.settings import Task

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Turn:
    """One completion and what came of it. `new_messages` is what the model saw since the last turn."""

    new_messages: tuple[Message, ...]
    images: tuple[Image.Image, ...]
    completion: str
    n_tokens: int
    finish_reason: str
    visual_tokens: int
    """Visual tokens of the whole prompt of this turn."""
    info: Mapping[str, Any]


@dataclass(frozen=True)
class Episode:
    """One episode from its first observation to its reward."""

    environment: str
    index: int
    sample: int
    turns: tuple[Turn, ...]
    reward: float
    truth: Mapping[str, Any]

    @property
    def info(self) -> Mapping[str, Any]:
        """What the last step said."""
        return self.turns[-1].info

    @property
    def truncated(self) -> bool:
        """Whether the last completion ran into its token limit."""
        return self.turns[-1].finish_reason == "length"

    def to_record(self) -> dict[str, Any]:
        """The episode as JSON values, without its images."""
        return {
            "environment": self.environment,
            "index": self.index,
            "sample": self.sample,
            "reward": round(self.reward, 6),
            **{name: _plain(value) for name, value in self.info.items()},
            "truth": dict(self.truth),
            "turns": [
                {
                    "seen": [_text_only(message) for message in turn.new_messages],
                    "images": [list(image.size) for image in turn.images],
                    "visual_tokens": turn.visual_tokens,
                    "completion": turn.completion,
                    "n_tokens": turn.n_tokens,
                    "finish_reason": turn.finish_reason,
                }
                for turn in self.turns
            ],
        }


class Player:
    """Plays episodes of an environment with a backend."""

    def __init__(self, environment: Environment, backend: Backend, task: Task, sampling: Sampling) -> None:
        self._environment, self._backend, self._task = environment, backend, task
        limit = min(sampling.max_tokens, environment.limits.max_tokens)
        self._sampling = replace(sampling, samples=1, max_tokens=limit)

    def play(self, indices: Sequence[int], samples: int = 1, batch_size: int = 64) -> Iterator[Episode]:
        """Episodes in order of task, then sample; a batch of them is played together, turn by turn."""
        wanted = [(index, sample) for index in indices for sample in range(samples)]
        began = time.monotonic()
        for first in range(0, len(wanted), batch_size):
            batch = wanted[first : first + batch_size]
            yield from self._play_batch(batch)
            done, seconds = first + len(batch), time.monotonic() - began
            if done < len(wanted):
                logger.info(
                    "%s: %d of %d episodes, %.1f a second, %.0f s left",
                    self._environment.name, done, len(wanted), done / seconds,
                    (len(wanted) - done) * seconds / done,
                )  # fmt: skip

    def _play_batch(self, wanted: Sequence[tuple[int, int]]) -> list[Episode]:
        environment = self._environment
        begun = environment.reset_many([index for index, _ in wanted])
        running = [
            _Running(index, sample, state) for (index, sample), (state, _) in zip(wanted, begun, strict=True)
        ]
        while active := [episode for episode in running if not episode.done]:
            requests = [self._request(episode) for episode in active]
            completions = [answers[0] for answers in self._backend.generate(requests)]
            states = [episode.state for episode in active]
            outcomes = environment.step_many(states, [completion.text for completion in completions])
            for episode, completion, outcome in zip(active, completions, outcomes, strict=True):
                episode.take(completion, outcome)
        return [
            Episode(environment.name, e.index, e.sample, tuple(e.turns), e.reward, environment.truth(e.index))
            for e in running
        ]

    def _request(self, episode: _Running) -> Request:
        observation = episode.state.observation
        new = observation.images[len(episode.images) :]
        episode.images += [fit(image, self._task) for image in new]
        key = key_of(episode.index, episode.state.turn, episode.sample)
        return Request(key, observation.messages, tuple(episode.images), self._sampling)


class _Running:
    """An episode under way."""

    def __init__(self, index: int, sample: int, state: State) -> None:
        self.index, self.sample, self.state = index, sample, state
        self.images: list[Image.Image] = []
        self.turns: list[Turn] = []
        self.seen = self.shown = 0
        self.reward, self.done = 0.0, False

    def take(self, completion: Completion, outcome: Any) -> None:
        """Note a turn and go on from its outcome."""
        messages = self.state.observation.messages
        cells = sum(image.width * image.height // PIXELS_PER_CELL for image in self.images)
        self.turns.append(
            Turn(
                messages[self.seen :],
                tuple(self.images[self.shown :]),
                completion.text,
                completion.n_tokens,
                completion.finish_reason,
                cells,
                outcome.info,
            )
        )
        self.seen, self.shown = len(messages) + 1, len(self.images)
        self.state, self.reward, self.done = outcome.state, outcome.reward, outcome.done


def fit(image: Image.Image | Path, task: Task) -> Image.Image:
    """An image at the size that the model sees it in."""
    if isinstance(image, Path):
        return loading.open_photo(image, task.min_cells, task.max_cells)
    return loading.fit(image, task.min_cells, task.max_cells)


def _text_only(message: Message) -> Message:
    return {"role": message["role"], "text": text_of(message)}


def _plain(value: Any) -> Any:
    return round(value, 6) if isinstance(value, float) else value
