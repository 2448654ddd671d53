"""Environments of several turns, in which a model may call tools before it answers.

A call is what Qwen's chat template asks for, `<tool_call>{"name": …, "arguments": {…}}</tool_call>`; the
first call of a completion counts. What a tool gives back joins the chat as a tool message, images
included. A call that is wrong in any way is answered with words on what is wrong and costs nothing but the
turn. The completion of the last turn is always taken as the answer.

`trained_environment` is the same environment as TRL's `environment_factory` wants it, so that training and
rollouts see the same chats. Left out: tools that wait for something outside.
"""

from __future__ import annotations

import inspect
import json
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PIL.Image import Image

from geo_assets.gym.environment import (
    NOTHING_SEEN,
    Environment,
    Message,
    Observation,
    Outcome,
    State,
    answered,
)

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MOST_CALL_CHARACTERS = 2_000
Parts = list[Message]
"""Content of a tool message; an image part holds its image."""

_HEADER = (
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with "
    "function signatures within <tools></tools> XML tags:\n<tools>"
)
_FOOTER = (
    "\n</tools>\n\nFor each function call, return a json object with function name and arguments within "
    '<tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": '
    "<args-json-object>}\n</tool_call>"
)


class ToolUse(Environment):
    """Base of the environments with tools: say how an episode is asked, which tools there are, what pays."""

    @abstractmethod
    def ask(self, task: Any) -> Observation:
        """What the model sees of a task, without the tools."""

    @abstractmethod
    def tools(self) -> Mapping[str, Callable[..., Parts]]:
        """Tools by name: functions of the task and their arguments, typed and with a Google-style docstring.

        They raise ValueError with words for the model where an argument makes no sense.
        """

    @abstractmethod
    def score(self, task: Any, completion: str, progress: float) -> Mapping[str, Any]:
        """`total` and the parts of the answer that ends an episode."""

    def reset(self, task_index: int, progress: float = 1.0) -> tuple[State, Observation]:
        """See `Environment.reset`. The system message describes the tools, as the chat template would."""
        asked = self.ask(self.tasks[task_index])
        system, *rest = asked.messages
        described = tools_text([schema_of(tool) for tool in self.tools().values()])
        first = {"role": "system", "content": f"{system['content']}\n\n{described}"}
        observation = Observation((first, *rest), asked.images)
        return State(task_index, observation, progress=progress), observation

    def blind(self, task_index: int, progress: float = 1.0) -> State:
        """See `Environment.blind`."""
        return State(task_index, NOTHING_SEEN, progress=progress)

    def step(self, state: State, completion: str) -> Outcome:
        """See `Environment.step`."""
        said = answered(state, completion)
        call = parse_call(completion)
        if call is None or said.turn >= self.limits.max_turns:
            earned = dict(self.score(self.tasks[state.index], completion, state.progress))
            return Outcome(said, float(earned.pop("total")), True, {**earned, "tool_calls": said.turn - 1})
        parts, fault = self.call(self.tasks[state.index], *call)
        images = tuple(part["image"] for part in parts if part["type"] == "image")
        shown = [{"type": "image"} if part["type"] == "image" else part for part in parts]
        message: Message = {"role": "tool", "name": call[0], "content": shown}
        seen = Observation((*said.observation.messages, message), said.observation.images + images)
        after = State(said.index, seen, said.turn, said.progress, said.memory)
        zero = dict.fromkeys(self.parts, 0.0)
        return Outcome(after, 0.0, False, {**zero, "tool": call[0], "tool_fault": fault})

    def call(self, task: Any, name: str, arguments: Any) -> tuple[Parts, str]:
        """What a call gives back, and what was wrong with it (nothing: an empty text)."""
        tool = self.tools().get(name)
        if tool is None:
            fault = f"there is no tool {name[:40]!r}; there is: {', '.join(self.tools())}"
            return [{"type": "text", "text": fault}], fault
        try:
            inspect.signature(tool).bind(task, **(arguments if isinstance(arguments, dict) else {"": 0}))
            return tool(task, **arguments), ""
        except (TypeError, ValueError) as error:
            fault = f"error: {str(error)[:200]}"
            return [{"type": "text", "text": fault}], fault


def parse_call(completion: str) -> tuple[str, Any] | None:
    """(name, arguments) of the first tool call; None where there is none. A garbled one has no name.

    >>> parse_call('Look. <tool_call>{"name": "zoom", "arguments": {"x": 1}}</tool_call>')
    ('zoom', {'x': 1})
    >>> parse_call("no call"), parse_call("<tool_call>{]</tool_call>")
    (None, ('', None))
    """
    _, opened, rest = completion.partition(OPEN)
    body, closed, _ = rest.partition(CLOSE)
    if not (opened and closed):
        return None
    try:
        call = json.loads(body[:MOST_CALL_CHARACTERS])
        return str(call["name"]), call.get("arguments")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "", None


def call_text(name: str, **arguments: Any) -> str:
    """A call as a model writes it.

    >>> call_text("zoom", x=1)
    '<tool_call>\\n{"name": "zoom", "arguments": {"x": 1}}\\n</tool_call>'
    """
    return f"{OPEN}\n{json.dumps({'name': name, 'arguments': arguments})}\n{CLOSE}"


def schema_of(tool: Callable[..., Any]) -> dict[str, Any]:
    """The JSON schema that chat templates show of a tool, without its first argument, the task."""
    from transformers.utils import get_json_schema

    return get_json_schema(_without_task(tool))


def _without_task(tool: Callable[..., Any], call: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function with the name, docstring and arguments of a tool but for its task."""
    signature = inspect.signature(tool, eval_str=True)
    kept = list(signature.parameters.values())[1:]

    def bare(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs) if call else None

    bare.__name__, bare.__doc__ = tool.__name__, tool.__doc__
    bare.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    bare.__annotations__ = {p.name: p.annotation for p in kept} | {"return": signature.return_annotation}
    return bare


def tools_text(schemas: Sequence[Mapping[str, Any]]) -> str:
    """The tools block of Qwen's chat template, for prompts that are rendered without its `tools` argument."""
    lines = "".join("\n" + json.dumps(schema, ensure_ascii=False) for schema in schemas)
    return f"{_HEADER}{lines}{_FOOTER}"


def trained_environment(environment: ToolUse, fit: Callable[[Image], Image]) -> type:
    """A class for TRL's `environment_factory`: `reset` picks the task of a row, tools are its methods.

    `fit` brings an image to the size that the model sees.

    TRL gives every tool call of a turn to the methods, so the turn budget is `max_tool_calling_iterations`.
    Beyond `max_turns - 1` calls a method answers with words alone: a prompt holds so many images.
    """

    class Trained:
        def __init__(self) -> None:
            self.index, self.calls = 0, 0

        def reset(self, index: int = 0, **columns: Any) -> None:
            self.index, self.calls = index, 0

    def method(name: str, tool: Callable[..., Parts]) -> Callable[..., Any]:
        def call(self: Any, **arguments: Any) -> Parts:
            self.calls += 1
            if self.calls >= environment.limits.max_turns:
                return [{"type": "text", "text": "error: no calls are left, answer now"}]
            parts, _ = environment.call(environment.tasks[self.index], name, arguments)
            return [{**p, "image": fit(p["image"])} if p["type"] == "image" else p for p in parts]

        bare = _without_task(tool, call)
        parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
        signature = inspect.signature(bare)
        bare.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters + list(signature.parameters.values())
        )
        return bare

    for name, tool in environment.tools().items():
        setattr(Trained, name, method(name, tool))
    Trained.__name__ = Trained.__qualname__ = f"{environment.name}_environment".replace("-", "_")
    return Trained


def image_part(image: Image) -> Message:
    """An image as content of a tool message."""
    return {"type": "image", "image": image}
