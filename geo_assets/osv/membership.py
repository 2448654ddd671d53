"""Which CSV rows have a member in the zips, in a few bytes a member.

Ids are compared by `sampling.keys`; the caller compares the ids of the rows that it takes as text, because
a hash may equal a number.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geo_assets.osv import sampling

Mask = NDArray[np.bool_]
Keys = NDArray[np.uint64]
Places = NDArray[np.intp]


class Membership:
    """The members of one split, by key. `members` is a member table."""

    def __init__(self, members: pl.DataFrame) -> None:
        keys = sampling.keys(members["id"])
        order = np.argsort(keys, kind="stable")
        self.keys = keys[order]
        self.seen = np.zeros(len(keys), dtype=bool)
        """Members that a row named."""
        self._taken = np.zeros(len(keys), dtype=bool)
        self._zips = members["zip"].to_physical().to_numpy()[order]
        names = members.select("zip").unique()["zip"]
        self._names = dict(zip(names.to_physical().to_list(), names.cast(pl.String).to_list(), strict=True))
        self._counts: list[pl.DataFrame] = []

    def first_rows(self, keys: Keys, dropped: Counter[str]) -> tuple[Mask, Places]:
        """The rows that have a member and are the first with their id, and where those members are.

        Args:
            keys: of the rows, in file order.
            dropped: receives the counts of the other rows.
        """
        has, at, repeated = self._look_up(keys)
        repeated[has] |= self._taken[at[has]]
        dropped["row_without_image"] += int((~has).sum())
        dropped["id_repeated"] += int((has & repeated).sum())
        self.seen[at[has]] = self._taken[at[has]] = True
        return has & ~repeated, at

    def see(self, keys: Keys) -> None:
        """Note that rows named these members, though they cannot be used."""
        has, at, _ = self._look_up(keys)
        self.seen[at[has]] = True

    def _look_up(self, keys: Keys) -> tuple[Mask, Places, Mask]:
        """Which keys have a member, where it is, and which keys are not the first of their kind.

        Sorted keys are looked up several times faster than others in a table larger than the cache.
        """
        order = np.argsort(keys, kind="stable")
        ascending = keys[order]
        at, repeated = np.empty(len(keys), dtype=np.intp), np.zeros(len(keys), dtype=bool)
        at[order] = np.searchsorted(self.keys, ascending)
        repeated[order[1:]] = ascending[1:] == ascending[:-1]
        has = at < len(self.keys)
        has[has] = self.keys[at[has]] == keys[has]
        return has, at, repeated

    def count(self, countries: pl.Series, at: Places, usable: Mask) -> None:
        """Count the usable rows by country and the zip of their member."""
        if usable.any():
            zips = self._zips[at[usable]]
            rows = pl.DataFrame({"zip": zips, "country": countries.filter(pl.Series(usable))})
            self._counts.append(rows.group_by("zip", "country").len())

    def available(self) -> dict[str, dict[str, int]]:
        """Rows counted, by zip and country, both sorted."""
        found: dict[str, dict[str, int]] = {name: {} for name in sorted(self._names.values())}
        if self._counts:
            total = pl.concat(self._counts).group_by("zip", "country").agg(pl.col("len").sum())
            for number, country, rows in total.sort("country").iter_rows():
                found[self._names[number]][country] = rows
        return found
