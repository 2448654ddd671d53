"""World maps as inline SVG: errors by place, gains and losses as great circles, change by country.

Points and lines carry `<title>` tooltips. Guesses beyond the map's edge are drawn at the edge. The maps
have no legend of their own: the pages set one in HTML, where it keeps its size on a phone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from geo_assets.report import outlines, svg

LatLon = tuple[float, float]
ERROR_CLASSES_KM: tuple[tuple[float, str, str], ...] = (
    (25.0, "g3", "within 25 km"),
    (200.0, "g2", "25 to 200 km"),
    (750.0, "g1", "200 to 750 km"),
    (2500.0, "b2", "750 to 2,500 km"),
    (float("inf"), "b3", "farther, or no answer"),
)
CHANGE_CLASSES: tuple[tuple[float, str, str], ...] = (
    (-500.0, "b3", "worse by over 500"),
    (-150.0, "b2", "worse by 150 to 500"),
    (0.0, "b1", "worse by up to 150"),
    (150.0, "g1", "better by up to 150"),
    (500.0, "g2", "better by 150 to 500"),
    (float("inf"), "g3", "better by over 500"),
)


@dataclass(frozen=True)
class Spot:
    """A photo's true place, coloured by its error; `d_km` None means no answer."""

    place: LatLon
    d_km: float | None
    tip: str


@dataclass(frozen=True)
class Move:
    """How the guess of one photo moved: two great circles into the truth."""

    truth: LatLon
    before: LatLon | None
    after: LatLon | None
    better: bool
    tip: str


@dataclass(frozen=True)
class CountryChange:
    """Change of the mean score of one country over its n photos; `centre` places small countries."""

    iso2: str
    change: float
    n: int
    centre: LatLon
    tip: str


def error_class(d_km: float | None) -> str:
    """The colour class of an error.

    >>> error_class(25.0), error_class(None)
    ('g3', 'b3')
    """
    distance = float("inf") if d_km is None else d_km
    return next(class_ for limit, class_, _ in ERROR_CLASSES_KM if distance <= limit)


def change_class(change: float) -> str:
    """The colour class of a change of the mean score; no change at all is neutral.

    >>> change_class(-200.0), change_class(0.0), change_class(160.0)
    ('b2', 'f0', 'g2')
    """
    if change == 0:
        return "f0"
    for limit, class_, _ in CHANGE_CLASSES:
        if change < limit or (change == limit and limit < 0):
            return class_
    return CHANGE_CLASSES[-1][1]


def _at(place: LatLon) -> tuple[float, float]:
    lat = min(max(place[0], outlines.SOUTH), outlines.NORTH)
    return outlines.project(lat, place[1])


def _land(skip: Iterable[str] = ()) -> str:
    left_out = set(skip)
    d = "".join(path for iso2, path in outlines.country_paths().items() if iso2 not in left_out)
    return svg.tag("path", d=d, class_="land", transform="scale(.5)", vector_effect="non-scaling-stroke")


def _sheet(body: str, label: str) -> str:
    sea = svg.tag("path", d=outlines.globe_path(), class_="sea")
    return svg.document(outlines.WIDTH, outlines.HEIGHT, sea + body, label, "fig map")


def error_map(spots: Sequence[Spot], label: str) -> str:
    """Every photo at its true place, coloured by how far the guess was off; worst drawn last."""
    dots = []
    for spot in sorted(spots, key=lambda s: float("inf") if s.d_km is None else s.d_km):
        x, y = _at(spot.place)
        title = svg.tag("title", svg.escape(spot.tip))
        dots.append(svg.tag("circle", title, cx=x, cy=y, r=2.2, class_=f"dot {error_class(spot.d_km)}"))
    return _sheet(_land() + "".join(dots), label)


def _arc(start: LatLon, end: LatLon, class_: str) -> str:
    pieces: list[list[LatLon]] = []
    for piece in outlines.great_circle(start, end):
        pieces.append([])
        for point in piece:
            if outlines.SOUTH <= point[0] <= outlines.NORTH:
                pieces[-1].append(point)
            else:
                pieces.append([])
    return "".join(svg.polyline(map(_at, piece), class_) for piece in pieces if len(piece) > 1)


def moves_map(moves: Sequence[Move], label: str) -> str:
    """Great circles from the guess before (grey) and after (blue gains, orange losses) to the truth."""
    lines, ends = [], []
    for move in moves:
        after = "after" if move.better else "loss"
        for guess, class_ in ((move.before, "before"), (move.after, after)):
            if guess is None:
                continue
            lines.append(_arc(guess, move.truth, f"l-{class_} arc"))
            x, y = _at(guess)
            ends.append(svg.tag("circle", cx=x, cy=y, r=2.6, class_=f"end-{class_}"))
        x, y = _at(move.truth)
        title = svg.tag("title", svg.escape(move.tip))
        ends.append(svg.tag("circle", title, cx=x, cy=y, r=4.0, class_="truth"))
    return _sheet(_land() + "".join(lines) + "".join(ends), label)


def country_map(changes: Sequence[CountryChange], label: str, few: int = 5) -> str:
    """Countries filled by the change of their mean score; fewer than `few` photos are drawn paler."""
    paths, drawn = outlines.country_paths(), []
    for change in changes:
        class_ = change_class(change.change) + (" few" if change.n < few else "")
        title = svg.tag("title", svg.escape(change.tip))
        if change.iso2 in paths:
            drawn.append(
                svg.tag("path", title, d=paths[change.iso2], class_=f"edge {class_}", transform="scale(.5)")
            )
        else:
            x, y = _at(change.centre)
            drawn.append(svg.tag("circle", title, cx=x, cy=y, r=4.0, class_=f"small {class_}"))
    drawn.sort(key=lambda shape: shape.startswith("<circle"))
    return _sheet(_land(c.iso2 for c in changes) + "".join(drawn), label)
