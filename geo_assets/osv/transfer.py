"""A transfer over the network by threads: how far it is, and an end to it when the caller is interrupted.

Sizes are bytes. What it leaves out: what is fetched, and from where (`download.py`, `spool.py`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

PROGRESS_SECONDS = 5.0
HEAR_SECONDS = 0.2


class Stopped(Exception):
    """The caller was interrupted; what came is kept."""


class Transfer:
    """The bytes of all files together: logs them, rate and time left, at most every PROGRESS_SECONDS.

    Threads that fetch also learn here that they have to end: Python waits for every thread before it exits.
    """

    def __init__(self, total: int, have: int = 0, what: str = "download") -> None:
        self.total, self.have, self.what, self.first = total, have, what, have
        self.started = self.reported = time.monotonic()
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """At its end, early by an interrupt for one, threads end at their next block or wait."""
        try:
            yield
        finally:
            self._stopped.set()

    def wait(self, seconds: float) -> None:
        """Sleep; raises Stopped when there is no point in going on."""
        if self._stopped.wait(seconds):
            raise Stopped

    def add(self, count: int) -> None:
        """Count bytes (negative where bytes are given up); raises Stopped as `wait`."""
        self.wait(0.0)
        with self._lock:
            self.have += count
            now = time.monotonic()
            if now - self.reported < PROGRESS_SECONDS:
                return
            self.reported = now
            rate = max(1.0, (self.have - self.first) / (now - self.started))
        done, left = self.have / max(1, self.total), (self.total - self.have) / rate
        unit, name = (1e9, "GB") if self.total >= 1e9 else (1e6, "MB")
        logger.info(
            f"{self.what}: {self.have / unit:.2f} of {self.total / unit:.2f} {name} ({done:.0%}), "
            f"{rate / 1e6:.1f} MB/s, {left:,.0f} s left"
        )


@contextmanager
def threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """A pool of threads; at its end, an interrupt for one, what has not begun is dropped."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def finish(jobs: Iterable[Future[T]]) -> None:
    """Wait for jobs and hear an interrupt meanwhile, which Python may not while a lock has no time limit."""
    left = list(jobs)
    while left:
        left = list(wait(left, timeout=HEAR_SECONDS).not_done)
