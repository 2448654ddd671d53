"""Try rows of a split for a set: extract their photos, refuse what is damaged, repeated or a twin."""

from __future__ import annotations

import polars as pl

from geo_assets.osv.extract import Extractor, Outcome
from geo_assets.osv.twins import TestTwins


class Attempt:
    """The `fill.Try` of a mirror; keeps every outcome.

    Args:
        extractor: an open extractor.
        members: member table of the split.
        twins: refuses twins of test photos; None refuses none.
    """

    def __init__(self, extractor: Extractor, members: pl.DataFrame, twins: TestTwins | None = None) -> None:
        self.extractor, self.members, self.twins = extractor, members, twins
        self.outcomes: dict[str, Outcome] = {}
        self._owner: dict[str, str] = {}

    def __call__(self, ids: list[str]) -> list[str | None]:
        """Reason why each row is refused, or None, in order."""
        wanted = self.members.filter(pl.col("id").is_in(pl.Series(ids, dtype=pl.String).implode()))
        by_id = {member["id"]: member for member in wanted.iter_rows(named=True)}
        members = [by_id[i] for i in ids]
        outcomes = self.extractor(members)
        self.outcomes.update({outcome.id: outcome for outcome in outcomes})
        twins = self.twins.reasons(members, outcomes) if self.twins else {}
        return [outcome.reason or twins.get(outcome.id) or self._repeated(outcome) for outcome in outcomes]

    def _repeated(self, outcome: Outcome) -> str | None:
        """A photo whose bytes another row of the set has: the first one tried keeps them."""
        owner = self._owner.setdefault(outcome.sha256, outcome.id)
        return None if owner == outcome.id else "identical_photo"
