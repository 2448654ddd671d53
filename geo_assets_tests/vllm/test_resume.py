"""Interrupted runs with vLLM inside: they save first, and end like a run that was never interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geo_assets.settings import Settings
from geo_assets_tests.conftest import REPOSITORY
from geo_assets_tests.small_demo import Demo, job_of

pytestmark = [pytest.mark.slow, pytest.mark.vllm]
STEPS = 8


def settings_of(demo: Demo, sync: str) -> Settings:
    train = demo.settings.train.model_copy(
        update={
            "rollout_engine": "vllm", "rollout_sync": sync, "max_steps": STEPS, "save_steps": STEPS,
            "generation_batch_size": 32, "learning_rate": 1e-3,
        }
    )  # fmt: skip
    return demo.settings.model_copy(update={"train": train})


def start(demo: Demo, out: Path, settings: Settings) -> subprocess.Popen[bytes]:
    """The real worker, on the job of lora_checkpoints."""
    job = job_of("lora_checkpoints", out, settings, demo.folders)
    path = out.with_suffix(".job.json")
    path.write_text(job.to_json(), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "geo_assets.workers.train",
        "--job",
        str(path),
        "--result",
        str(out.with_suffix(".result")),
    ]
    with out.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log, start_new_session=True)


def log_of(out: Path) -> str:
    return out.with_suffix(".log").read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("sync", ["adapter", "merge"])
def test_a_run_that_was_interrupted_ends_like_one_that_was_not(demo: Demo, tmp_path: Path, sync: str) -> None:
    settings = settings_of(demo, sync)
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert start(demo, whole, settings).wait() == 0, log_of(whole)

    process = start(demo, broken, settings)
    while not any(sample["step"] == 3 for sample in samples(broken)):
        assert process.poll() is None, log_of(broken)
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait() == 128 + signal.SIGINT, log_of(broken)
    saved = [path.name for path in broken.glob("checkpoint-*")]
    assert len(saved) == 1 and saved[0] != f"checkpoint-{STEPS}", (
        "Ctrl-C saves a checkpoint at the end of a rollout cycle"
    )
    assert int(saved[0].removeprefix("checkpoint-")) % 2 == 0
    assert start(demo, broken, settings).wait() == 0, log_of(broken)

    adapter = Path(f"checkpoint-{STEPS}") / "adapter_model.safetensors"
    assert (broken / adapter).read_bytes() == (whole / adapter).read_bytes()
    assert samples(broken) == samples(whole)


def samples(out: Path) -> list[dict]:
    """The sample answers that a run has written so far; a line that is being written does not count."""
    path = out / "samples.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]
