"""Ask a model where photos were taken: what the demo page and `predict` share.

One greedy answer and, if asked for, k sampled ones a photo. Models are any merged model folder, or those
that the profile's artifacts hold: the start as "before", the merged model as "after".
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from geo_assets import backends
from geo_assets.artifacts import Store
from geo_assets.backends.base import Backend, Request, Sampling
from geo_assets.errors import ModelError
from geo_assets.geo.geodesy import haversine_km
from geo_assets.geo.score import geoscore
from geo_assets.graph import Resolver
from geo_assets.models.loading import fitted_size, start_model_dir
from geo_assets.settings import Settings, Task
from geo_assets.task.answer import Guess, is_truncated, parse_answer
from geo_assets.task.prompt import messages

logger = logging.getLogger(__name__)

LatLon = tuple[float, float]


@dataclass(frozen=True)
class Answer:
    """One completion and what it says. The text comes from a model: untrusted."""

    text: str
    guess: Guess | None
    truncated: bool

    @property
    def place(self) -> LatLon | None:
        """The guessed (latitude, longitude) in degrees."""
        return (self.guess.lat_deg, self.guess.lon_deg) if self.guess else None


@dataclass(frozen=True)
class Answers:
    """What one model says about one photo."""

    greedy: Answer
    samples: tuple[Answer, ...]
    seconds: float

    @property
    def spread_km(self) -> float | None:
        """Median distance between the readable samples; None for fewer than two."""
        places = [a.place for a in self.samples if a.place]
        if len(places) < 2:
            return None
        lat, lon = np.array(places).T
        i, j = np.triu_indices(len(places), 1)
        return float(np.median(haversine_km(lat[i], lon[i], lat[j], lon[j])))


def error_of(answer: Answer, truth: LatLon) -> tuple[float, float] | None:
    """(km off, score) of an answer, or None where it names no place."""
    if answer.place is None:
        return None
    d_km = float(haversine_km(*truth, *answer.place))
    return d_km, float(geoscore(d_km))


class Guesser:
    """A model that is asked about photos; it loads at the first question."""

    def __init__(self, name: str, folder: Path, settings: Settings) -> None:
        self.name, self.folder = name, folder
        self._settings = settings
        self._backend: Backend | None = None

    def load(self) -> Backend:
        """The backend, loaded once.

        Raises:
            ModelError: the folder holds no model that loads.
        """
        if self._backend is None:
            if not (self.folder / "config.json").is_file():
                raise ModelError(f"{self.folder} holds no model; give a merged model folder with --model")
            started = time.monotonic()
            self._backend = backends.make(self._settings.runtime, self._settings.task, self.folder)
            logger.info("%s loaded from %s in %.1f s", self.name, self.folder, time.monotonic() - started)
        return self._backend

    def ask(self, photo: Image.Image, samples: int = 0, temperature: float = 1.0) -> Answers:
        """What the model says about an RGB photo: greedy, and `samples` times at `temperature`."""
        backend, task = self.load(), self._settings.task
        fitted = _fitted(photo, task)
        asked = [Sampling(max_tokens=task.max_completion_length)]
        if samples:
            asked.append(Sampling(temperature, 1.0, samples, task.max_completion_length, seed=0))
        started = time.monotonic()
        requests = [Request("photo", messages(task.prompt), (fitted,), sampling) for sampling in asked]
        completions = backend.generate(requests)
        answers = [tuple(_answer(c.text, c.finish_reason) for c in found) for found in completions]
        return Answers(answers[0][0], answers[1] if samples else (), time.monotonic() - started)


def _answer(text: str, finish_reason: str) -> Answer:
    guess = parse_answer(text)
    return Answer(text, guess, guess is None and (finish_reason == "length" or is_truncated(text)))


def _fitted(photo: Image.Image, task: Task) -> Image.Image:
    """The photo at the size of the task's pixel budget, as evaluation does it."""
    size = fitted_size(*photo.size, task.min_cells, task.max_cells)
    return photo.resize(size, Image.Resampling.BICUBIC)


def guessers(settings: Settings, store: Store, model: Path | None, before: Path | None) -> list[Guesser]:
    """The models to ask, "before" first where there is one.

    Args:
        settings: the profile; its task decides prompt and pixel budget.
        store: where artifacts live.
        model: a merged model folder; None takes merged_model of the profile.
        before: a model folder to compare with; None takes warm_start's where `model` is None too.

    Raises:
        ArtifactError: merged_model of this profile is not built.
    """
    resolver = Resolver(settings, store)
    found: list[Guesser] = []
    if before is not None:
        found.append(Guesser("before", before, settings))
    elif model is None and (start := resolver.find("warm_start")):
        found.append(Guesser("before", start_model_dir(start.path), settings))
    folder = model or resolver.need("merged_model").path
    return [*found, Guesser("after", folder, settings)]


def most_named(samples: Sequence[Answer]) -> list[tuple[str, int]]:
    """(country as named, times) of the samples, most first; unreadable ones as "no answer"."""
    counts: dict[str, int] = {}
    for answer in samples:
        name = answer.guess.country if answer.guess else "no answer"
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
