"""`plan`: what a materialization would build or reuse, and what the budget allows.

It reads manifests only: no data, no model, no Dagster.
"""

from __future__ import annotations

import argparse

from geo_assets.artifacts import Store
from geo_assets.budget import plan_budget
from geo_assets.graph import GRAPH, Resolver
from geo_assets.profile import home, load_profile


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "plan", help="what would be built or reused, and the budget", description=__doc__
    )
    parser.add_argument("--seconds-per-step", type=_positive, metavar="S", help="measured seconds per GRPO step")
    parser.add_argument("--budget-hours", type=_positive, metavar="H", help="hours to spend (default: profile's)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    settings = load_profile()
    resolver = Resolver(settings, Store(home()))
    print(f"profile {settings.name}, artifacts in {home()}")
    for name in GRAPH:
        artifact = resolver.find(name)
        recipe = resolver.recipe(name)
        if artifact is not None:
            print(f"  {name:<20} reuse    {artifact.path.name}  {artifact.n_bytes / 2**20:9.1f} MiB")
        elif recipe is not None:
            print(f"  {name:<20} build    {recipe.digest}")
        else:
            waits = [above for above in GRAPH[name].upstream if resolver.find(above) is None]
            print(f"  {name:<20} build    after {', '.join(waits)}")
    seconds = arguments.seconds_per_step or _measured(resolver)
    hours = arguments.budget_hours or settings.runtime.budget_hours
    if seconds is None:
        print("budget: unknown until smoke_test has run; give --seconds-per-step to try a value")
        return 0
    print(plan_budget(settings, seconds, hours))
    return 0


def _measured(resolver: Resolver) -> float | None:
    smoke = resolver.find("smoke_test")
    return None if smoke is None else smoke.metadata.get("seconds_per_step")


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value
