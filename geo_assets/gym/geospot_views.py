"""`geospot-views`: where was this panorama taken, from one or three of its views?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar

from geo_assets.errors import ProfileError
from geo_assets.gym.environment import Spec
from geo_assets.gym.geospot import GeoSpot
from geo_assets.gym.scenes import SET_OPTION, Picture, Scene, scenes


class GeoSpotViews(GeoSpot):
    """`geospot` with the views of a panorama in one prompt. One view is the middle one: the road ahead."""

    name = "geospot-views"
    about = "where was this panorama taken? One or three views in one prompt"
    options: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"set": SET_OPTION, "views": "1 or 3 (default 3)"}
    )

    def __init__(self, spec: Spec) -> None:
        self.views = int(spec.options.get("views", 3))
        if self.views not in (1, 3):
            raise ProfileError(f"option views of geospot-views is {self.views}: choose 1 or 3")
        super().__init__(spec)

    def make_tasks(self) -> Sequence[Scene]:
        """See `Environment.make_tasks`."""
        return scenes(self.spec, panoramas=True)

    def pictures(self, task: Scene) -> tuple[Picture, ...]:
        """See `GeoSpot.pictures`."""
        views = task.pictures()
        return views if self.views == 3 else views[len(views) // 2 :][:1]
