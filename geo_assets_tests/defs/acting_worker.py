"""A worker for the runner's tests: does what the file `act.txt` beside its output says."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

from geo_assets import progress
from geo_assets.errors import TrainingError
from geo_assets.workers import harness

logger = logging.getLogger("geo_assets.acting")


def main(job: harness.Job) -> None:
    act = (job.out.parent / "act.txt").read_text()
    (job.out / "pid.txt").write_text(f"{os.getpid()}\n")
    logger.info("acting: %s", act)
    if act == "work":
        job.metadata({"rows": 3})
    elif act == "progress":
        for step in range(1, 5):
            progress.report(
                logger, {"step": step, "reward": step / 10, "seconds_left": 4 - step}, "step %d of 4", step
            )
        logger.info("about to end")
    elif act == "fail":
        raise TrainingError("format rate is 0.1; lower train.learning_rate")
    elif act == "bug":
        raise KeyError("lost")
    elif act == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    elif act == "crash once":
        if not (job.out / "tried.txt").exists():
            (job.out / "tried.txt").write_text("")
            os.kill(os.getpid(), signal.SIGKILL)
        job.metadata({"resumed": True})
    elif act == "linger":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
        (job.out / "pid.txt").write_text(f"{os.getpid()}\n{child.pid}\n")
        time.sleep(300)
    elif act == "save":
        with harness.saves_on_signal():
            (job.out / "ready.txt").write_text("")
            while not harness.stop_requested():
                time.sleep(0.02)
            (job.out / "saved.txt").write_text("checkpoint")
            harness.exit_when_stopped()


if __name__ == "__main__":
    harness.run(main)
