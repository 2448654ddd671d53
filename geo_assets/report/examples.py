"""The photos on which the policy gained and lost most, with what the model wrote.

Completions are untrusted: they pass `escaping.clean` here and are escaped by the templates.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from geo_assets.report import wording
from geo_assets.report.blocks import Example, Examples
from geo_assets.report.escaping import clean
from geo_assets.report.run import Answers, Run
from geo_assets.task.metrics import Prediction

_THINK = re.compile(r"<think>(.*?)(?:</think>|$)", re.DOTALL)
Pair = tuple[Prediction, Prediction]


def ranked(before: Answers, after: Answers) -> list[Pair]:
    """(before, after) of every photo that both answered, by gain of the score, largest first."""
    first, second = before.first, after.first
    pairs = [(first[photo_id], p) for photo_id, p in second.items() if photo_id in first]
    return sorted(pairs, key=lambda pair: (pair[0].geoscore - pair[1].geoscore, pair[1].id))


def extremes(before: Answers, after: Answers, n: int) -> tuple[list[Pair], list[Pair]]:
    """The n best gains and the n worst losses; photos whose score did not move belong to neither."""
    pairs = ranked(before, after)
    gains = [pair for pair in pairs[:n] if pair[1].geoscore > pair[0].geoscore]
    losses = [pair for pair in reversed(pairs[-n:]) if pair[1].geoscore < pair[0].geoscore]
    return gains, losses


def think_text(completion: str) -> str:
    """The thinking of a completion, cleaned; the whole completion where it has none.

    >>> think_text("<think>red soil</think><answer>{}</answer>")
    'red soil'
    """
    found = _THINK.search(completion)
    inner = clean(found.group(1)) if found else ""
    return inner or clean(completion) or "(nothing)"


def guess_words(prediction: Prediction) -> str:
    """Country, coordinates, distance and score of a guess, in words."""
    if not prediction.parsed or prediction.lat_deg is None or prediction.lon_deg is None:
        return "no readable answer" + (" (cut off)" if prediction.truncated else "")
    country = clean(prediction.country or "no country", 60)
    return (
        f"{country} ({prediction.lat_deg:.2f}, {prediction.lon_deg:.2f}), "
        f"{wording.distance(prediction.d_km)} off, {prediction.geoscore:,.0f} points"
    )


def _place(prediction: Prediction) -> str:
    parts = [prediction.true_city, prediction.true_region, wording.country(prediction.true_country_iso2)]
    where = ", ".join(dict.fromkeys(clean(part, 60) for part in parts if part))
    return f"{where} ({prediction.true_latitude:.2f}, {prediction.true_longitude:.2f})"


def _example(run: Run, split: str, pair: Pair) -> Example:
    first, second = pair
    change = second.geoscore - first.geoscore
    path: Path | None = run.thumbnail(split, second.id)
    return Example(
        photo_id=second.id,
        headline=f"{wording.change(change, 'points')} points: {first.geoscore:,.0f} → {second.geoscore:,.0f}",
        truth=_place(second),
        before=guess_words(first),
        after=guess_words(second),
        before_text=think_text(first.completion),
        after_text=think_text(second.completion),
        image_jpeg=path.read_bytes() if path else None,
        image_alt=f"Street photo taken in {wording.country(second.true_country_iso2)}",
        better=change > 0,
    )


def example_blocks(
    run: Run, split: str, gains: Sequence[Pair], losses: Sequence[Pair]
) -> tuple[Examples, ...]:
    """Two rows of cards."""
    titles = (
        (f"The {len(gains)} photos where it gained most", gains),
        (f"The {len(losses)} photos where it lost most", losses),
    )
    return tuple(
        Examples(title, tuple(_example(run, split, pair) for pair in pairs))
        for title, pairs in titles
        if pairs
    )
