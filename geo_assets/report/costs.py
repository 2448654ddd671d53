"""Hours, tokens and dollars of a run, from manifests, logs and predictions.

Only what the report's own upstream recorded is counted: downloads, data preparation and the warm-up are
not among it. Dollars are hours times the profile's price, and nothing on a machine without a rented GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

from geo_assets.report import wording
from geo_assets.report.blocks import Cell, Table
from geo_assets.report.run import UPSTREAM, Run

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


def _seconds(run: Run, asset: str) -> float | None:
    manifest = _number(run.manifests[asset].get("seconds"))
    if asset == "lora_checkpoints":
        trained = _number(run.train_stats.get("seconds")) or _number(run.train_stats.get("train_runtime"))
        runtimes = [r["train_runtime"] for r in run.log if _number(r.get("train_runtime"))]
        return trained or manifest or (runtimes[-1] if runtimes else None)
    if manifest is None and asset in ("base_metrics", "rl_metrics"):
        whos = ("policy",) if asset == "rl_metrics" else ("base", "start")
        spent = [
            wording.lookup(a.metrics, "seconds") for (who, _, _), a in run.answers.items() if who in whos
        ]
        return sum(s for s in spent if s) or None
    return manifest


def _tokens(run: Run, asset: str) -> int | None:
    if asset in ("base_metrics", "rl_metrics"):
        whos = ("policy",) if asset == "rl_metrics" else ("base", "start")
        return sum(p.n_tokens for (who, _, _), a in run.answers.items() if who in whos for p in a.predictions)
    if asset == "lora_checkpoints":
        seen = [int(r["num_tokens"]) for r in run.log if _number(r.get("num_tokens"))]
        return max(seen, default=None)
    return None


def on_cpu(run: Run) -> bool:
    """Whether the run used no GPU, by what training recorded, else by the profile."""
    recorded = str(run.train_stats.get("device", "")).lower()
    if recorded:
        return recorded.startswith("cpu")
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
        f"{price} Training tokens include prompts and photos; evaluation counts the tokens of the answers. "
        "Downloads, data preparation and a warm-up are not included."
    )
    return Table("Spent by stage", ("Stage", "Time", "Tokens", "Cost"), tuple(rows), note)
