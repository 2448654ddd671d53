"""`bench task`: completions parsed and rewarded a second, and all metrics of a full-size test set.

Product and reference run in the same process on the same inputs, one thread. Rates are per second
of processor time, so that a busy machine does not change them; wall time is shown beside. The
reference is timed on fewer inputs and scaled: it would take hours.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from geo_assets.bench import reference
from geo_assets.bench.completions import Case, cases

OSV_TEST_ROWS = 210_122
REFERENCE_COMPLETIONS = 60
REFERENCE_ROWS = 2_000
REFERENCE_RESAMPLES = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--completions", type=int, default=100_000, metavar="N", help="completions to score")
    parser.add_argument("--rows", type=int, default=OSV_TEST_ROWS, metavar="N", help="predictions to measure")
    parser.add_argument("--resamples", type=int, default=10_000, metavar="N", help="bootstrap resamples")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of the bench, by name."""
    figures = rewards_per_second(list(cases(arguments.completions)))
    return figures | metrics_seconds(arguments.rows, arguments.resamples)


def rewards_per_second(given: Sequence[Case]) -> dict[str, Any]:
    """Parsing and rewarding with every registered reward, and by the reference."""
    from geo_assets.task.rewards import REWARDS

    texts, latitude, longitude, country_iso2 = (list(column) for column in zip(*given, strict=True))
    figures: dict[str, Any] = {"completions": len(given)}
    for name in sorted(REWARDS):
        work = partial(REWARDS[name].score, texts, latitude, longitude, country_iso2)
        REWARDS[name].score(texts[:64], latitude[:64], longitude[:64], country_iso2[:64])  # loads the tables
        cpu, wall, _ = _timed(work)
        figures[f"{name}_per_cpu_second"] = round(len(given) / cpu)
        if name == "geoguessr":
            figures["geoguessr_wall_seconds"] = round(wall, 3)
    few = given[:REFERENCE_COMPLETIONS]
    reference.reward(*few[0])
    cpu, _, _ = _timed(lambda: [reference.reward(*case) for case in few])
    figures["reference_per_cpu_second"] = round(len(few) / cpu, 1)
    ratio = figures["geoguessr_per_cpu_second"] / (len(few) / cpu)
    return figures | {"times_the_reference": round(ratio)}


def metrics_seconds(rows: int, resamples: int) -> dict[str, Any]:
    """All metrics with all intervals, for one greedy and one before/after comparison."""
    from geo_assets.task.metrics import compare, summarise
    from geo_assets.task.replay import predict_row

    made = [
        predict_row(
            {"id": str(i), "latitude": c.latitude, "longitude": c.longitude, "country_iso2": c.country_iso2},
            0, c.text, 60, "stop", "geoguessr",
        )
        for i, c in enumerate(cases(rows, seed=1))
    ]  # fmt: skip
    cpu, wall, metrics = _timed(lambda: summarise(made, resamples=resamples))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    paired_cpu, _, _ = _timed(lambda: compare(made, made, resamples=resamples))
    few = [p.geoscore for p in made[:REFERENCE_ROWS]]
    slow, _, _ = _timed(lambda: reference.bootstrap_means(few, REFERENCE_RESAMPLES))
    scale = rows / len(few) * resamples / REFERENCE_RESAMPLES * reference.METRICS
    return {
        "predictions": rows,
        "resamples": resamples,
        "intervals": len(metrics["intervals"]) - 1 + len(metrics["intervals"]["acc_at_km"]),
        "summarise_cpu_seconds": round(cpu, 2),
        "summarise_wall_seconds": round(wall, 2),
        "compare_cpu_seconds": round(paired_cpu, 2),
        "peak_memory_gib": round(peak, 2),
        "reference_metrics_hours_extrapolated": round(slow * scale / 3600.0, 1),
    }


def _timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Processor seconds, wall seconds and the result."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return time.process_time() - cpu, time.perf_counter() - wall, result
