"""The model's own best answers as captions: rejection sampling from the cache of the learnability filter.

An earlier run asked the same model several times about each photo (`train_learnable`, `completions.jsonl`).
Of each photo's answers the best one is kept where its reward reaches a floor, and at most so many of each
country. No other model, and no answer that the reward does not confirm, takes part. What it leaves out:
answers to photos that train_pool does not hold.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from geo_assets.artifacts import read_manifest
from geo_assets.errors import DataError, ProfileError
from geo_assets.settings import WarmStart
from geo_assets.task.metrics import Prediction
from geo_assets.workers import scoring
from geo_assets.workers.learnable import COMPLETIONS, cached_completions
from geo_assets.workers.lesson import Caption

SOURCE = "train_learnable"


def own_captions(
    pool: Path, section: WarmStart, reward: str
) -> tuple[list[Caption], list[Caption], dict[str, Any]]:
    """Captions to learn from in training order, photos held out for the format check, and figures.

    Raises:
        ProfileError: `section.answers` is no finished train_learnable.
        DataError: no answer about a photo of the pool reaches the floor.
    """
    assert section.answers is not None, "the settings refuse mode own without answers"
    cached = cached_completions(require_finished(section.answers) / COMPLETIONS)
    rows = {row["id"]: row for row in scoring.rows_of(pool)}
    known = sorted(set(cached) & set(rows))
    predictions = scoring.predictions([rows[i] for i in known], [cached[i] for i in known], reward)
    best, dropped = best_answers(predictions, section.reward_floor, section.cap_per_country)
    dropped = {"not_in_train_pool": len(cached) - len(known), **dropped}
    if not best:
        raise DataError(
            f"no answer in {section.answers} about {len(known)} photos of train_pool reaches a reward of "
            f"{section.reward_floor:g}; lower warm_start.reward_floor"
        )
    rng = random.Random(section.seed)
    learn = [
        Caption(p.id, pool / rows[p.id]["image_path"], p.completion) for p in rng.sample(best, k=len(best))
    ][: section.scenes]
    learned = {caption.id for caption in learn}
    others = [row_id for row_id in sorted(rows) if row_id not in learned] or sorted(rows)
    chosen = rng.sample(others, k=min(section.check_rows, len(others)))
    held_out = [Caption(row_id, pool / rows[row_id]["image_path"], "") for row_id in chosen]
    figures = {
        "answered_photos": len(cached),
        "learned_photos": len(learn),
        "countries": len({p.true_country_iso2 for p in best}),
        "mean_reward_of_answers": round(sum(p.total for p in predictions) / len(predictions), 4),
        "mean_reward_of_learned": round(sum(p.total for p in best) / len(best), 4),
        "dropped": dropped,
    }
    return learn, held_out, figures


def require_finished(folder: Path) -> Path:
    """The folder itself, if it is a whole train_learnable under the name of its recipe.

    Raises:
        ProfileError: it is not; `latest` is refused because the run itself would move it.
    """
    if folder.is_symlink():
        raise ProfileError(
            f"warm_start.answers is {folder}, a link that moves with the next train_learnable; name what it "
            f"points to: {folder.resolve()}"
        )
    manifest = read_manifest(folder) or {}
    if manifest.get("asset") != SOURCE or not (folder / COMPLETIONS).is_file():
        raise ProfileError(
            f"warm_start.answers is {folder}, which is no finished {SOURCE}; name a folder "
            f"artifacts/{SOURCE}/RECIPE of an earlier run"
        )
    return folder


def best_answers(
    predictions: Iterable[Prediction], floor: float, cap_per_country: int
) -> tuple[list[Prediction], dict[str, int]]:
    """The best answer of each photo, and how many photos were left out for which reason.

    An answer must have the right form and a reward of at least `floor`; of equals the first sample counts. Of
    a (true) country the `cap_per_country` with the highest rewards stay. Ordered by photo.
    """
    best: dict[str, Prediction] = {}
    for p in predictions:
        if p.id not in best or (p.parsed, p.total) > (best[p.id].parsed, best[p.id].total):
            best[p.id] = p
    good = [p for p in best.values() if p.parsed and p.total >= floor]
    taken: Counter[str | None] = Counter()
    kept = []
    for p in sorted(good, key=lambda p: (-p.total, p.id)):
        if taken[p.true_country_iso2] < cap_per_country:
            taken[p.true_country_iso2] += 1
            kept.append(p)
    dropped = {"below_the_floor": len(best) - len(good), "above_the_cap": len(good) - len(kept)}
    return sorted(kept, key=lambda p: p.id), dropped
