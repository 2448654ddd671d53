"""The bench's arithmetic, on a backend whose time is known."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from PIL import Image

from geo_assets.backends.base import Completion, Request, Sampling
from geo_assets.bench.backends import chart, figures_of


class Timed:
    """Takes 10 s for the prompts of a batch, 1 s for each further token; the first call 100 s more."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, 0

    def clock(self) -> float:
        return self.now

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        steps = max(request.sampling.max_tokens for request in requests)
        self.now += 10.0 + (steps - 1) + (100.0 if self.calls == 0 else 0.0)
        self.calls += 1
        return [[Completion("x", steps, "length")] for _ in requests]

    def close(self) -> None:
        pass


def test_rates_by_hand() -> None:
    backend = Timed()
    photo = Image.new("RGB", (32, 32))
    requests = [Request(f"{i}/0/0", [], (photo, photo), Sampling(max_tokens=11)) for i in range(4)]
    figures = figures_of(backend, requests, runs=3, clock=backend.clock)
    assert figures == {
        "first_call_seconds": 120.0,
        "first_token_ms": [10_000.0] * 3,
        "steady_tokens_per_second": [4.0] * 3,  # 4 requests, a step a second
        "tokens_per_second": [2.2] * 3,  # 44 tokens in 20 s
        "images_per_second": [0.4] * 3,
    }


def test_the_chart_shows_every_backend_measured() -> None:
    figures = {
        "runs": 3,
        "transformers_images_per_second": [4.0, 3.0, 5.0],
        "vllm_images_per_second": [8.0, 7.0, 9.0],
    }
    drawn = chart(figures)
    assert drawn.count("<circle") == 2 and re.search(">vllm<", drawn)
    assert "a second" in chart({"runs": 3})


def test_it_is_a_subject_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    from geo_assets.__main__ import main

    with pytest.raises(SystemExit):
        main(["bench", "backends", "--help"])
    assert "--chart" in capsys.readouterr().out
