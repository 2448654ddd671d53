"""Does the demo's gain hold over seeds, and does it vanish with shuffled rewards?

    python tools/gain_over_seeds.py --seeds 0 1 2        about seven minutes a seed and its control

Builds the demo's graph with other seeds of model, warm-up, row choice and training, each with its control
(`train.shuffle_rewards`), and prints the paired changes on the eval_osv scenes that chose no checkpoint.
Their paired intervals say what other photos would change. What another run would change is in the last rows:
the mean over the seeds with its t interval. Artifacts go to $GEO_HOME, so a run that is interrupted
continues. The drawn world is the same for all seeds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev

from scipy.stats import t

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
    print("| seed | rewards | answers | figure | start | policy | change, 95% interval | n |")
    print("|--:|:--|:--|:--|--:|--:|:--|--:|")
    found: dict[tuple[str, str, str], list[float]] = {}
    for seed in parser.parse_args().seeds:
        for rewards in ("true", "shuffled"):
            overrides = seeds_of(seed, rewards == "shuffled")
            materialize(overrides)
            for change in changes(overrides):
                found.setdefault((rewards, change.decoding, change.figure), []).append(change.difference)
                print(f"| {seed} | {rewards} | {change}", flush=True)
    for (rewards, decoding, figure), differences in sorted(found.items(), reverse=True):
        print(f"| all | {rewards} | {decoding} | {figure} | | | {over_seeds(figure, differences)} | |")


@dataclass(frozen=True)
class Change:
    """How a figure changed from the start model to the policy on the same photos."""

    decoding: str
    figure: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        sides = f"{shown(self.figure, self.before)} | {shown(self.figure, self.after)}"
        change = interval(self.figure, self.difference, self.low, self.high)
        return f"{self.decoding} | {self.figure} | {sides} | {change} | {self.n} |"


def shown(figure: str, value: float, sign: str = "") -> str:
    return f"{value:{sign}.{3 if figure == 'country accuracy' else 0}f}"


def interval(figure: str, middle: float, low: float, high: float) -> str:
    middle_, low_, high_ = (shown(figure, value, "+") for value in (middle, low, high))
    return f"{middle_} [{low_}, {high_}]"


def over_seeds(figure: str, differences: Sequence[float]) -> str:
    """The mean over seeds with its 95% interval by Student's t."""
    middle = fmean(differences)
    if len(differences) < 2:
        return shown(figure, middle, "+")
    half = t.ppf(0.975, len(differences) - 1) * stdev(differences) / len(differences) ** 0.5
    return interval(figure, middle, middle - half, middle + half)


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


def changes(overrides: dict[str, str]) -> Iterator[Change]:
    """Each figure for each way of answering."""
    resolver = Resolver(load_profile(None, {**os.environ, **overrides}), Store(home()))
    start = resolver.need("base_metrics").path / "start"
    policy = resolver.need("rl_metrics").path / "policy"
    for decoding in ("greedy", "sampled"):
        chose = {p.id for p in predictions(policy / "eval_quick" / decoding)}
        sides = [
            [p for p in predictions(side / "eval_osv" / decoding) if p.id not in chose]
            for side in (start, policy)
        ]
        for figure, value in VALUES.items():
            old, new = ([value(p) for p in side] for side in sides)
            found = paired(old, new)
            before, after, difference, low, high = (
                float(found[key] or 0) for key in ("before", "after", "difference", "low", "high")
            )
            yield Change(decoding, figure, before, after, difference, low, high, int(found["n"] or 0))


def predictions(folder: Path) -> list[Prediction]:
    with (folder / "predictions.jsonl").open(encoding="utf-8") as lines:
        return [Prediction.from_json(line) for line in lines]


if __name__ == "__main__":
    main()
