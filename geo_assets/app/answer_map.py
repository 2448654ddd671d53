"""The map of one photo's answers: country outlines, guesses before and after, sample clouds, the truth.

It zooms to what it shows. A click on it reports map px, which `outlines.unproject` turns into degrees.
Hollow grey is before, blue is after, a dark diamond the truth; sizes keep on zooming.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geo_assets.report import outlines, svg

LatLon = tuple[float, float]
LEAST_WIDTH_PX = 130.0
PADDING = 1.35


@dataclass(frozen=True)
class Layer:
    """One model's guess and its samples; `kind` is "before" or "after"."""

    kind: str
    guess: LatLon | None
    samples: tuple[LatLon, ...]


def _at(place: LatLon) -> tuple[float, float]:
    return outlines.project(min(max(place[0], -89.9), 89.9), place[1])


def view(places: Sequence[LatLon]) -> tuple[float, float, float, float]:
    """(x, y, width, height) in map px that shows all places with room around them; the world for none."""
    world = (0.0, 0.0, float(outlines.WIDTH), float(outlines.HEIGHT))
    if not places:
        return world
    xs, ys = zip(*(_at(place) for place in places), strict=True)
    aspect = outlines.HEIGHT / outlines.WIDTH
    wanted = max((max(xs) - min(xs)), (max(ys) - min(ys)) / aspect) * PADDING
    width = min(max(wanted, LEAST_WIDTH_PX), world[2])
    height = width * aspect
    x = min(max((max(xs) + min(xs) - width) / 2, 0.0), world[2] - width)
    y = min(max((max(ys) + min(ys) - height) / 2, 0.0), world[3] - height)
    return x, y, width, height


def _marks(layer: Layer, z: float) -> str:
    parts = []
    for place in layer.samples:
        x, y = (f"{v:.2f}" for v in _at(place))
        parts.append(svg.tag("circle", cx=x, cy=y, r=f"{4.5 * z:.3f}", class_=f"sample s-{layer.kind}"))
    if layer.guess:
        x, y = (f"{v:.2f}" for v in _at(layer.guess))
        radius = 10 if layer.kind == "before" else 6.5  # so that equal guesses both show
        words = svg.tag("title", f"guess {layer.kind} training")
        parts.append(
            svg.tag(
                "circle", words, cx=x, cy=y, r=f"{radius * z:.3f}", class_=f"guess g-{layer.kind}",
                stroke_width=f"{2.4 * z:.3f}",
            )
        )  # fmt: skip
    return "".join(parts)


def _line(start: LatLon, end: LatLon, kind: str, z: float) -> str:
    parts = []
    for piece in outlines.great_circle(start, end, step_km=100.0):
        if len(piece) > 1:
            d = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in map(_at, piece))
            parts.append(svg.tag("path", d=d, class_=f"way w-{kind}", stroke_width=f"{1.6 * z:.3f}"))
    return "".join(parts)


def _truth(place: LatLon, z: float) -> str:
    x, y = _at(place)
    r = 8.0 * z
    d = f"M{x:.2f} {y - r:.2f}L{x + r:.2f} {y:.2f}L{x:.2f} {y + r:.2f}L{x - r:.2f} {y:.2f}z"
    return svg.tag("path", svg.tag("title", "truth"), d=d, class_="truth-pin", stroke_width=f"{1.6 * z:.3f}")


def answer_map(layers: Sequence[Layer], truth: LatLon | None) -> str:
    """The SVG of the map, zoomed to guesses, samples and truth."""
    places = [place for layer in layers for place in (layer.guess, *layer.samples) if place]
    x, y, width, height = view([*places, truth] if truth else places)
    z = width / outlines.WIDTH
    lines = "".join(_line(layer.guess, truth, layer.kind, z) for layer in layers if layer.guess and truth)
    land = svg.tag(
        "path",
        d="".join(outlines.country_paths().values()),
        class_="land",
        transform="scale(.5)",
        stroke_width=f"{1.2 * z:.3f}",
    )
    sea = svg.tag("path", d=outlines.globe_path(), class_="sea")
    marks = "".join(_marks(layer, z) for layer in layers) + (_truth(truth, z) if truth else "")
    label = "World map of the guesses" + (" and the truth" if truth else "; click where the photo was taken")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="answer-map" role="img" aria-label="{label}"'
        f' viewBox="{x:.2f} {y:.2f} {width:.2f} {height:.2f}" preserveAspectRatio="xMidYMid meet">'
        f"{sea}{land}{lines}{marks}</svg>"
    )
