"""The training program under real signals: it saves, leaves with the shell's code, and goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geo_assets.settings import Settings
from geo_assets.workers import checkpoint_files
from geo_assets.workers.harness import Job

pytestmark = pytest.mark.slow
PATIENCE_SECONDS = 280


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_leaves_a_whole_checkpoint_and_the_next_start_goes_on(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path, number: signal.Signals, code: int
) -> None:
    train = settings.train.model_copy(update={"max_steps": 400, "save_steps": 2})
    out = tmp_path / "out"
    out.mkdir()
    upstream = {"train_learnable": learnable, "warm_start": start}
    order = Job("lora_checkpoints", out, settings.model_copy(update={"train": train}), upstream)
    process = _start(order, tmp_path)
    try:
        _wait_for_step(out, 4)
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == code
    finally:
        process.kill()
    step = max(
        checkpoint_files.step_of(f)
        for f in checkpoint_files.checkpoints(out)
        if checkpoint_files.is_complete(f)
    )
    assert 4 <= step < 400
    ends = train.model_copy(update={"max_steps": step + 2})
    order = Job("lora_checkpoints", out, settings.model_copy(update={"train": ends}), upstream)
    assert _start(order, tmp_path).wait(PATIENCE_SECONDS) == 0
    assert checkpoint_files.checkpoints(out)[-1].name == f"checkpoint-{step + 2}"
    assert not list(out.rglob("optimizer.pt"))


def _start(order: Job, folder: Path) -> subprocess.Popen[bytes]:
    (folder / "job.json").write_text(order.to_json())
    command = [sys.executable, "-m", "geo_assets.workers.train", "--job", str(folder / "job.json")]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True)


def _wait_for_step(out: Path, step: int) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not (out / f"checkpoint-{step}" / checkpoint_files.MARKER).exists():
        found = [checkpoint_files.step_of(folder) for folder in checkpoint_files.checkpoints(out)]
        if max(found, default=0) > step:
            return
        assert time.monotonic() < until, "no checkpoint in time"
        time.sleep(0.05)
