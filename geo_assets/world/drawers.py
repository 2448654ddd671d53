"""Runs drawing functions over batches in worker processes, with results in order."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from geo_assets.lifetime import end_with_parent

BatchMap = Callable[[Callable[..., Any], Iterable[Any]], Iterator[Any]]


@contextmanager
def drawers(workers: int) -> Iterator[BatchMap]:
    """A map over batches, in this process where `workers` is 1, else over that many new ones.

    >>> with drawers(1) as draw:
    ...     list(draw(len, ["ab", "c"]))
    [2, 1]
    """
    if workers <= 1:
        yield map
        return
    # Spawned, not forked: the caller may hold threads and locks, which a fork would not survive.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=end_with_parent)
    try:
        yield pool.map
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt does not wait for scenes that nobody will see
