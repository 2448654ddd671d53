"""Worker processes for the work that a photo costs.

Spawned, not forked, because the caller may hold threads and locks; and they die with the caller, so that a
killed build leaves nothing behind that writes into its directory.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

CHUNK = 32
PR_SET_PDEATHSIG = 1


def _die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, also by SIGKILL (Linux)."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller is told, and ends the pool


class Processes:
    """A lazy pool: work for few items, or for one worker, runs in this process. Use as a context manager."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def map(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """`work` of every item, in order."""
        todo = list(items)
        if self.workers <= 1 or len(todo) <= 2 * CHUNK:
            return map(work, todo)
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self.workers, multiprocessing.get_context("spawn"), _die_with, (os.getpid(),)
            )
        return self._pool.map(work, todo, chunksize=CHUNK)
