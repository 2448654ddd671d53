"""`rewards`: the rewards a profile can name, attacked by canned policies, or replayed on cached completions.

Nothing here needs a model. It reads the artifacts of the current profile unless you name a folder.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geo_assets.errors import ArtifactError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "rewards", help="list, attack or replay the rewards", description=__doc__
    )  # fmt: skip
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--attack", action="store_true", help="score every canned policy by every reward")
    mode.add_argument(
        "--replay", action="store_true", help="rank rewards by the share of learnable groups they give"
    )
    parser.add_argument("--reward", action="append", metavar="NAME", help="only this reward (repeatable)")
    parser.add_argument(
        "--gold", type=Path, metavar="DIR", help="a set whose places are attacked (default: world places)"
    )
    parser.add_argument(
        "--learnable", type=Path, metavar="DIR", help="a train_learnable artifact (default: the profile's)"
    )
    parser.add_argument("--pool", type=Path, metavar="DIR", help="its train_pool (default: the profile's)")
    parser.add_argument("--std-threshold", type=float, metavar="X", help="try another threshold for set A")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.attack:
        return _attack(arguments)
    return _replay(arguments) if arguments.replay else _list(arguments)


def _list(arguments: argparse.Namespace) -> int:
    from geo_assets.task.rewards import REWARDS, get_reward

    chosen = [get_reward(name) for name in arguments.reward or sorted(REWARDS)]
    _print([{"reward": reward.name, "pays for": reward.about} for reward in chosen], arguments.json)
    return 0


def _attack(arguments: argparse.Namespace) -> int:
    from geo_assets.task.attacks import run_attacks
    from geo_assets.task.gold import standard_gold

    if arguments.gold:
        from geo_assets.osv.sets import read_set

        frame = read_set(arguments.gold).select("latitude", "longitude", "country_iso2")
        table = run_attacks(frame.rows(named=True), arguments.reward)
    else:
        table = run_attacks(standard_gold(), arguments.reward)
    _print(table.rows, arguments.json)
    if not arguments.json:
        print(table.message)
    return 0 if table.passed else 1


def _replay(arguments: argparse.Namespace) -> int:
    from geo_assets.osv.sets import read_set
    from geo_assets.profile import load_profile
    from geo_assets.task.learnability import rank_rewards
    from geo_assets.task.replay import read_completions

    settings = load_profile().learnable
    if arguments.std_threshold is not None:
        settings = settings.model_copy(update={"std_threshold": arguments.std_threshold})
    learnable = arguments.learnable or _artifact("train_learnable")
    pool = arguments.pool or _artifact("train_pool")
    rows = read_set(pool).rows(named=True)
    found = read_completions(learnable / "completions.jsonl", rows)
    _print(rank_rewards(found, settings, arguments.reward), arguments.json)
    if not arguments.json:
        photos = len({prediction.id for prediction in found})
        print(f"{len(found)} completions of {photos} photos; set A at std > {settings.std_threshold:g}")
    return 0


def _artifact(asset: str) -> Path:
    """The current profile's artifact of an asset."""
    from geo_assets.artifacts import Store
    from geo_assets.graph import Resolver
    from geo_assets.profile import home, load_profile

    found = Resolver(load_profile(), Store(home())).find(asset)
    if found is None:
        raise ArtifactError(f"{asset} is not built for this profile: materialize it, or name a folder")
    return found.path


def _print(rows: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    names = list(rows[0]) if rows else []
    cells = [names] + [[_cell(row[name]) for name in names] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "holds" if value else "BROKEN"
    return f"{value:.4f}" if isinstance(value, float) else str(value)
