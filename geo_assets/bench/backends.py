"""`bench backends`: first-token latency, tokens/s and images/s of each backend on one model and its prompts.

Greedy answers to the tasks of an environment, several runs each; figures are [median, lowest, highest] of
the runs. First token: one request alone, from call to answer. Steady: tokens after the first of a full
batch, over the time beyond the batch's first tokens. Left out of every figure, and stated apart: loading
the model, and the first call, in which kernels compile and caches fill. A backend that is not installed is
named and passed over.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from geo_assets.backends.base import Backend, Request, Sampling

logger = logging.getLogger(__name__)

PACKAGES = {"transformers": "transformers", "vllm": "vllm"}
RATES = {
    "first_token_ms": "first token, ms",
    "steady_tokens_per_second": "tokens/s after the first",
    "tokens_per_second": "tokens/s",
    "images_per_second": "images/s",
}
CHART_WIDTH_PX = 720


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", type=Path, metavar="DIR", help="model folder (default: the profile's)")
    parser.add_argument(
        "--backend", action="append", choices=sorted(PACKAGES), help="only this one (repeatable)"
    )
    parser.add_argument(
        "--env", default="geospot", metavar="NAME", help="environment that asks (default geospot)"
    )
    parser.add_argument("--requests", type=int, default=32, metavar="N", help="requests of a batch")
    parser.add_argument("--tokens", type=int, default=48, metavar="N", help="most tokens of an answer")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="runs of each figure")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="write an SVG chart")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures by name; those of a backend begin with its name."""
    from geo_assets import backends
    from geo_assets.cli.rollout import profile_model
    from geo_assets.profile import load_profile

    settings = load_profile()
    model = arguments.model or profile_model(settings)
    requests = requests_of(arguments.env, settings.task, arguments.requests, arguments.tokens)
    images = sum(len(request.photos) for request in requests)
    figures: dict[str, Any] = {
        "requests": len(requests), "images": images, "most_tokens": arguments.tokens, "runs": arguments.runs,
        "left_out": "loading the model and the first call (kernels compile, caches fill); shown as *_seconds",
    }  # fmt: skip
    for name in arguments.backend or sorted(PACKAGES):
        if importlib.util.find_spec(PACKAGES[name]) is None:
            figures[f"{name}_missing"] = "not installed"
            continue
        runtime = settings.runtime.model_copy(update={"backend": name})
        began = time.perf_counter()
        backend = backends.make(runtime, settings.task, model)
        figures[f"{name}_load_seconds"] = round(time.perf_counter() - began, 2)
        found = figures_of(backend, requests, arguments.runs)
        figures |= {f"{name}_{key}": value for key, value in found.items()}
        backend.close()
    if arguments.chart:
        arguments.chart.write_text(chart(figures), encoding="utf-8")
    return figures


def requests_of(environment: str, task: Any, n: int, tokens: int) -> list[Request]:
    """The first questions of an environment's test tasks."""
    from geo_assets.gym import Spec, make
    from geo_assets.gym.play import fit
    from geo_assets.gym.policies import key_of

    env = make(environment, Spec("test", n, 0, task))
    made = []
    for index in range(n):
        _, seen = env.reset(index)
        photos = tuple(fit(image, task) for image in seen.images)
        made.append(Request(key_of(index, 0), seen.messages, photos, Sampling(max_tokens=tokens)))
    return made


def figures_of(
    backend: Backend, requests: Sequence[Request], runs: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, Any]:
    """Rates of a loaded backend, [median, lowest, highest] of the runs."""
    one_token = [replace(r, sampling=replace(r.sampling, max_tokens=1)) for r in requests]

    def timed(batch: Sequence[Request]) -> tuple[float, int]:
        began = clock()
        answers = backend.generate(batch)
        return clock() - began, sum(completion.n_tokens for found in answers for completion in found)

    first_call, _ = timed(requests)
    timed(one_token[:1])
    rows: dict[str, list[float]] = {name: [] for name in RATES}
    images = sum(len(request.photos) for request in requests)
    for run in range(runs):
        alone, _ = timed([one_token[run % len(one_token)]])
        first, first_tokens = timed(one_token)
        whole, tokens = timed(requests)
        rows["first_token_ms"].append(1000 * alone)
        rows["steady_tokens_per_second"].append((tokens - first_tokens) / max(1e-9, whole - first))
        rows["tokens_per_second"].append(tokens / whole)
        rows["images_per_second"].append(images / whole)
    return {"first_call_seconds": round(first_call, 2)} | {
        name: spread(values) for name, values in rows.items()
    }


def spread(values: Sequence[float]) -> list[float]:
    """[median, lowest, highest], rounded.

    >>> spread([3.0, 1.0, 2.0])
    [2.0, 1.0, 3.0]
    """
    return [round(x, 2) for x in (statistics.median(values), min(values), max(values))]


def chart(figures: dict[str, Any]) -> str:
    """An SVG of tokens/s and images/s of each backend, with the spread of its runs."""
    from geo_assets.report.palette import standalone
    from geo_assets.report.rows import Axis, Mark, Row, dot_rows

    rows, most = [], 1.0
    for rate in ("steady_tokens_per_second", "tokens_per_second", "images_per_second"):
        rows.append(Row(RATES[rate], heading=True))
        for name in sorted(PACKAGES):
            if found := figures.get(f"{name}_{rate}"):
                median, low, high = found
                most = max(most, high)
                mark = Mark(median, "after" if name == "vllm" else "before", low, high)
                rows.append(Row(name, (mark,), f"{median:,.0f}"))
    axis = Axis(0.0, most, f"a second; median, lowest and highest of {figures['runs']} runs")
    return standalone(dot_rows(rows, axis, CHART_WIDTH_PX, "Speed of the backends"))
