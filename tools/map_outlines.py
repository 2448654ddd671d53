"""Convert the `world-atlas` TopoJSON of Natural Earth 1:110m to the outlines that the maps draw.

Usage: `python tools/map_outlines.py package/countries-110m.json`. Writes `countries-110m.json` to
`geo_assets/data/maps`. Left out: Antarctica, which no street photo of the data sets shows.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

import pycountry

Ring = list[tuple[float, float]]
UNCODED = {"Kosovo": "XK", "N. Cyprus": "CY", "Somaliland": "SO"}
ATTRIBUTION = "Natural Earth 1:110m (public domain), by way of world-atlas 2.0.2 (ISC)"


def arcs_of(topology: dict) -> list[Ring]:
    """Decode the delta-coded arcs to lists of (lon, lat) in degrees."""
    (scale_x, scale_y), (shift_x, shift_y) = (
        topology["transform"]["scale"],
        topology["transform"]["translate"],
    )
    arcs = []
    for arc in topology["arcs"]:
        x = y = 0
        points = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            points.append((x * scale_x + shift_x, y * scale_y + shift_y))
        arcs.append(points)
    return arcs


def unwrap(ring: Ring) -> Ring:
    """Make a ring continuous where it jumps over the antimeridian."""
    out, shift = [ring[0]], 0.0
    for (lon, _), (next_lon, lat) in pairwise(ring):
        shift += 360.0 * ((lon - next_lon > 180) - (next_lon - lon > 180))
        out.append((next_lon + shift, lat))
    return out


def clip(ring: Ring, limit: float, keep_below: bool) -> Ring:
    """Sutherland-Hodgman against one meridian."""
    out: Ring = []
    for (x0, y0), (x1, y1) in pairwise([*ring, ring[0]]):
        inside0, inside1 = (
            (x0 <= limit) == keep_below or x0 == limit,
            (x1 <= limit) == keep_below or x1 == limit,
        )
        if inside0:
            out.append((x0, y0))
        if inside0 != inside1:
            share = (limit - x0) / (x1 - x0)
            out.append((limit, y0 + share * (y1 - y0)))
    return out


def within_world(ring: Ring) -> list[Ring]:
    """Cut an unwrapped ring into pieces that lie in -180…180 degrees."""
    ring = unwrap(ring)
    pieces = [clip(ring, 180.0, True), [(x - 360, y) for x, y in clip(ring, 180.0, False)]]
    whole = []
    for piece in pieces:
        if piece:
            whole += [clip(piece, -180.0, False), [(x + 360, y) for x, y in clip(piece, -180.0, True)]]
    return [piece for piece in whole if len(piece) > 3]


def encode(ring: Ring) -> list[int]:
    """Round to tenths of a degree and code each point relative to the one before."""
    points = [(round(x * 10), round(y * 10)) for x, y in ring]
    points = [p for i, p in enumerate(points) if i == 0 or p != points[i - 1]]
    if len(points) < 4:
        return []
    return [*points[0], *(v for (x0, y0), (x1, y1) in pairwise(points) for v in (x1 - x0, y1 - y0))]


def convert(topology: dict) -> dict:
    """The outlines of every country, keyed by ISO 3166-1 alpha-2."""
    arcs, countries = arcs_of(topology), {}
    for shape in topology["objects"]["countries"]["geometries"]:
        name = shape["properties"]["name"]
        if name == "Antarctica":
            continue
        iso2 = UNCODED.get(name) or pycountry.countries.get(numeric=shape["id"]).alpha_2
        polygons = [shape["arcs"]] if shape["type"] == "Polygon" else shape["arcs"]
        for indices in (ring for polygon in polygons for ring in polygon):
            ring: Ring = []
            for index in indices:
                arc = arcs[index] if index >= 0 else arcs[~index][::-1]
                ring += arc[1:] if ring else arc
            for piece in within_world(ring):
                if coded := encode(piece):
                    countries.setdefault(iso2, []).append(coded)
    return {"attribution": ATTRIBUTION, "unit": "0.1 degree", "rings": dict(sorted(countries.items()))}


if __name__ == "__main__":
    converted = convert(json.loads(Path(sys.argv[1]).read_text()))
    text = json.dumps(converted, separators=(",", ":"))
    target = Path(__file__).parents[1] / "geo_assets" / "data" / "maps" / "countries-110m.json"
    target.write_text(text + "\n")
