"""Does the demo's gain hold over seeds, and does it vanish with shuffled rewards?

    python tools/gain_over_seeds.py --seeds 0 1 2        about six minutes a seed and its control

Builds the demo's graph with other seeds of model, warm-up, row choice and training, each with its control
(`train.shuffle_rewards`), and prints the paired changes on the eval_osv scenes that chose no checkpoint.
Artifacts go to $GEO_HOME, so a run that is interrupted continues. The drawn world is the same for all seeds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from geo_assets.artifacts import Store
from geo_assets.graph import Resolver
from geo_assets.profile import home, load_profile
from geo_assets.task.intervals import paired
from geo_assets.task.predictions import Prediction

VALUES: dict[str, Callable[[Prediction], float]] = {
    "country accuracy": lambda p: float(p.country_iso2 == p.true_country_iso2),
    "mean GeoScore": lambda p: p.geoscore,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    print("| seed | rewards | answers | figure | start | policy | change, paired 95% interval | n |")
    print("|--:|:--|:--|:--|--:|--:|:--|--:|")
    for seed in parser.parse_args().seeds:
        for shuffled in (False, True):
            overrides = seeds_of(seed, shuffled)
            materialize(overrides)
            for line in changes(overrides):
                print(f"| {seed} | {'shuffled' if shuffled else 'true'} | {line}", flush=True)


def seeds_of(seed: int, shuffled: bool) -> dict[str, str]:
    """The overrides of the profile for one run."""
    sections = ("BASE_MODEL", "WARM_START", "LEARNABLE", "TRAIN")
    return {
        **{f"GEO_{section}__SEED": str(seed) for section in sections},
        "GEO_TRAIN__SHUFFLE_REWARDS": str(shuffled).lower(),
    }


def materialize(overrides: dict[str, str]) -> None:
    """Build what is stale up to base_metrics and rl_metrics."""
    command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "geo_assets.definitions"]
    done = subprocess.run(
        [*command, "--select", "+key:base_metrics or +key:rl_metrics"],
        env={**os.environ, **overrides},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stdout[-4000:])


def changes(overrides: dict[str, str]) -> list[str]:
    """A row per way of answering and figure."""
    resolver = Resolver(load_profile(None, {**os.environ, **overrides}), Store(home()))
    start = resolver.need("base_metrics").path / "start"
    policy = resolver.need("rl_metrics").path / "policy"
    rows = []
    for decoding in ("greedy", "sampled"):
        chose = {p.id for p in predictions(policy / "eval_quick" / decoding)}
        sides = [
            [p for p in predictions(side / "eval_osv" / decoding) if p.id not in chose]
            for side in (start, policy)
        ]
        for name, value in VALUES.items():
            found = paired(*([value(p) for p in side] for side in sides))
            digits = 3 if name == "country accuracy" else 0
            before, after, change, low, high = (
                round(float(found[key] or 0), digits)
                for key in ("before", "after", "difference", "low", "high")
            )
            interval = f"{change:+g} [{low:+g}, {high:+g}]"
            rows.append(f"{decoding} | {name} | {before:g} | {after:g} | {interval} | {found['n']} |")
    return rows


def predictions(folder: Path) -> list[Prediction]:
    with (folder / "predictions.jsonl").open(encoding="utf-8") as lines:
        return [Prediction.from_json(line) for line in lines]


if __name__ == "__main__":
    main()
