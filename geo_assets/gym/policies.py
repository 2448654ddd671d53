"""Who writes the completions: a backend with a model, or a script, or a script that a model goes on from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geo_assets.backends.base import Backend, Completion, Request

Script = Callable[[int, int], str | None]
"""(task index, turn) to a completion, or None where the model is to answer."""


class Scripted:
    """A backend that answers from a script, and asks another backend where the script has no line."""

    def __init__(self, script: Script, backend: Backend | None = None) -> None:
        self._script, self._backend = script, backend

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        """See `Backend.generate`. Request keys are those of `play.key_of`."""
        lines = [self._script(*place_of(request.key)) for request in requests]
        open_ = [request for request, line in zip(requests, lines, strict=True) if line is None]
        if open_ and self._backend is None:
            raise ValueError(f"the script has no line for {open_[0].key}, and there is no model behind it")
        asked = iter(self._backend.generate(open_) if self._backend and open_ else [])
        return [
            next(asked)
            if line is None
            else [Completion(line, len(line.split()), "stop")] * request.sampling.samples
            for request, line in zip(requests, lines, strict=True)
        ]

    def close(self) -> None:
        """See `Backend.close`."""
        if self._backend is not None:
            self._backend.close()


def key_of(index: int, turn: int, sample: int = 0) -> str:
    """The key of a request: it seeds the request's samples, whatever batch it is in.

    >>> key_of(3, 1), place_of(key_of(3, 1, 2))
    ('3/1/0', (3, 1))
    """
    return f"{index}/{turn}/{sample}"


def place_of(key: str) -> tuple[int, int]:
    """(task index, turn) of a key."""
    index, turn, *_ = key.split("/")
    return int(index), int(turn)
