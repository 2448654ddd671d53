"""Worker processes for the work that a photo costs.

Spawned, not forked, because the caller may hold threads and locks; and they die with the caller, so that a
killed build leaves nothing behind that writes into its directory.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

from geo_assets.lifetime import end_with_parent

T = TypeVar("T")
R = TypeVar("R")

CHUNK = 32


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
                self.workers, multiprocessing.get_context("spawn"), initializer=end_with_parent
            )
        return self._pool.map(work, todo, chunksize=CHUNK)
