"""What every worker program shares: its job, its log, its signals and its end.

A worker is `python -m geo_assets.workers.<name> --job job.json`. The job file holds where to write and
what to read; with the variables of Dagster Pipes in the environment, the log streams into the run too, and so
do the figures of its progress lines (`progress.py`), at a pace that keeps the run's history small.

It never outlives whoever started it: the starter holds the other end of the lifeline pipe, and its
closing (for whatever reason, SIGKILL included) ends the worker's whole process group. SIGINT and SIGTERM
set `stop_requested()`; a worker that has nothing to save is ended by them at once. What this leaves out:
starting workers (`defs/runner.py`).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from geo_assets.errors import GeoAssetsError, is_disk_full
from geo_assets.progress import Pace, figures_of
from geo_assets.settings import Runtime, Settings

logger = logging.getLogger(__name__)

PROGRESS = "progress"
"""Key of the Pipes messages that carry the figures of a progress line."""

Severity = Literal["ERROR", "WARN"]
Signal = Callable[[int, Any], None]


@dataclass(frozen=True)
class Check:
    """The outcome of one asset check."""

    name: str
    passed: bool
    message: str
    severity: Severity = "ERROR"


@dataclass
class Job:
    """One order: build `asset` into `out`.

    `settings` holds the sections that the asset's recipe covers, all others at their defaults. `upstream`
    maps an asset to its directory, `contents` to its content digest, `recipes` every asset above to its
    recipe. `out` may hold the progress of an earlier, killed try.
    """

    asset: str
    out: Path
    settings: Settings
    upstream: dict[str, Path] = field(default_factory=dict)
    contents: dict[str, str] = field(default_factory=dict)
    recipes: dict[str, str] = field(default_factory=dict)
    collected: dict[str, Any] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)

    @property
    def runtime(self) -> Runtime:
        return self.settings.runtime

    def metadata(self, values: dict[str, Any]) -> None:
        """Add figures for the asset's page. They may differ between two runs of one recipe."""
        self.collected.update(values)

    def check(self, name: str, passed: bool, message: str, severity: Severity = "ERROR") -> None:
        self.checks.append(Check(name, bool(passed), message, severity))

    def to_json(self) -> str:
        return json.dumps(
            {
                "asset": self.asset,
                "out": str(self.out),
                "settings": self.settings.model_dump(mode="json"),
                "upstream": {asset: str(path) for asset, path in self.upstream.items()},
                "contents": self.contents,
                "recipes": self.recipes,
            },
            indent=1,
        )

    @classmethod
    def from_json(cls, text: str) -> Job:
        values = json.loads(text)
        return cls(
            asset=values["asset"],
            out=Path(values["out"]),
            settings=Settings.model_validate(values["settings"]),
            upstream={asset: Path(path) for asset, path in values["upstream"].items()},
            contents=values["contents"],
            recipes=values["recipes"],
        )


_stop_signal: int | None = None


def stop_requested() -> int | None:
    """The number of the signal that asks this worker to save and end, or None."""
    return _stop_signal


def exit_when_stopped() -> None:
    """Leave with the shell's code for the received signal, if there is one. Call it after saving."""
    if _stop_signal is not None:
        raise SystemExit(128 + _stop_signal)


class saves_on_signal:
    """Inside this block, SIGINT and SIGTERM only set `stop_requested()`; the worker saves and leaves."""

    def __enter__(self) -> None:
        self._before = {number: signal.signal(number, _note_signal) for number in _SIGNALS}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run(main: Callable[[Job], None]) -> None:
    """Run `main` on the job named on the command line, and end the process.

    The result file (`--result`) gets metadata and checks, or the error with the word whether another
    try can help. Exit codes: 0 done, 1 failed, 128 + n ended by signal n.
    """
    arguments = _parser(main).parse_args()
    for number in _SIGNALS:
        signal.signal(number, _end_by_signal)
    job = Job.from_json(arguments.job.read_text(encoding="utf-8"))
    if arguments.lifeline is not None:
        watch = (arguments.lifeline, job.runtime.grace_seconds)
        threading.Thread(target=_watch_lifeline, args=watch, daemon=True).start()
    with _logging():
        result = _attempt(main, job)
    if arguments.result is not None:
        arguments.result.write_text(json.dumps(result, default=_plain), encoding="utf-8")
    if "error" in result:
        print(result["error"]["message"], file=sys.stderr)
        sys.exit(1)


def peak_memory_gib() -> float:
    """Peak resident memory of this process and of its ended children, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    peaks = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return max(peaks) * unit / 2**30


def _attempt(main: Callable[[Job], None], job: Job) -> dict[str, Any]:
    started = time.monotonic()
    try:
        main(job)
    except GeoAssetsError as error:
        return {"error": {"type": type(error).__name__, "message": str(error)}}
    except Exception as error:
        if is_disk_full(error):
            message = (
                f"{job.asset}: No space left on device; make room or set GEO_HOME elsewhere, then resume"
            )
            return {"error": {"type": "ArtifactError", "message": message}}
        # A bug: its traceback travels to the run's page, and the process exits 1.
        message = f"{type(error).__name__}: {error}"
        trace = traceback.format_exc()
        return {"error": {"type": type(error).__name__, "message": message, "trace": trace}}
    figures = {
        "seconds": round(time.monotonic() - started, 1),
        "peak_memory_gib": round(peak_memory_gib(), 2),
    }
    return {
        "metadata": {**job.collected, **figures},
        "checks": [vars(check) for check in job.checks],
    }


def _parser(main: Callable[[Job], None]) -> argparse.ArgumentParser:
    module = sys.modules[main.__module__]
    parser = argparse.ArgumentParser(description=(module.__doc__ or "").strip().split("\n")[0])
    parser.add_argument("--job", type=Path, required=True, help="JSON file with the job")
    parser.add_argument("--result", type=Path, help="JSON file to write metadata, checks or the error to")
    parser.add_argument("--lifeline", type=int, help="file descriptor that closes when the starter ends")
    return parser


class _logging:
    """Log lines go to Dagster through Pipes where it listens, else to standard error."""

    def __enter__(self) -> None:
        import dagster_pipes

        self._context = None
        handler: logging.Handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S"))
        if dagster_pipes.DAGSTER_PIPES_CONTEXT_ENV_VAR in os.environ:
            self._context = dagster_pipes.open_dagster_pipes()
            handler = _PipesHandler(self._context)
        # A worker runs as __main__, so that is the name of its own logger.
        for name in ("geo_assets", "__main__"):
            logging.getLogger(name).setLevel(logging.INFO)
            logging.getLogger(name).addHandler(handler)

    def __exit__(self, *_: object) -> None:
        if self._context is not None:
            self._context.close()


class _PipesHandler(logging.Handler):
    def __init__(self, context: Any) -> None:
        super().__init__(logging.INFO)
        self._context = context
        self._pace = Pace()

    def emit(self, record: logging.LogRecord) -> None:
        self._context.log.log(record.levelno, self.format(record))
        figures = figures_of(record)
        if figures and self._pace.keeps(figures):
            self._context.report_custom_message({PROGRESS: figures})


def _note_signal(number: int, _frame: Any) -> None:
    global _stop_signal
    _stop_signal = number
    logger.warning("%s: saving, then ending", signal.Signals(number).name)


def _end_by_signal(number: int, _frame: Any) -> None:
    # The children of this worker (data loaders, drawing processes) are in its group and must not stay.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGTERM)
    os._exit(128 + number)


def _watch_lifeline(descriptor: int, grace_seconds: float) -> None:
    os.read(descriptor, 1)  # returns when the last writer is gone: nothing is ever written
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace_seconds)
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(128 + signal.SIGKILL)


def _plain(value: Any) -> Any:
    """numpy scalars and paths as JSON."""
    return value.item() if hasattr(value, "item") else str(value)
