"""Country outlines and the Equal Earth projection, for maps that need no network.

Latitudes and longitudes are degrees; projected coordinates are px on a map `WIDTH` wide with north up,
cropped at `SOUTH` and `NORTH`. The outlines are Natural Earth 1:110m (`data/maps/README.md`).
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise

WIDTH = 800
NORTH, SOUTH = 84.0, -57.0
_A1, _A2, _A3, _A4 = 1.340264, -0.081106, 0.000893, 0.003796
_M = math.sqrt(3) / 2


def _equal_earth(lat_deg: float, lon_deg: float) -> tuple[float, float]:
    theta = math.asin(_M * math.sin(math.radians(lat_deg)))
    t2 = theta * theta
    t6 = t2 * t2 * t2
    slope = _A1 + 3 * _A2 * t2 + t6 * (7 * _A3 + 9 * _A4 * t2)
    x = math.radians(lon_deg) * math.cos(theta) / (_M * slope)
    return x, theta * (_A1 + _A2 * t2 + t6 * (_A3 + _A4 * t2))


_SCALE = WIDTH / (2 * _equal_earth(0.0, 180.0)[0])
_TOP = _equal_earth(NORTH, 0.0)[1]
HEIGHT = math.ceil((_TOP - _equal_earth(SOUTH, 0.0)[1]) * _SCALE)


def project(lat_deg: float, lon_deg: float) -> tuple[float, float]:
    """Equal Earth (Šavrič, Patterson and Jenny 2018) to map px; areas are true to scale.

    >>> project(0.0, 0.0)[0], project(0.0, 180.0)[0]
    (400.0, 800.0)
    """
    x, y = _equal_earth(lat_deg, lon_deg)
    return WIDTH / 2 + x * _SCALE, (_TOP - y) * _SCALE


def unproject(x: float, y: float) -> tuple[float, float] | None:
    """(lat_deg, lon_deg) of a point of the map, or None outside of it.

    >>> lat, lon = unproject(*project(-33.9, 18.4))
    >>> round(lat, 6), round(lon, 6)
    (-33.9, 18.4)
    """
    goal = _TOP - y / _SCALE
    low, high = -90.0, 90.0
    if not _equal_earth(low, 0.0)[1] <= goal <= _equal_earth(high, 0.0)[1]:
        return None
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _equal_earth(middle, 0.0)[1] < goal else (low, middle)
    lon = 180.0 * (x - WIDTH / 2) / (_equal_earth(low, 180.0)[0] * _SCALE)
    return (low, lon) if abs(lon) <= 180 else None


@cache
def rings() -> dict[str, list[list[tuple[float, float]]]]:
    """ISO 3166-1 alpha-2 to rings of (lat_deg, lon_deg)."""
    path = files("geo_assets").joinpath("data/maps/countries-110m.json")
    coded = json.loads(path.read_text(encoding="utf-8"))["rings"]
    return {
        iso2: [
            [(lat / 10, lon / 10) for lon, lat in zip(accumulate(r[0::2]), accumulate(r[1::2]), strict=True)]
            for r in country
        ]
        for iso2, country in coded.items()
    }


def _ring_path(ring: list[tuple[float, float]]) -> str:
    points = [tuple(round(v * 2) for v in project(lat, lon)) for lat, lon in ring]
    points = [p for i, p in enumerate(points) if i == 0 or p != points[i - 1]]
    if len(points) < 3:
        return ""
    moves = " ".join(f"{b[0] - a[0]} {b[1] - a[1]}" for a, b in pairwise(points))
    return f"M{points[0][0]} {points[0][1]}l{moves.replace(' -', '-')}z"


@cache
def country_paths() -> dict[str, str]:
    """ISO 3166-1 alpha-2 to SVG path data in half px (draw with `scale(.5)`)."""
    paths = {iso2: "".join(_ring_path(ring) for ring in country) for iso2, country in rings().items()}
    return {iso2: path for iso2, path in paths.items() if path}


@cache
def globe_path() -> str:
    """The sea: the outline of the cropped projection, in px."""
    sides = [(lat, 180.0) for lat in range(int(NORTH), int(SOUTH) - 1, -3)]
    edge = [project(lat, lon) for lat, lon in sides] + [project(lat, -lon) for lat, lon in reversed(sides)]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in edge) + "z"


def great_circle(
    from_deg: tuple[float, float], to_deg: tuple[float, float], step_km: float = 250.0
) -> list[list[tuple[float, float]]]:
    """Points (lat_deg, lon_deg) along the shortest path, cut where it crosses the antimeridian.

    Between antipodes every path is shortest; the one over the plane of the two vectors' sum falls away,
    so a straight sampling in longitude stands in.

    >>> [len(piece) for piece in great_circle((0, 170), (0, -170))]
    [5, 5]
    """
    (lat0, lon0), (lat1, lon1) = ((math.radians(a), math.radians(b)) for a, b in (from_deg, to_deg))
    cos_angle = math.sin(lat0) * math.sin(lat1) + math.cos(lat0) * math.cos(lat1) * math.cos(lon1 - lon0)
    angle = math.acos(max(-1.0, min(1.0, cos_angle)))
    n = max(2, math.ceil(angle * 6371.0 / step_km) + 1)
    shares = [i / (n - 1) for i in range(n)]
    if math.sin(angle) < 1e-6:
        points = [
            (from_deg[0] + s * (to_deg[0] - from_deg[0]), from_deg[1] + s * (to_deg[1] - from_deg[1]))
            for s in shares
        ]
    else:
        points = [_between((lat0, lon0), (lat1, lon1), angle, s) for s in shares]
    pieces = [[points[0]]]
    for (_, lon), (next_lat, next_lon) in pairwise(points):
        if abs(next_lon - lon) > 180:
            pieces.append([])
        pieces[-1].append((next_lat, next_lon))
    return pieces


def _between(
    start: tuple[float, float], end: tuple[float, float], angle: float, share: float
) -> tuple[float, float]:
    """The point at `share` of the arc, in degrees; inputs in radians."""
    (lat0, lon0), (lat1, lon1) = start, end
    a, b = math.sin((1 - share) * angle) / math.sin(angle), math.sin(share * angle) / math.sin(angle)
    x = a * math.cos(lat0) * math.cos(lon0) + b * math.cos(lat1) * math.cos(lon1)
    y = a * math.cos(lat0) * math.sin(lon0) + b * math.cos(lat1) * math.sin(lon1)
    z = a * math.sin(lat0) + b * math.sin(lat1)
    return math.degrees(math.atan2(z, math.hypot(x, y))), math.degrees(math.atan2(y, x))
