"""What an environment is: numbered tasks, `reset` and `step`, declared limits, and nothing hidden.

States are frozen values, so an episode can be replayed, copied or run beside a thousand others. A step
never raises on account of what a model wrote: a completion is text, and any text has a reward in [0, 1].

Left out: who writes the completions (`play.py`), and pixels budgets: an observation carries images
as they are, and the loop brings them to the size that the model sees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from PIL.Image import Image

from geo_assets.settings import Task

if TYPE_CHECKING:
    from geo_assets.gym.attacks import Attack
    from geo_assets.task.attacks import AttackTable

Split = Literal["train", "test"]
Message = dict[str, Any]


@dataclass(frozen=True)
class Spec:
    """What an environment is built from. Equal specs give equal tasks.

    `size` is the number of tasks wanted (a data set may hold fewer), `task` the profile's section with
    prompt, reward and photo sizes, `options` whatever the environment itself declares.
    """

    split: Split = "test"
    size: int = 64
    seed: int = 0
    task: Task = field(default_factory=Task)
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """`max_tokens` bounds one completion, `max_turns` the completions of an episode."""

    max_tokens: int = 512
    max_turns: int = 1


@dataclass(frozen=True)
class Observation:
    """What a model sees: the chat so far, and one image (or its path) per image placeholder, in order."""

    messages: tuple[Message, ...]
    images: tuple[Image | Path, ...] = ()


NOTHING_SEEN = Observation(())


@dataclass(frozen=True)
class State:
    """Where an episode stands after `turn` completions.

    `progress` is the share of training done, 0 to 1, for rewards that change on the way. It comes from
    the trainer's own step counter, so a resumed run continues in the middle of a stage.
    """

    index: int
    observation: Observation
    turn: int = 0
    progress: float = 1.0
    memory: Any = None


class Outcome(NamedTuple):
    """What a step gives. `info` holds the reward's parts by name, and words under other names."""

    state: State
    reward: float
    done: bool
    info: Mapping[str, Any]


class Environment(ABC):
    """Base of every environment. Subclasses name themselves and say how an episode begins and goes on."""

    name: ClassVar[str]
    about: ClassVar[str]
    limits: Limits = Limits()
    parts: ClassVar[tuple[str, ...]] = ("format",)
    """Numbers in [0, 1] that every `info` of a finished episode has, beside the reward itself. `format`
    (could the completion be read at all?) is always one of them."""
    options: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Options that `Spec.options` may set, with one sentence on each."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.tasks: Sequence[Any] = self.make_tasks()

    @property
    def split(self) -> Split:
        return self.spec.split

    def __len__(self) -> int:
        return len(self.tasks)

    @abstractmethod
    def make_tasks(self) -> Sequence[Any]:
        """The tasks of `self.spec`: seeded, sorted, in the same order each time."""

    @abstractmethod
    def reset(self, task_index: int, progress: float = 1.0) -> tuple[State, Observation]:
        """Begin task `task_index`, 0 ≤ i < len(self)."""

    @abstractmethod
    def step(self, state: State, completion: str) -> Outcome:
        """Take one completion. The reward is in [0, 1], and 0 while the episode goes on."""

    @abstractmethod
    def attacks(self) -> Sequence[Attack]:
        """Canned completions that must not pay."""

    @abstractmethod
    def solution(self, task_index: int) -> str:
        """A completion that earns the highest reward, for warm-ups and tests; no model ever sees it."""

    def blind(self, task_index: int, progress: float = 1.0) -> State:
        """The state at the beginning of a task for who only scores it; need not look at any image."""
        return self.reset(task_index, progress)[0]

    def reset_many(
        self, task_indices: Sequence[int], progress: float = 1.0
    ) -> list[tuple[State, Observation]]:
        """`reset` for many episodes at once."""
        return [self.reset(index, progress) for index in task_indices]

    def step_many(self, states: Sequence[State], completions: Sequence[str]) -> list[Outcome]:
        """`step` for many episodes at once. Override it where many are cheaper than one by one."""
        return [self.step(*pair) for pair in zip(states, completions, strict=True)]

    def attack_table(self, tasks: int = 200) -> AttackTable:
        """Every attack on the first `tasks` tasks, beside what it may earn at most."""
        from geo_assets.gym.attacks import attack_table

        return attack_table(self, tasks)

    def render(self, state: State) -> str:
        """The episode so far as text, for logs: images appear as `[image]`."""
        lines = []
        for message in state.observation.messages:
            lines.append(f"{message['role']}: {text_of(message)}")
        return "\n".join(lines)

    def curriculum(
        self, task_indices: Sequence[int], completions: Sequence[str], progress: float
    ) -> Mapping[str, float]:
        """Figures of a batch for the training log, where the reward changes on the way: weights, levels."""
        return {}

    def truth(self, task_index: int) -> Mapping[str, Any]:
        """What a page about the episode may show as the right answer. Coordinates as latitude, longitude."""
        return {}


def ask(text: str, images: Sequence[Image | Path], system: str | None = None) -> Observation:
    """A question about images in the conversational form: the images first, then the text.

    >>> [part["type"] for part in ask("True or false?", ["a.jpg", "b.jpg"]).messages[-1]["content"]]
    ['image', 'image', 'text']
    """
    content: list[Message] = [{"type": "image"} for _ in images]
    content.append({"type": "text", "text": text})
    first = ({"role": "system", "content": system},) if system else ()
    return Observation((*first, {"role": "user", "content": content}), tuple(images))


def text_of(message: Message) -> str:
    """A message's content as one text.

    >>> text_of({"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Where?"}]})
    '[image] Where?'
    """
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join("[image]" if part["type"] == "image" else part["text"] for part in content)


def answered(state: State, completion: str, memory: Any = None) -> State:
    """The state after a completion that ends the episode or a turn: it joins the chat."""
    said: Message = {"role": "assistant", "content": completion}
    seen = Observation((*state.observation.messages, said), state.observation.images)
    return State(state.index, seen, state.turn + 1, state.progress, memory or state.memory)
