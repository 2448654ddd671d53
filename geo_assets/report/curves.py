"""Line charts: series over steps or distance, with direct labels instead of a legend.

A series can have a faint raw line under its smoothed one, a band (an interval), and points. Missing
values break the line; they are never interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from geo_assets.report import svg

Point = tuple[float, float]


@dataclass(frozen=True)
class Series:
    """A line; `kind` picks its colour, `label` stands at its right end."""

    points: tuple[Point, ...]
    kind: str = "after"
    label: str = ""
    raw: tuple[Point, ...] = ()
    low: tuple[Point, ...] = ()
    high: tuple[Point, ...] = ()
    dots: bool = False


@dataclass(frozen=True)
class Plot:
    """The frame: titles, domains (None: fitted to the data), tick formats, rules and call-outs."""

    x_title: str
    y_title: str
    x_domain: tuple[float, float] | None = None
    y_domain: tuple[float, float] | None = None
    x_log: bool = False
    x_ticks: tuple[float, ...] = ()
    x_format: Callable[[float], str] = "{:,.0f}".format
    y_format: Callable[[float], str] = "{:.2f}".format
    rules: tuple[tuple[float, str], ...] = ()
    """Dashed horizontal lines: (y, label)."""
    callouts: tuple[tuple[float, float, str], ...] = field(default=())
    """Ringed points: (x, y, label)."""


def smooth(points: Sequence[Point], window: int) -> tuple[Point, ...]:
    """Centred moving average over `window` points, shrinking at the ends.

    >>> smooth([(0, 0.0), (1, 3.0), (2, 0.0)], 3)
    ((0, 1.5), (1, 1.0), (2, 1.5))
    """
    half, out = window // 2, []
    for i, (x, _) in enumerate(points):
        near = [y for _, y in points[max(0, i - half) : i + half + 1]]
        out.append((x, sum(near) / len(near)))
    return tuple(out)


def _domain(values: list[float], given: tuple[float, float] | None) -> tuple[float, float]:
    if given is not None:
        return given
    low, high = min(values, default=0.0), max(values, default=1.0)
    pad = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    return low - pad, high + pad


def _pieces(points: Sequence[Point]) -> list[list[Point]]:
    """Split at missing values."""
    pieces: list[list[Point]] = [[]]
    for point in points:
        if math.isfinite(point[1]):
            pieces[-1].append(point)
        elif pieces[-1]:
            pieces.append([])
    return [piece for piece in pieces if piece]


def _line(points: Sequence[Point], class_: str, x: svg.Scale, y: svg.Scale) -> str:
    return "".join(svg.polyline([(x(a), y(b)) for a, b in piece], class_) for piece in _pieces(points))


def _spread(wanted: list[float], gap: float) -> list[float]:
    """Move label positions apart, keeping their order."""
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    out, last = list(wanted), -math.inf
    for i in order:
        out[i] = last = max(wanted[i], last + gap)
    return out


def _frame(plot: Plot, x: svg.Scale, y: svg.Scale, box: tuple[float, float, float, float]) -> str:
    left, right, top, bottom = box
    x_low, x_high = plot.x_domain or (0.0, 1.0)
    y_low, y_high = plot.y_domain or (0.0, 1.0)
    parts = []
    for value in svg.ticks(y_low, y_high, 5):
        parts.append(svg.tag("line", x1=left, x2=right, y1=y(value), y2=y(value), class_="grid"))
        parts.append(svg.text(left - 7, y(value), plot.y_format(value), "muted", "end", 12))
    wanted = 5 if right - left > 320 else 3
    for value in plot.x_ticks or svg.ticks(x_low, x_high, wanted):
        parts.append(svg.tag("line", x1=x(value), x2=x(value), y1=bottom, y2=bottom + 4, class_="axis"))
        parts.append(svg.text(x(value), bottom + 15, plot.x_format(value), "muted", "middle", 12))
    parts.append(svg.tag("line", x1=left, x2=right, y1=bottom, y2=bottom, class_="axis"))
    parts.append(svg.text((left + right) / 2, bottom + 34, plot.x_title, "muted", "middle", 12))
    parts.append(svg.text(0, top - 16, plot.y_title, "muted", size=12))
    return "".join(parts)


def _marks(series: Series, x: svg.Scale, y: svg.Scale) -> str:
    parts = []
    if series.low and series.high:
        upper, lower = ([(x(a), y(b)) for a, b in side] for side in (series.high, series.low))
        parts.append(svg.area(upper, lower, "band"))
    parts.append(_line(series.raw, "l-raw", x, y))
    parts.append(_line(series.points, f"l-{series.kind}", x, y))
    if series.dots:
        parts += [
            svg.tag("circle", cx=x(a), cy=y(b), r=3.5, class_=f"m-{series.kind}")
            for a, b in series.points
            if math.isfinite(b)
        ]
    return "".join(parts)


def line_chart(series: Sequence[Series], plot: Plot, width: int, height: int, label: str) -> str:
    """Draw the series as an SVG of `width` x `height` px; `label` is its alternative text."""
    every = [p for s in series for p in (*s.points, *s.raw, *s.low, *s.high) if math.isfinite(p[1])]
    xs = [p[0] for p in every]
    ys = [p[1] for p in every] + [r[0] for r in plot.rules]
    fitted_x = plot.x_domain or (min(xs, default=0.0), max(xs, default=1.0))
    plot = Plot(**{**plot.__dict__, "x_domain": fitted_x, "y_domain": _domain(ys, plot.y_domain)})
    y_low, y_high = plot.y_domain or (0.0, 1.0)
    names = [s.label for s in series if s.label]
    right = width - (max((svg.text_width(n) for n in names), default=0) + 12 if names else 22)
    left = max(svg.text_width(plot.y_format(v), 12) for v in svg.ticks(y_low, y_high, 5)) + 12
    top, bottom = (34.0 if plot.y_title else 12.0), height - 46.0
    make_x = svg.logarithmic if plot.x_log else svg.linear
    x, y = make_x(*fitted_x, left, right), svg.linear(y_low, y_high, bottom, top)
    parts = [_frame(plot, x, y, (left, right, top, bottom))]
    for value, words in plot.rules:
        parts.append(svg.tag("line", x1=left, x2=right, y1=y(value), y2=y(value), class_="rule"))
        parts.append(svg.text(left + 4, y(value) - 9, words, "t-before", size=12))
    parts += [_marks(s, x, y) for s in series]
    ends = [(s, _pieces(s.points)[-1][-1]) for s in series if s.label and _pieces(s.points)]
    places = _spread([y(p[1]) for _, p in ends], 16)
    for (s, point), at in zip(ends, places, strict=True):
        parts.append(svg.text(x(point[0]) + 8, at, s.label, f"t-{s.kind} strong"))
    for a, b, words in plot.callouts:
        parts.append(svg.tag("circle", cx=x(a), cy=y(b), r=7.0, class_="hollow m-after", fill_opacity="0"))
        side = "end" if x(a) > (left + right) / 2 else "start"
        parts.append(
            svg.text(x(a) + (-11 if side == "end" else 11), y(b) - 14, words, "ink strong", side, 12)
        )
    return svg.document(width, height, "".join(parts), label)
