"""Where training curves go: Weights & Biases, or TensorBoard under the artifact.

`runtime.tracker: auto` takes W&B where `WANDB_API_KEY` is set or `WANDB_MODE=offline` asks for files alone,
else TensorBoard. Both get the same curves under the same names (`train/reward`,
`train/rewards/format_reward/mean`, …), because both are fed by transformers. A resumed run continues its W&B
run. A tracker that cannot start must not cost a night on a rented GPU: the run goes on with TensorBoard and
says so.

The key stays in the environment, where the wandb library reads it; nothing here takes it in hand. What is
sent is the curves and the training settings: no code, no photos, no console, no list of packages.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

from geo_assets.workers.harness import Job, stop_requested

logger = logging.getLogger(__name__)

WANDB, TENSORBOARD = "wandb", "tensorboard"
PROJECT = "geo_assets"
RUN_ID = "run_id.txt"
START_SECONDS, FINISH_SECONDS = 60.0, 120.0


def wanted(tracker: str, environment: Any = os.environ) -> str | None:
    """What `runtime.tracker` comes to in this environment: a tracker, or None.

    >>> wanted("auto", {"WANDB_API_KEY": "k"}), wanted("auto", {"WANDB_MODE": "offline"}), wanted("auto", {})
    ('wandb', 'wandb', 'tensorboard')
    >>> wanted("auto", {"WANDB_API_KEY": "k", "WANDB_MODE": "disabled"}), wanted("none", {})
    ('tensorboard', None)
    """
    if tracker == "none":
        return None
    if tracker != "auto":
        return tracker
    mode = environment.get("WANDB_MODE", "").lower()
    asked = mode == "offline" or (environment.get("WANDB_API_KEY") and mode != "disabled")
    return WANDB if asked else TENSORBOARD


class Tracking:
    """The tracker of one run, for as long as the block lasts; `watch` gives it a trainer's curves."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._tracker = None if job.asset == "smoke_test" else wanted(job.runtime.tracker)
        self._run: Any = None

    def watch(self, trainer: Any) -> None:
        """Send the curves of `trainer` to the tracker."""
        from transformers.integrations import TensorBoardCallback, WandbCallback

        if self._tracker:
            trainer.add_callback(WandbCallback() if self._tracker == WANDB else TensorBoardCallback())

    def __enter__(self) -> Tracking:
        if self._tracker == WANDB and (fault := self._start_wandb()):
            logger.warning("%s; the curves go to TensorBoard instead", fault)
            self._job.metadata({"tracker_note": fault})
            self._tracker = TENSORBOARD
        if self._tracker == TENSORBOARD:
            os.environ["TENSORBOARD_LOGGING_DIR"] = str(self._job.out / TENSORBOARD)
        if self._tracker:
            self._job.metadata({"tracker": self._tracker, "tracker_run": self._where()})
            logger.info("curves go to %s: %s", self._tracker, self._where())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._run is not None:
            self._run.finish(exit_code=int(error is not None or stop_requested() is not None))
            _drop_links(self._job.out / WANDB)

    def _where(self) -> str:
        """The run's page, or its folder inside the artifact."""
        if self._run is None:
            return TENSORBOARD
        if not self._run.offline:
            return str(self._run.url)
        return str(Path(self._run.settings.sync_dir).relative_to(self._job.out))

    def _start_wandb(self) -> str | None:
        """Start or continue the W&B run; what was wrong, or None."""
        if importlib.util.find_spec("wandb") is None:
            return "wandb is not installed (pip install 'geo_assets[wandb]')"
        import wandb

        settings, out = self._job.settings, self._job.out
        try:
            self._run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                name=os.environ.get("WANDB_NAME", f"{settings.name} {out.name[:8]}"),
                id=_run_id(out / WANDB),
                resume="allow",
                dir=str(out),
                config={
                    "recipe": out.name.removesuffix(".partial"),
                    "profile": settings.name,
                    "train": settings.train.model_dump(mode="json"),
                    "task": settings.task.model_dump(mode="json"),
                },
                settings=wandb.Settings(
                    init_timeout=START_SECONDS,
                    finish_timeout=FINISH_SECONDS,
                    silent=True,
                    console="off",
                    disable_git=True,
                    disable_code=True,
                    x_disable_meta=True,
                    x_disable_machine_info=True,
                    x_save_requirements=False,
                ),
            )
        except (wandb.errors.Error, OSError, ValueError, TimeoutError) as error:
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            return f"Weights & Biases did not start ({reason}): check WANDB_API_KEY and the network"
        return None


def _run_id(folder: Path) -> str:
    """The id of the run that this artifact belongs to; made once, so that a killed run is continued."""
    path = folder / RUN_ID
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(uuid.uuid4().hex[:12], encoding="utf-8")
    return path.read_text(encoding="utf-8")


def _drop_links(folder: Path) -> None:
    """Remove wandb's links into its own folders: they would dangle once the artifact is renamed."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            path.unlink()
