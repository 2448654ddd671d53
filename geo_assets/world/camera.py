"""The pinhole camera of a scene: a straight road to a vanishing point on the horizon.

`depth` is the share of the way from the horizon (0) to the bottom edge (1), that is, inverse
distance; sizes on screen grow in proportion to it. All lengths are pixels of a picture
512 high. The camera rides in its own lane, so `own` (+1 right, -1 left) mirrors the road.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

WIDTH_PX, HEIGHT_PX = 683, 512

CENTRE_LINE_PX, OWN_EDGE_PX, FAR_EDGE_PX = 150, 215, 520
"""Distance on the bottom edge from below the vanishing point: the centre line and the far edge
on the other side, the own edge on the own side."""


@dataclass(frozen=True)
class Camera:
    """Where the horizon lies and on which side of the road the camera rides."""

    width_px: int
    horizon_px: int
    vanish_px: int
    own: int

    @property
    def bottom_px(self) -> int:
        """A line just below the picture, so that the road leaves no gap."""
        return HEIGHT_PX + 10

    @property
    def centre_line_px(self) -> int:
        """Centre line at the bottom edge."""
        return self.vanish_px - self.own * CENTRE_LINE_PX

    @property
    def own_edge_px(self) -> int:
        """Edge of the own lane at the bottom edge."""
        return self.vanish_px + self.own * OWN_EDGE_PX

    @property
    def far_edge_px(self) -> int:
        """Edge of the opposite lane at the bottom edge."""
        return self.vanish_px - self.own * FAR_EDGE_PX

    def x(self, bottom_px: float, depth: float) -> float:
        """Screen x of what passes the bottom edge at `bottom_px`."""
        return self.vanish_px + (bottom_px - self.vanish_px) * depth

    def y(self, depth: float) -> float:
        """Screen y of the ground."""
        return self.horizon_px + (self.bottom_px - self.horizon_px) * depth

    def beside(self, far: bool, depth: float, offset_px: float) -> tuple[float, float]:
        """A point on the ground beside the road, `offset_px` (at depth 1) outside its edge."""
        edge = self.far_edge_px - self.own * offset_px if far else self.own_edge_px + self.own * offset_px
        return self.x(edge, depth), self.y(depth)


def aim(rng: random.Random, drive_side: str, width_px: int = WIDTH_PX) -> Camera:
    """A camera with a little sway."""
    return Camera(
        width_px=width_px,
        horizon_px=int(HEIGHT_PX * 0.42) + rng.randint(-9, 9),
        vanish_px=width_px // 2 + rng.randint(-18, 18),
        own=1 if drive_side == "right" else -1,
    )
