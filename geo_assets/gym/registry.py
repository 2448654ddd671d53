"""Environments by name: the built-in ones, and those that other packages declare.

A package adds its own with an entry point in the group `geo_assets.environments`:

    [project.entry-points."geo_assets.environments"]
    brighter = "my_package:Brighter"

The value is a subclass of `Environment`, or any callable from a `Spec` to an environment. A name that is
built in cannot be taken. One that does not import says so when it is asked for, and never before.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from geo_assets.errors import ProfileError
from geo_assets.gym.environment import Environment, Spec

GROUP = "geo_assets.environments"
BUILT_IN = {
    "caption": "geo_assets.gym.caption:Caption",
    "geospot": "geo_assets.gym.geospot:GeoSpot",
    "geospot-views": "geo_assets.gym.geospot_views:GeoSpotViews",
    "geospot-zoom": "geo_assets.gym.geospot_zoom:GeoSpotZoom",
    "nlvr2": "geo_assets.gym.nlvr2:Nlvr2",
}


def names() -> list[str]:
    """Every environment there is, sorted."""
    return sorted({*BUILT_IN, *_declared()})


def load(name: str) -> Any:
    """The class (or factory) of an environment.

    Raises:
        ProfileError: there is none of that name, or its package does not import.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        return getattr(import_module(module), attribute)
    declared = _declared()
    if name not in declared:
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"choose one of {', '.join(names())}"
        raise ProfileError(f"there is no environment {name!r}; {hint}")
    try:
        return declared[name].load()
    except Exception as error:  # the package is someone else's, and anything may be wrong with it
        raise ProfileError(
            f"environment {name!r} ({declared[name].value}) cannot be loaded: {type(error).__name__}: {error}"
            "; correct or uninstall its package"
        ) from error


def make(name: str, spec: Spec | None = None) -> Environment:
    """The environment of a name, built from `spec`.

    Raises:
        ProfileError: there is none of that name, or an option is not one of its own.
        DataError: it has no tasks.
    """
    from geo_assets.errors import DataError

    spec = spec or Spec()
    found = load(name)
    known = getattr(found, "options", None)
    if known is not None and (unknown := sorted(set(spec.options) - set(known))):
        raise ProfileError(
            f"environment {name!r} has no option {unknown[0]!r}; it has: {', '.join(sorted(known)) or 'none'}"
        )
    environment = found(spec)
    if not isinstance(environment, Environment):
        raise ProfileError(f"environment {name!r} is no geo_assets.gym.Environment; derive it from one")
    if not len(environment):
        raise DataError(
            f"environment {name!r} has no tasks of split {spec.split!r}; ask for more, or other data"
        )
    return environment


def _declared() -> dict[str, EntryPoint]:
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return {point.name: point for point in found if point.name not in BUILT_IN}
