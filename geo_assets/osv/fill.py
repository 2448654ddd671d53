"""Fill a set's quotas with photos that turn out to be usable.

Round by round: each country's next rows are tried until its quota is met or its rows run out. The outcome
of a row does not depend on when it is tried, so neither does the set. A refused row is replaced by the next
row of the same country; where a country has no more, `total` lets the other countries fill up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import polars as pl

Try = Callable[[list[str]], list[str | None]]
"""Tries rows by id, in order; returns for each the reason it was refused, or None."""


@dataclass
class Filled:
    """The rows a set takes and those it refused."""

    ids: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Reason by id, in the order tried."""

    @property
    def reasons(self) -> Counter[str]:
        """Refused rows, by reason."""
        return Counter(self.refused.values())


def fill(ranks: pl.DataFrame, quotas: dict[str, int], attempt: Try, total: int | None = None) -> Filled:
    """Take `quotas[country]` usable rows of each country.

    Args:
        ranks: columns id, country_iso2, priority, rank (`sampling.ranked`).
        quotas: rows to take per country.
        attempt: says which rows are usable.
        total: rows wanted in all; a country that runs out is made up for by the next rows of any country in
            order of priority. None leaves such a country short.
    """
    queues = {key[0]: list(rows["id"]) for key, rows in ranks.group_by("country_iso2", maintain_order=True)}
    taken: Counter[str] = Counter()
    filled = Filled()

    def run(batch: list[tuple[str, str]]) -> None:
        for (country, row_id), reason in zip(batch, attempt([row for _, row in batch]), strict=True):
            if reason is None:
                filled.ids.append(row_id)
                taken[country] += 1
            else:
                filled.refused[row_id] = reason

    while batch := [
        (country, row_id)
        for country, quota in sorted(quotas.items())
        for row_id in _next(queues[country], quota - taken[country])
    ]:
        run(batch)
    if total is not None:
        countries = dict(ranks.select("id", "country_iso2").iter_rows())
        left = {row_id for queue in queues.values() for row_id in queue}
        rest = [row_id for row_id in ranks.sort("priority", "id")["id"] if row_id in left]
        while batch_ids := _next(rest, total - len(filled.ids)):
            run([(countries[row_id], row_id) for row_id in batch_ids])
    return filled


def _next(queue: list[str], count: int) -> list[str]:
    """Remove and return up to `count` ids from the front of a queue."""
    head = queue[: max(0, count)]
    del queue[: len(head)]
    return head
