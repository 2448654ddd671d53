"""Progress as a log line that carries its figures.

    report(logger, {"step": 3, "reward": 0.41, "seconds_left": 80.0}, "step %d of %d", 3, 43)

The line is for people; whoever handles the log may plot the figures (a worker started by Dagster sends them
to the run, see `workers/harness.py`, at the pace of `Pace`). A figure's name carries its unit. What this
leaves out: where the figures go.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

Figures = Mapping[str, float]
_ATTRIBUTE = "progress_figures"

LEAST_SECONDS = 5.0
SHARE_OF_ELAPSED = 0.02


def report(logger: logging.Logger, figures: Figures, message: str, *args: object) -> None:
    """Log `message % args` at level INFO with `figures` attached."""
    logger.info(message, *args, extra={_ATTRIBUTE: dict(figures)}, stacklevel=2)


def figures_of(record: logging.LogRecord) -> dict[str, float]:
    """The figures that a log record carries; empty for any other line."""
    return dict(getattr(record, _ATTRIBUTE, {}))


class Pace:
    """Says which figures are worth keeping, so that a night of training is some hundreds of points.

    Figures of one kind (the same names) are kept when the last of them is five seconds old, or 2% of the time
    since the first, whichever is longer: 50 points in four minutes, 290 in eight hours. Those that say
    `seconds_left` 0 are the last of their kind and always kept.

    >>> pace = Pace(clock=iter([0.0, 3.0, 6.0, 1000.0, 1010.0, 1011.0]).__next__)
    >>> [pace.keeps({"step": step, "seconds_left": 6 - step}) for step in range(1, 7)]
    [True, False, True, True, False, True]
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._first: dict[frozenset[str], float] = {}
        self._last: dict[frozenset[str], float] = {}

    def keeps(self, figures: Figures) -> bool:
        """Whether these figures are worth keeping; notes the time when they are."""
        kind, now = frozenset(figures), self._clock()
        began = self._first.setdefault(kind, now)
        wait = max(LEAST_SECONDS, SHARE_OF_ELAPSED * (now - began))
        if kind in self._last and now - self._last[kind] < wait and figures.get("seconds_left") != 0:
            return False
        self._last[kind] = now
        return True
