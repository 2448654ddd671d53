"""What every backend agrees on: a request, how to sample, a completion, and `generate`.

A backend answers requests in order. Sampling is seeded per request and sample, never per batch, so the
batch size and a restart change nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from PIL.Image import Image

from geo_assets import progress

FinishReason = Literal["stop", "length"]


@dataclass(frozen=True)
class Sampling:
    """How one request is answered. `temperature` 0 is greedy, for one sample; `top_k` 0 keeps all tokens."""

    temperature: float = 0.0
    top_p: float = 1.0
    samples: int = 1
    max_tokens: int = 512
    seed: int = 0
    top_k: int = 0


GREEDY = Sampling()


@dataclass(frozen=True)
class Request:
    """One question. `key` names the row and seeds its samples; photos are paths or images already fitted."""

    key: str
    messages: Sequence[dict[str, Any]]
    photos: tuple[Path | Image, ...]
    sampling: Sampling = GREEDY


@dataclass(frozen=True)
class Completion:
    """One answer; `n_tokens` counts the end token where there is one."""

    text: str
    n_tokens: int
    finish_reason: FinishReason


class Backend(Protocol):
    """Anything that answers requests."""

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        """One list per request, in order, with `sampling.samples` completions each."""
        ...

    def close(self) -> None:
        """Free the accelerator. Two backends must not be open at once: each may take most of its memory."""
        ...


def report_answers(logger: logging.Logger, done: int, total: int, n_tokens: int, seconds: float) -> None:
    """Log how far a backend is: `done` of `total` answers, with `n_tokens` tokens, after `seconds`."""
    rate, pace = done / seconds, n_tokens / seconds
    left = (total - done) / rate
    figures = {
        "answers": done, "answers_per_second": rate, "tokens_per_second": pace, "seconds_left": left,
    }  # fmt: skip
    message = "%d of %d answers, %.1f a second, %.0f tokens a second, %.0f s left"
    progress.report(logger, figures, message, done, total, rate, pace, left)
