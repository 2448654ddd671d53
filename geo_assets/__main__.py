"""`python -m geo_assets`: what Dagster is not for. Each command is a module of `geo_assets.cli`.

Exit codes: 0 done, 1 an error with its remedy on one line, 2 bad usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence

from geo_assets import cli
from geo_assets.errors import GeoAssetsError

EPILOG = """\
The main way in is Dagster:
  dagster dev                                                      the page, at http://127.0.0.1:3000
  dagster asset materialize -m geo_assets.definitions --select '*' build all that is stale
The profile is $GEO_PROFILE (default: demo), artifacts live in $GEO_HOME (default: ./artifacts)."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.run(chosen))
    except GeoAssetsError as error:
        print(f"geo-assets: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `geo-assets plan | head` is no error
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="geo-assets",
        description="Post-train a vision-language model to say where a street-level photo was taken.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in sorted(pkgutil.iter_modules(cli.__path__), key=lambda found: found.name):
        command = importlib.import_module(f"{cli.__name__}.{module.name}")
        command.add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
