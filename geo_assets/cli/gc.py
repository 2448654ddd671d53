"""`gc`: delete artifacts that the current profile does not name, and what killed builds left.

Without `--yes` it only lists them. What other profiles made counts as old: name them with `--keep`.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from geo_assets.artifacts import Store
from geo_assets.graph import GRAPH, Resolver
from geo_assets.profile import home, load_profile


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("gc", help="delete old artifacts", description=__doc__)
    parser.add_argument(
        "--keep", action="append", default=[], metavar="PROFILE", help="another profile to keep"
    )
    parser.add_argument("--yes", action="store_true", help="delete; without it, only list")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    store = Store(home())
    old = [*_unnamed(store, [None, *arguments.keep]), *store.leftovers()]
    freed = 0
    for path in old:
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        freed += size
        print(f"{size / 2**20:9.1f} MiB  {path.relative_to(store.home)}")
        if arguments.yes:
            store.remove(path)
    free = shutil.disk_usage(store.home).free / 2**30 if store.home.exists() else 0.0
    verb = "deleted" if arguments.yes else "would be deleted with --yes"
    print(f"{len(old)} directories, {freed / 2**20:.1f} MiB {verb}; {free:.1f} GiB free")
    print("a photo that several sets share by hard link counts in each and is freed with the last")
    return 0


def _unnamed(store: Store, profiles: list[str | None]) -> list[Path]:
    kept = set()
    for profile in profiles:
        settings = load_profile(profile)
        resolver = Resolver(settings, store)
        kept |= {artifact.path for name in GRAPH if (artifact := resolver.find(name))}
        if settings.warm_start.answers:  # of another profile's run, and needed by this one
            kept.add(settings.warm_start.answers.absolute())
    return [artifact.path for artifact in store.all() if artifact.path not in kept]
