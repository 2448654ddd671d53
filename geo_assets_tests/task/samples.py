"""Small gold sets and predictions that several tests of the task layer share."""

from __future__ import annotations

import json
import random

from geo_assets.geo.countries import country_name
from geo_assets.task.predictions import Prediction
from geo_assets.task.replay import predict_row

PLACES = (
    (-1.2921, 36.8219, "KE"), (-4.0435, 39.6682, "KE"),
    (48.8566, 2.3522, "FR"), (45.7640, 4.8357, "FR"),
    (35.6762, 139.6503, "JP"), (43.0618, 141.3545, "JP"),
    (-23.5505, -46.6333, "BR"), (-12.9777, -38.5016, "BR"),
)  # fmt: skip


def completion(country: str, lat: float, lon: float) -> str:
    """A completion in the right form."""
    return f"<think>clues</think><answer>{json.dumps({'country': country, 'lat': lat, 'lon': lon})}</answer>"


def row(i: int) -> dict:
    """Row i of an endless set over eight places of four countries."""
    latitude, longitude, iso2 = PLACES[i % len(PLACES)]
    return {"id": f"row-{i:04}", "latitude": latitude, "longitude": longitude, "country_iso2": iso2}


def gold(n: int = 80) -> list[dict]:
    """The first n rows, moved about by up to half a degree."""
    rng = random.Random(0)
    rows = [row(i) for i in range(n)]
    return [
        r
        | {
            "latitude": r["latitude"] + rng.uniform(-0.5, 0.5),
            "longitude": r["longitude"] + rng.uniform(-0.5, 0.5),
        }
        for r in rows
    ]


def prediction(i: int, text: str, k: int = 0, n_tokens: int = 40, finish_reason: str = "stop") -> Prediction:
    """A scored completion for row i."""
    return predict_row(row(i), k, text, n_tokens, finish_reason, "geoguessr")


def answered(i: int, iso2: str, lat: float, lon: float, k: int = 0) -> Prediction:
    """A prediction for row i that names a country and a point."""
    return prediction(i, completion(country_name(iso2), lat, lon), k)


def right(i: int, k: int = 0) -> Prediction:
    """The perfect prediction for row i."""
    r = row(i)
    return answered(i, r["country_iso2"], r["latitude"], r["longitude"], k)


def unparsed(i: int, k: int = 0) -> Prediction:
    """A prediction for row i without an answer."""
    return prediction(i, "I cannot say.", k)
