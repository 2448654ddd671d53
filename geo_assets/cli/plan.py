"""`plan`: what would be built or reused, what the budget allows, the data schema and the LoRA targets.

It reads manifests only: no data, no weights, no Dagster. The LoRA targets come from the model's
configuration, which takes some seconds; `--quick` leaves them out.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from geo_assets.artifacts import Store
from geo_assets.budget import plan_budget
from geo_assets.errors import ModelError
from geo_assets.graph import GRAPH, Resolver
from geo_assets.profile import home, load_profile
from geo_assets.settings import Settings


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "plan", help="what would be built or reused, and the budget", description=__doc__
    )
    parser.add_argument(
        "--seconds-per-step", type=_positive, metavar="S", help="measured seconds per GRPO step"
    )
    parser.add_argument(
        "--budget-hours", type=_positive, metavar="H", help="hours to spend (default: profile's)"
    )
    parser.add_argument("--quick", action="store_true", help="leave the LoRA targets out")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    settings = load_profile()
    resolver = Resolver(settings, Store(home()))
    print(f"profile {settings.name}, artifacts in {home()}")
    _print_assets(resolver)
    seconds = arguments.seconds_per_step or _measured(resolver)
    hours = arguments.budget_hours or settings.runtime.budget_hours
    if seconds is None:
        print("budget: unknown until smoke_test has run; give --seconds-per-step to try a value")
    else:
        print(plan_budget(settings, seconds, hours))
    print(schema_lines())
    if not arguments.quick:
        print("\n".join(lora_lines(settings, _model_folder(resolver))), flush=True)
    return 0


def schema_lines() -> str:
    """Columns and types of every set, in order."""
    from geo_assets.osv.schema import PANO_SCHEMA, SET_SCHEMA

    def columns(schema: Any) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in schema.items())

    extra = {name: kind for name, kind in PANO_SCHEMA.items() if name not in SET_SCHEMA}
    return f"data: {columns(SET_SCHEMA)}; eval_pano also {columns(extra)}"


def lora_lines(settings: Settings, model_folder: str | None = None) -> list[str]:
    """The adapter's modules by kind, how many lie in the vision tower, and its size."""
    from geo_assets.models.lora_targets import lora_targets
    from geo_assets.models.published import configuration, skeleton

    config = configuration(settings.base_model.repo) if settings.base_model.source == "hub" else None
    if config is None and model_folder is not None:
        from transformers import AutoConfig

        config = AutoConfig.from_pretrained(model_folder, local_files_only=True)
    lora = settings.train.lora
    if config is None:
        what = f"LoRA: r {lora.r} on {', '.join(lora.targets)}, never {lora.exclude}"
        return [f"{what}; the list is known once base_model is built"]
    model = skeleton(config)
    try:
        names = lora_targets(model, lora)
    except ModelError as error:
        return [f"LoRA: {error}"]
    layers = dict(model.named_modules())
    size = sum(lora.r * sum(layers[name].weight.shape) for name in names)
    kinds = Counter(name.rpartition(".")[2] for name in names)
    visual = sum("visual" in name for name in names)
    by_kind = ", ".join(f"{kind} x {n}" for kind, n in kinds.items())
    return [
        f"LoRA: r {lora.r}, alpha {lora.alpha}, {len(names)} modules, {_count(size)} parameters, "
        f"{visual} in the vision tower",
        f"  {by_kind} (first {names[0]})",
    ]


def _count(n: int) -> str:
    return f"{n / 1e6:.1f} million" if n >= 1_000_000 else f"{n:,}"


def _print_assets(resolver: Resolver) -> None:
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


def _measured(resolver: Resolver) -> float | None:
    smoke = resolver.find("smoke_test")
    return None if smoke is None else smoke.metadata.get("seconds_per_step")


def _model_folder(resolver: Resolver) -> str | None:
    from geo_assets.models.loading import MODEL_DIR

    base = resolver.find("base_model")
    return None if base is None else str(base.path / MODEL_DIR)


def _positive(text: str) -> float:
    value = float(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value
