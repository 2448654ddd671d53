"""Hours, tokens and dollars of a run, from manifests, logs and predictions.

Only what the report's own upstream recorded is counted: downloads, data preparation and the warm-up are
not among it. Dollars are hours times the profile's price, and nothing on a machine without a rented GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from geo_assets.report import wording
from geo_assets.report.blocks import Cell, Table
from geo_assets.report.run import UPSTREAM, Json, Run, completion_tokens

_STAGES = {
    "base_metrics": "Evaluation before",
    "train_learnable": "Choosing the rows",
    "smoke_test": "Smoke test",
    "lora_checkpoints": "GRPO training",
    "checkpoint_metrics": "Choosing the checkpoint",
    "rl_metrics": "Evaluation after",
}


@dataclass(frozen=True)
class Stage:
    """One asset's time in seconds and generated or trained tokens; None where nothing recorded it."""

    asset: str
    name: str
    seconds: float | None
    tokens: int | None


@dataclass(frozen=True)
class Costs:
    """The whole run. `dollars` is None on a machine that is not rented by the hour."""

    stages: tuple[Stage, ...]
    dollars_per_hour: float | None

    @property
    def seconds(self) -> float:
        return sum(stage.seconds or 0.0 for stage in self.stages)

    @property
    def tokens(self) -> int:
        return sum(stage.tokens or 0 for stage in self.stages)

    @property
    def dollars(self) -> float | None:
        return None if self.dollars_per_hour is None else self.seconds / 3600 * self.dollars_per_hour


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _sum_of_numbers(values: object) -> float:
    """The sum of all numbers in nested mappings."""
    if isinstance(values, Mapping):
        return sum(_sum_of_numbers(value) for value in values.values())
    return _number(values) or 0.0


def _seconds(run: Run, asset: str) -> float | None:
    """Wall time: the manifest's or the worker's own, the longer (a resumed build has less in one)."""
    timings = run.timings[asset]
    if asset in ("base_metrics", "rl_metrics", "checkpoint_metrics"):
        own = _sum_of_numbers(timings)
    else:
        own = _number(timings.get("seconds")) or 0.0
    if asset == "lora_checkpoints":
        own = own or max((_number(r.get("train_runtime")) or 0.0 for r in run.log), default=0.0)
    return max(own, _number(run.manifests[asset].get("seconds")) or 0.0) or None


def _most_tokens(log: Sequence[Json]) -> int | None:
    return max((int(r["num_tokens"]) for r in log if _number(r.get("num_tokens"))), default=None)


def _tokens(run: Run, asset: str) -> int | None:
    if asset in ("base_metrics", "rl_metrics"):
        whos = ("policy",) if asset == "rl_metrics" else ("base", "start")
        return sum(p.n_tokens for (who, _, _), a in run.answers.items() if who in whos for p in a.predictions)
    if asset == "checkpoint_metrics":
        per_answer = [
            (_number(c.get("mean_completion_tokens")), _number(c.get("n"))) for c in run.checkpoints
        ]
        return round(sum(tokens * n for tokens, n in per_answer if tokens and n)) or None
    if asset == "train_learnable":
        return completion_tokens(run.upstream[asset] / "completions.jsonl")
    return _most_tokens(run.log if asset == "lora_checkpoints" else run.smoke_log)


def on_cpu(run: Run) -> bool:
    """Whether the run used no GPU: by the memory that the smoke test measured, else by the profile."""
    measured = _number(run.timings["smoke_test"].get("peak_gpu_memory_gib"))
    if measured is not None:
        return measured == 0
    return run.settings.runtime.device == "cpu" or run.settings.base_model.source == "tiny"


def costs(run: Run) -> Costs:
    """Add up the run."""
    stages = tuple(Stage(a, _STAGES[a], _seconds(run, a), _tokens(run, a)) for a in _STAGES if a in UPSTREAM)
    return Costs(stages, None if on_cpu(run) else run.settings.runtime.gpu_dollars_per_hour)


def dollars(amount: float | None) -> str:
    """Dollars in words.

    >>> dollars(None), dollars(12.3456)
    ('no GPU rented', '$12.35')
    """
    return "no GPU rented" if amount is None else f"${amount:,.2f}"


def costs_table(found: Costs) -> Table:
    """A row per stage and the sum."""
    rows: list[tuple[Cell | str, ...]] = []
    rate = found.dollars_per_hour
    for stage in found.stages:
        spent = None if rate is None or stage.seconds is None else stage.seconds / 3600 * rate
        rows.append(
            (
                stage.name,
                wording.duration(stage.seconds),
                f"{stage.tokens:,}" if stage.tokens is not None else wording.NONE,
                wording.NONE if spent is None else dollars(spent),
            )
        )
    rows.append(
        (
            "Together",
            Cell(wording.duration(found.seconds), "strong"),
            Cell(f"{found.tokens:,}", "strong"),
            Cell(dollars(found.dollars), "strong"),
        )
    )
    price = "No GPU was rented." if rate is None else f"At ${rate:.2f} an hour for the GPU."
    note = (
        f"{price} Tokens of training and smoke test include prompts and photos, the others count answers. "
        "Downloads, data preparation and a warm-up are not included."
    )
    return Table("Spent by stage", ("Stage", "Time", "Tokens", "Cost"), tuple(rows), note)
