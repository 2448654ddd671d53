"""What would fail hours later, said now: one finding for each thing that a run depends on.

Neither torch nor dagster is imported; without the Hub it answers in about a second. `examine` yields
findings in the order a person would look: programs, machine, GPU, Hub, profile, artifacts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from geo_assets.doctor import gpu, hub, machine, packages, state
from geo_assets.doctor.finding import Finding
from geo_assets.settings import Settings

__all__ = ["Finding", "examine"]


def examine(
    settings: Settings,
    environment: Mapping[str, str],
    home: Path,
    *,
    offline: bool = False,
    verify: bool = False,
) -> Iterator[Finding]:
    """Every finding for this profile on this machine.

    `offline` asks nothing of the network. `verify` reads all artifacts and compares their hashes.
    """
    yield machine.python()
    yield from packages.installed(settings)
    yield from packages.fits()
    yield machine.size(settings)
    yield from machine.disks(settings, environment, home)
    yield from machine.ports()
    yield from gpu.examine(settings, environment)
    yield from hub.examine(settings, environment, offline=offline)
    yield from state.keys(environment)
    yield from state.dagster_home(environment)
    yield from state.profile(settings)
    if verify:
        yield from state.artifacts(home)
