"""Load a profile: YAML, `extends`, environment overrides, typed settings.

    GEO_PROFILE=demo                     a built-in name, or the path of your own YAML file
    GEO_TRAIN__MAX_STEPS=20              overrides one value: GEO_<SECTION>__<KEY>[__<KEY>]
    GEO_HOME=./artifacts                 where artifacts live

A key that does not exist is refused with the nearest one that does. `settings.py` says what each means.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from geo_assets.artifacts import read_manifest
from geo_assets.errors import ProfileError
from geo_assets.settings import Section, Settings

BUILT_IN = Path(__file__).parent / "profiles"
PREFIX = "GEO_"
# Variables of the product that are no settings.
RESERVED = {"GEO_PROFILE", "GEO_HOME", "GEO_TEST_DATA", "GEO_JOB"}


def load_profile(name: str | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Load the profile `name` (default `$GEO_PROFILE`, else `demo`) with overrides from `environment`.

    Raises:
        ProfileError: the file is missing or unreadable, a key is unknown, or a value has the wrong type.
    """
    environment = os.environ if environment is None else environment
    name = name or environment.get("GEO_PROFILE") or "demo"
    values = _read_chain(name, ())
    values.setdefault("name", Path(name).stem)
    _merge(values, _overrides(environment))
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise ProfileError(f"profile {name}: {_first_fault(error)}") from None


def home(environment: Mapping[str, str] | None = None) -> Path:
    """The directory of all artifacts: `$GEO_HOME`, else `./artifacts`."""
    environment = os.environ if environment is None else environment
    return Path(environment.get("GEO_HOME") or "artifacts").absolute()


def built_in_profiles() -> list[str]:
    return sorted(path.stem for path in BUILT_IN.glob("*.yaml"))


def recipe_values(section: Section, without: Iterable[str] = ()) -> dict[str, Any]:
    """A section as it enters a recipe: JSON values; a path counts by what lies there, not by its name."""
    dumped = section.model_dump(mode="json", exclude=set(without))
    for key, value in section:
        if isinstance(value, Path) and key in dumped:
            dumped[key] = fingerprint(value)
    return dumped


def fingerprint(path: Path) -> str:
    """What lies at a path: the content digest of an artifact, else of names, sizes and modification times.

    Raises:
        ProfileError: nothing lies at `path`.
    """
    if not path.exists():
        raise ProfileError(f"{path} does not exist; correct the path in the profile")
    if manifest := read_manifest(path):
        return str(manifest["content"])
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    parts = [f"{p.relative_to(path)}:{p.stat().st_size}:{p.stat().st_mtime_ns}" for p in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _read_chain(name: str, seen: tuple[str, ...]) -> dict[str, Any]:
    path = _locate(name)
    if str(path) in seen:
        raise ProfileError(f"profile {name} extends itself; remove one of the `extends` lines")
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        line = str(error).replace("\n", " ")
        raise ProfileError(f"profile {path} cannot be read: {line}; correct the YAML") from None
    if not isinstance(values, dict):
        raise ProfileError(f"profile {path} holds no sections; write `section:` lines with values below them")
    parent = values.pop("extends", None)
    if parent is None:
        return values
    near = path.parent / str(parent)
    merged = _read_chain(str(near) if near.suffix and near.exists() else str(parent), (*seen, str(path)))
    merged.pop("name", None)
    _merge(merged, values)
    return merged


def _locate(name: str) -> Path:
    path = Path(name).expanduser()
    if path.suffix in {".yaml", ".yml"} or os.sep in name:
        if path.is_file():
            return path.absolute()
        raise ProfileError(f"profile {name} does not exist; give the path of a YAML file")
    if (built_in := BUILT_IN / f"{name}.yaml").is_file():
        return built_in
    raise ProfileError(f"unknown profile {name!r}{_nearest(name, built_in_profiles())}")


def _overrides(environment: Mapping[str, str]) -> dict[str, Any]:
    overrides: dict[str, Any] = {}
    for variable in sorted(environment):
        if not variable.startswith(PREFIX) or variable in RESERVED:
            continue
        keys = variable.removeprefix(PREFIX).lower().split("__")
        target = overrides
        for key in keys[:-1]:
            target = target.setdefault(key, {})
        target[keys[-1]] = _scalar(variable, environment[variable])
    return overrides


def _scalar(variable: str, text: str) -> Any:
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ProfileError(f"{variable}={text!r} is not a YAML value; quote it") from None
    # YAML 1.1 reads 1e-5 as text because it has no dot; every other program reads a number.
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _merge(into: dict[str, Any], values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _first_fault(error: ValidationError) -> str:
    faults = error.errors(include_url=False)
    fault = faults[0]
    where = ".".join(str(part) for part in fault["loc"])
    more = f" ({len(faults) - 1} more)" if len(faults) > 1 else ""
    if fault["type"] == "extra_forbidden":
        return f"unknown key {where!r}{_nearest(str(fault['loc'][-1]), _fields(fault['loc'][:-1]))}{more}"
    if fault["type"] == "missing":
        return f"{where} has no value; set it in the profile{more}"
    return f"{where} = {fault.get('input')!r}: {fault['msg'].lower()}{more}"


def _fields(location: tuple[int | str, ...]) -> list[str]:
    model: type[BaseModel] = Settings
    for part in location:
        annotation = model.model_fields[str(part)].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            model = annotation
    return list(model.model_fields)


def _nearest(name: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}"
