"""Callbacks of the GRPO run: progress in the log, whole checkpoints, saving on a signal, early failure."""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from geo_assets import progress
from geo_assets.errors import TrainingError
from geo_assets.workers import checkpoint_files
from geo_assets.workers.harness import stop_requested

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_REPORTS = 5.0
FORMAT_KEY = "rewards/format_reward/mean"
SMOOTHED_STEPS = 10
CURVES = {
    "reward": "reward",
    "format_rate": FORMAT_KEY,
    "country_reward": "rewards/country_reward/mean",
    "top_country_share": "guesses/top_country_share",
}
"""Figures of a progress line, and the names TRL logs them under."""
DEAD_AFTER_STEP, DEAD_FORMAT_RATE, DEAD_WINDOW = 30, 0.02, 10


class Progress(TrainerCallback):
    """One log line every few seconds: step, reward, format rate, pace, time left.

    The line has the step's own reward; its figures, which are plotted while the run goes on, are means over
    the last `SMOOTHED_STEPS` steps.
    """

    def __init__(self) -> None:
        self.step_seconds: list[float] = []
        self._recent: deque[dict[str, float]] = deque(maxlen=SMOOTHED_STEPS)
        self._began = self._reported = 0.0

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._began = time.monotonic()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.step_seconds.append(time.monotonic() - self._began)

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        logs = logs or {}
        if "reward" not in logs:
            return
        self._recent.append({name: float(logs[key]) for name, key in CURVES.items() if key in logs})
        now, last = time.monotonic(), state.global_step == state.max_steps
        if now - self._reported < SECONDS_BETWEEN_REPORTS and not last:
            return
        self._reported = now
        paces = self.step_seconds[-SMOOTHED_STEPS:]
        pace = sum(paces) / len(paces)
        left = (state.max_steps - state.global_step) * pace
        progress.report(
            logger,
            {"step": state.global_step, **self._means(), "seconds_per_step": pace, "seconds_left": left},
            "step %d of %d: reward %.3f, format %.2f, %.2f s a step, %.0f s left",
            state.global_step, state.max_steps, logs["reward"], logs.get(FORMAT_KEY, float("nan")),
            pace, left,
        )  # fmt: skip

    def _means(self) -> dict[str, float]:
        found: dict[str, list[float]] = {}
        for record in self._recent:
            for name, value in record.items():
                found.setdefault(name, []).append(value)
        return {name: sum(values) / len(values) for name, values in found.items()}


class WholeCheckpoints(TrainerCallback):
    """Marks each checkpoint once it is whole and keeps the newest; a signal saves one and ends the run.

    `cycle` is the number of optimizer steps that one rollout serves: only at its end is a checkpoint
    exact, so a signal waits for it.
    """

    def __init__(self, out: Path, keep: int, cycle: int) -> None:
        self._out, self._keep, self._cycle = out, keep, cycle

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        if stop_requested() and state.global_step % self._cycle == 0:
            control.should_save = control.should_training_stop = True
        return control

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        checkpoint_files.mark_complete(self._out / f"checkpoint-{state.global_step}")
        checkpoint_files.prune(self._out, self._keep)
        logger.info("saved checkpoint-%d", state.global_step)


class Failures(TrainerCallback):
    """Ends a run that cannot succeed, with the remedy."""

    def __init__(self) -> None:
        self.trainer: Any = None
        self._formats: list[float] = []

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        logs = logs or {}
        for key in ("loss", "grad_norm"):
            if key in logs and not math.isfinite(float(logs[key])):
                raise TrainingError(
                    f"{key} is {logs[key]} at step {state.global_step}; lower train.learning_rate"
                )
        if FORMAT_KEY not in logs:
            return
        self._formats.append(float(logs[FORMAT_KEY]))
        recent = self._formats[-DEAD_WINDOW:]
        if state.global_step >= DEAD_AFTER_STEP and max(recent) < DEAD_FORMAT_RATE:
            for text in list(self.trainer.recent_completions)[:10]:
                logger.error("raw completion: %r", text)
            raise TrainingError(
                f"no answer has had the right form for {len(recent)} steps (step {state.global_step}); read "
                "the ten raw completions above, then lower train.learning_rate or train.temperature"
            )
