"""Cached completions of `train_learnable`, scored again with any reward and no model.

`completions.jsonl` holds one line per completion: id, k, text, n_tokens, finish_reason. A line
that was cut off by a kill is counted, not fatal. Left out: where the files lie.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from geo_assets.errors import DataError
from geo_assets.task.answer import is_truncated, parse_answer
from geo_assets.task.predictions import Prediction
from geo_assets.task.rewards import get_reward

logger = logging.getLogger(__name__)


def predict_row(
    row: Mapping[str, Any], k: int, text: str, n_tokens: int, finish_reason: str, reward: str
) -> Prediction:
    """Sample `k` of a row of a set, parsed and scored.

    Args:
        row: a mapping with id, latitude, longitude, country_iso2 and, where known, region and city.
    """
    guess = parse_answer(text)
    scorer = get_reward(reward).score
    terms = scorer([text], [row["latitude"]], [row["longitude"]], [row["country_iso2"]])[0]
    return Prediction(
        id=row["id"],
        k=k,
        completion=text,
        country=guess.country if guess else None,
        country_iso2=guess.country_iso2 if guess else None,
        lat_deg=guess.lat_deg if guess else None,
        lon_deg=guess.lon_deg if guess else None,
        parsed=guess is not None,
        truncated=guess is None and (finish_reason == "length" or is_truncated(text)),
        true_latitude=row["latitude"],
        true_longitude=row["longitude"],
        true_country_iso2=row["country_iso2"],
        true_region=row.get("region"),
        true_city=row.get("city"),
        d_km=terms.d_km,
        geoscore=terms.geoscore,
        format=terms.format,
        country_reward=terms.country,
        dist=terms.dist,
        total=terms.total,
        n_tokens=n_tokens,
        finish_reason=finish_reason,
    )


def read_completions(
    path: Path, rows: Iterable[Mapping[str, Any]], reward: str = "geoguessr"
) -> list[Prediction]:
    """All cached completions whose row is known, as predictions.

    Args:
        path: `completions.jsonl`.
        rows: the rows of train_pool, in any order.
        reward: the reward that fills the score fields.

    Raises:
        DataError: the file is absent, or none of its completions belongs to a row.
    """
    by_id = {row["id"]: row for row in rows}
    found, strangers, damaged = [], 0, 0
    for line in _lines(path):
        try:
            entry = json.loads(line)
            row = by_id.get(entry["id"])
            rest = entry["k"], entry["text"], entry["n_tokens"], entry["finish_reason"]
        except (ValueError, KeyError, TypeError):
            damaged += 1
            continue
        if row is None:
            strangers += 1
        else:
            found.append(predict_row(row, *rest, reward))
    if strangers or damaged:
        logger.warning("%d completions of unknown rows and %d damaged lines left out", strangers, damaged)
    if not found:
        raise DataError(
            f"{path} holds no completion of these rows: give the train_pool that it was made from"
        )
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")[:-1]
    except OSError as error:
        raise DataError(f"no cached completions: {error}. Materialize train_learnable first") from error
