"""What one pipeline run left on disk, read once and typed: the input of every other report module.

Splits, decodings, controls, leak tables, thumbnails and logs that are absent stay absent; the sections
that need them say so. A missing artifact, or an evaluation without a policy, is an error.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geo_assets.errors import ArtifactError
from geo_assets.settings import Settings
from geo_assets.task.metrics import Columns, Prediction, columns, per_completion
from geo_assets.task.prompt import is_echo

logger = logging.getLogger(__name__)

UPSTREAM = (
    "base_metrics",
    "rl_metrics",
    "checkpoint_metrics",
    "lora_checkpoints",
    "train_learnable",
    "smoke_test",
)
SPLITS = ("eval_osv", "eval_quick", "eval_pano", "eval_photos")
DECODINGS = ("greedy", "sampled")
CONTROLS = ("shuffled", "blank")
Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Answers:
    """All predictions of one model on one split under one decoding, with their metrics."""

    who: str
    split: str
    decoding: str
    predictions: tuple[Prediction, ...]
    metrics: Json
    resamples: int
    seed: int
    remembered: dict[tuple, Any] = field(default_factory=dict, repr=False)
    """Comparisons already made, see `comparison.compare`."""

    @property
    def n_photos(self) -> int:
        """Photos, not completions: k samples of one photo count once."""
        return len(self.columns.ids)

    @cached_property
    def columns(self) -> Columns:
        """The predictions as arrays, photos by completions."""
        return columns(self.predictions)

    @cached_property
    def photo_ids(self) -> frozenset[str]:
        """The ids of all photos."""
        return frozenset(self.columns.ids)

    @cached_property
    def values(self) -> dict[str, NDArray[np.float64]]:
        """Metric key to its values, photos by completions, for every metric that has one per photo."""
        by_id = self.columns.ids
        echoes: dict[str, list[float]] = {photo_id: [] for photo_id in by_id}
        for p in self.predictions:
            echoes[p.id].append(float(is_echo(p.country, p.lat_deg, p.lon_deg)))
        return per_completion(self.columns) | {
            "mean_completion_tokens": self.columns.n_tokens,
            "prompt_echo_rate": np.array([echoes[photo_id] for photo_id in by_id]),
        }

    @cached_property
    def first(self) -> dict[str, Prediction]:
        """Photo id to its first completion."""
        found: dict[str, Prediction] = {}
        for prediction in self.predictions:
            found.setdefault(prediction.id, prediction)
        return found


@dataclass(frozen=True)
class Run:
    """Everything the report shows."""

    settings: Settings
    recipes: Mapping[str, str]
    upstream: Mapping[str, Path]
    answers: Mapping[tuple[str, str, str], Answers]
    leaks: Mapping[str, pl.DataFrame]
    checkpoints: tuple[Json, ...]
    best: Json
    log: tuple[Json, ...]
    smoke_log: tuple[Json, ...]
    train_stats: Json
    smoke: Json
    filter_stats: Json
    dropped: Mapping[str, Json]
    manifests: Mapping[str, Json]
    timings: Mapping[str, Json]

    @property
    def start(self) -> str:
        """Who training started from: `start`, or `base` where the warm-up passes through."""
        return "start" if any(who == "start" for who, _, _ in self.answers) else "base"

    @property
    def is_demo(self) -> bool:
        """Whether the world is drawn, so that no figure compares with real photos."""
        return self.settings.osv_zips.source == "demo"

    @property
    def planted_bias(self) -> bool:
        """Whether the warm-up was taught to name look-alikes."""
        return self.settings.warm_start.mode == "sft" and self.settings.warm_start.lookalike_share > 0

    @property
    def splits(self) -> list[str]:
        """The splits that policy and start both answered, in their fixed order."""
        answered = {split for who, split, _ in self.answers if who == "policy"}
        present = {split for split in answered if any(self.pair(split, decoding) for decoding in DECODINGS)}
        return [s for s in SPLITS if s in present] + sorted(present - set(SPLITS))

    @property
    def main_split(self) -> str:
        """The split the verdict is about."""
        return self.splits[0]

    def get(self, who: str, split: str, decoding: str) -> Answers | None:
        """The answers, or None where this run has none."""
        return self.answers.get((who, split, decoding))

    def pair(self, split: str, decoding: str, before: str | None = None) -> tuple[Answers, Answers] | None:
        """(before, policy) answers with photos in common; `before` defaults to the start."""
        first, second = self.get(before or self.start, split, decoding), self.get("policy", split, decoding)
        return (first, second) if first and second and first.photo_ids & second.photo_ids else None

    def unseen_ids(self, answers: Answers) -> frozenset[str]:
        """The photos of a split that chose no checkpoint; all of them where nothing else would be left.

        The verdict is about these, because the best of several checkpoints looks better than it is on the
        photos that chose it.
        """
        everyone = frozenset(answers.first)
        quick = self.get("policy", "eval_quick", "greedy") or self.get("policy", "eval_quick", "sampled")
        return (everyone - frozenset(quick.first) if quick else everyone) or everyone

    def thumbnail(self, split: str, photo_id: str) -> Path | None:
        """The small picture of a photo; eval_quick is cut from eval_osv, so it may lie there."""
        for name in dict.fromkeys((split, "eval_osv")):
            path = self.upstream["base_metrics"] / "thumbs" / name / f"{photo_id}.jpg"
            if path.is_file():
                return path
        return None


def _json(path: Path, default: Any = None) -> Any:
    if not path.is_file():
        if default is not None:
            return default
        raise ArtifactError(
            f"{path.name} is missing in {path.parent}: materialize {path.parent.parent.name} again"
        )
    return json.loads(path.read_text(encoding="utf-8"))


def _lines(path: Path) -> list[Json]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def completion_tokens(path: Path) -> int | None:
    """The tokens of all cached completions, or None where there are none."""
    return sum(int(record.get("n_tokens", 0)) for record in _lines(path)) or None


def _read_answers(root: Path, settings: Settings) -> dict[tuple[str, str, str], Answers]:
    found = {}
    for path in sorted(root.glob("*/*/*/predictions.jsonl")):
        who, split, decoding = path.parts[-4:-1]
        predictions = tuple(Prediction.from_json(record) for record in _lines(path))
        if not predictions:
            logger.warning("%s/%s/%s has no predictions and is left out of the report", who, split, decoding)
            continue
        metrics = _json(path.with_name("metrics.json"), default={})
        found[who, split, decoding] = Answers(
            who, split, decoding, predictions, metrics, settings.evaluate.resamples, settings.evaluate.seed
        )
    return found


def _read_leaks(root: Path) -> dict[str, pl.DataFrame]:
    return {path.stem: pl.read_parquet(path) for path in sorted((root / "leaks").glob("*.parquet"))}


def _read_dropped(upstream: Mapping[str, Path]) -> dict[str, Json]:
    """Counts of dropped rows per set, wherever an upstream artifact carries them on."""
    found: dict[str, Json] = {}
    for asset, folder in sorted(upstream.items()):
        if (counts := _json(folder / "dropped.json", default={})) != {}:
            found["train_pool" if asset == "train_learnable" else asset] = counts
        for path in sorted((folder / "dropped").glob("*.json")):
            found[path.stem] = _json(path)
    return found


def read_run(upstream: Mapping[str, Path], settings: Settings, recipes: Mapping[str, str]) -> Run:
    """Read the artifact directories the report is made from.

    Args:
        upstream: asset name to its directory, for every name in `UPSTREAM`.
        settings: the profile the run was made with.
        recipes: asset name to its recipe digest.

    Raises:
        ArtifactError: an artifact is missing, or no split has answers of both policy and start.
    """
    missing = [name for name in UPSTREAM if name not in upstream or not Path(upstream[name]).is_dir()]
    if missing:
        raise ArtifactError(f"the report needs {', '.join(missing)}: materialize what is missing first")
    folders = {name: Path(path) for name, path in upstream.items()}
    answers = _read_answers(folders["base_metrics"], settings) | _read_answers(
        folders["rl_metrics"], settings
    )
    run = Run(
        settings=settings,
        recipes=recipes,
        upstream=folders,
        answers=answers,
        leaks=_read_leaks(folders["rl_metrics"]),
        checkpoints=tuple(_json(folders["checkpoint_metrics"] / "checkpoints.json", default=[])),
        best=_json(folders["checkpoint_metrics"] / "best.json", default={}),
        log=tuple(_lines(folders["lora_checkpoints"] / "log_history.jsonl")),
        smoke_log=tuple(_lines(folders["smoke_test"] / "log_history.jsonl")),
        train_stats=_json(folders["lora_checkpoints"] / "train_stats.json", default={}),
        smoke=_json(folders["smoke_test"] / "smoke.json", default={}),
        filter_stats=_json(folders["train_learnable"] / "filter_stats.json", default={}),
        dropped=_read_dropped(folders),
        manifests={name: _json(path / "manifest.json", default={}) for name, path in folders.items()},
        timings={name: _json(path / "timings.json", default={}) for name, path in folders.items()},
    )
    if not run.splits:
        raise ArtifactError(
            "no split has answers of both the start and the policy: materialize base_metrics and "
            "rl_metrics again"
        )
    return run
