"""Notices a full disk before a checkpoint is written, not in the middle of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from geo_assets.errors import TrainingError

COPIES = 4
"""Adapter, two moments of the optimizer, and room for logs: in sizes of the trainable weights."""
RESERVE_BYTES = 200 * 2**20


class DiskWatch(TrainerCallback):
    """Ends a run whose next checkpoint would not fit; what was saved before stays whole."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._needed = RESERVE_BYTES

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any) -> None:
        trainable = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
        self._needed = COPIES * trainable + RESERVE_BYTES
        self._require_room("checkpoints")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if control.should_save:
            self._require_room(f"checkpoint-{state.global_step}")

    def _require_room(self, what: str) -> None:
        free = shutil.disk_usage(self._out).free
        if free < self._needed:
            raise TrainingError(
                f"{free / 2**30:.2f} GiB are free for {what}, {self._needed / 2**30:.2f} are needed; make "
                "room (python -m geo_assets gc --yes) and materialize again: the run continues from its last "
                "checkpoint"
            )
