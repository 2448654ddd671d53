"""`bench`: measure a part of the product against straightforward code, in one run on this machine."""

from __future__ import annotations

import argparse
import importlib
import json

SUBJECTS = {
    "backends": ("geo_assets.bench.backends", "first token, tokens/s and images/s of each backend"),
    "task": ("geo_assets.bench.task", "parsing, rewards and metrics (no model)"),
    "data": ("geo_assets.osv.bench", "reading the CSV and extracting photos (no network)"),
}
"""Subject to its module, which has `add_arguments(parser)` and `measure(arguments) -> dict`."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("bench", help="measure a part of the product", description=__doc__)
    subjects = parser.add_subparsers(title="subjects", metavar="SUBJECT", required=True)
    for name, (module, about) in SUBJECTS.items():
        subject = subjects.add_parser(name, help=about, description=about)
        subject.add_argument("--json", action="store_true", help="print JSON instead of lines")
        importlib.import_module(module).add_arguments(subject)
        subject.set_defaults(run=run, module=module)


def run(arguments: argparse.Namespace) -> int:
    figures = importlib.import_module(arguments.module).measure(arguments)
    if arguments.json:
        print(json.dumps(figures, indent=1))
    else:
        width = max(map(len, figures))
        print("\n".join(f"{name.ljust(width)}  {value}" for name, value in figures.items()))
    return 0
