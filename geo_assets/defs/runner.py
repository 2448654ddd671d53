"""Start a worker program from a Dagster step, stream its log into the run, and leave no process behind.

Dagster's stock subprocess client leaves grandchildren alive on a crash, on SIGINT and on "Terminate". Here
the worker leads a process group of its own: an interrupt gives it SIGINT and time to save, then the
group is killed; the lifeline pipe ends it when this step process dies without a word.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import (
    AssetExecutionContext,
    Failure,
    MetadataValue,
    PipesTempFileContextInjector,
    RetryRequested,
    open_pipes_session,
)

from geo_assets.defs.live import LiveReader
from geo_assets.workers.harness import Job

# torch's default of one thread a core is up to 100 times slower on a shared machine (docs/log.md).
_CPU_THREADS = {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "TOKENIZERS_PARALLELISM": "false"}


class WorkerCrash(Exception):
    """A worker ended without a result (killed, out of memory): another try resumes where it stopped."""


def run_worker(context: AssetExecutionContext, module: str, job: Job, lock_fd: int) -> Mapping[str, Any]:
    """Run `python -m <module>` on `job`; return the metadata that it collected.

    The worker inherits `lock_fd`, so the recipe stays locked until it has ended.

    Raises:
        Failure: the worker says what is wrong; another try cannot help.
        RetryRequested: it ended without a result, for the first time.
    """
    with (
        tempfile.TemporaryDirectory(prefix="geo-job-") as folder,
        open_pipes_session(
            context, PipesTempFileContextInjector(), LiveReader(context), extras={"asset": job.asset}
        ) as session,
        _lifeline() as (alive_read, alive_write),
    ):
        job_file, result_file = Path(folder, "job.json"), Path(folder, "result.json")
        job_file.write_text(job.to_json(), encoding="utf-8")
        command = [sys.executable, "-m", module, "--job", str(job_file)]
        command += ["--result", str(result_file), "--lifeline", str(alive_read)]
        environment = {**os.environ, **session.get_bootstrap_env_vars()}
        if job.runtime.device == "cpu" or not Path("/dev/nvidiactl").exists():
            environment = {**environment, **_CPU_THREADS}
        process = subprocess.Popen(
            command, env=environment, start_new_session=True, pass_fds=(lock_fd, alive_read)
        )
        os.close(alive_read)
        context.log.info(f"{module} runs as process {process.pid}")
        try:
            code = process.wait()
        finally:
            _end_group(process, job.runtime.grace_seconds)
            os.close(alive_write)
        return _result(module, code, result_file)


@contextlib.contextmanager
def _lifeline():
    """A pipe whose write end lives in this process alone; the worker reads it to learn of our death."""
    alive_read, alive_write = os.pipe()
    os.set_inheritable(alive_read, True)
    yield alive_read, alive_write


def _end_group(process: subprocess.Popen[bytes], grace_seconds: float) -> None:
    """Interrupt the worker, wait for it to save, then kill what is left of its group."""
    try:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(grace_seconds)
    finally:  # a second interrupt cuts the grace short, not the end
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _result(module: str, code: int, result_file: Path) -> Mapping[str, Any]:
    if not result_file.exists():
        ended = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        crash = WorkerCrash(f"{module} ended by {ended} before it had a result; materialize again to resume")
        # Asked for here: a retry policy on the asset would also retry what the user has just interrupted.
        raise RetryRequested(max_retries=1, seconds_to_wait=2) from crash
    result = json.loads(result_file.read_text(encoding="utf-8"))
    if error := result.get("error"):
        trace = {"traceback": MetadataValue.md(f"```\n{error['trace']}\n```")} if "trace" in error else {}
        raise Failure(description=error["message"], metadata=trace, allow_retries=False)
    return dict(result["metadata"])
