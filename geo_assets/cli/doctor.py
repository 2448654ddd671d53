"""`doctor`: what would fail later, said now: versions, GPU, memory, disk, ports, keys, Hub, profile.

Exit code 1 where something fails; warnings leave it 0.
"""

from __future__ import annotations

import argparse
import os

from geo_assets.profile import home, load_profile


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("doctor", help="what would fail later, said now", description=__doc__)
    parser.add_argument("--offline", action="store_true", help="do not ask the Hub")
    parser.add_argument(
        "--verify", action="store_true", help="also compare the hash of every file of every artifact"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from geo_assets.doctor import examine

    levels = []
    findings = examine(load_profile(), os.environ, home(), offline=arguments.offline, verify=arguments.verify)
    for finding in findings:
        print(finding, flush=True)
        levels.append(finding.level)
    failed, warned = levels.count("fail"), levels.count("warn")
    print(f"{failed} to repair, {warned} to know, {levels.count('ok')} fine")
    return 1 if failed else 0
