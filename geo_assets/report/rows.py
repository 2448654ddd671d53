"""Dot-and-interval rows: one labelled line per thing, marks on a shared scale.

The forest of gains, the landscape, the country list, the controls and the leak ladder are all this
chart. On wide figures the label stands left of the scale; below `NARROW_PX` it stands above it, so that
text keeps its size on a phone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from geo_assets.report import svg

NARROW_PX = 520
LINE_PX = 26
NARROW_LINE_PX = 44


@dataclass(frozen=True)
class Mark:
    """One value on a row; `low…high` draws its interval, `kind` picks its colour."""

    value: float
    kind: str
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    tip: str = ""


@dataclass(frozen=True)
class Row:
    """A labelled line; `note` is the value text at its right end, `heading` starts a block."""

    label: str
    marks: tuple[Mark, ...] = ()
    note: str = ""
    note_class: str = "ink"
    strong: bool = False
    connect: bool = False
    heading: bool = False


@dataclass(frozen=True)
class Axis:
    """The shared scale: its domain, the words under it, and how a tick is written."""

    low: float
    high: float
    title: str
    format: Callable[[float], str] = "{:,.0f}".format
    zero: bool = False


def _mark(mark: Mark, x: svg.Scale, y: float, axis: Axis) -> str:
    at = x(min(max(mark.value, axis.low), axis.high))
    parts = []
    if mark.low is not None and mark.high is not None:
        low, high = (x(min(max(v, axis.low), axis.high)) for v in (mark.low, mark.high))
        parts.append(svg.tag("line", x1=low, x2=high, y1=y, y2=y, class_=f"w-{mark.kind}"))
    title = svg.tag("title", svg.escape(mark.tip)) if mark.tip else ""
    class_ = f"m-{mark.kind}" + (" hollow" if mark.hollow else "")
    parts.append(svg.tag("circle", title, cx=at, cy=y, r=4.5, class_=class_))
    return "".join(parts)


def _axis(axis: Axis, x: svg.Scale, top: float, bottom: float, wanted: int) -> str:
    parts = []
    for value in svg.ticks(axis.low, axis.high, wanted):
        at, is_zero = x(value), axis.zero and value == 0
        parts.append(svg.tag("line", x1=at, x2=at, y1=top, y2=bottom, class_="zero" if is_zero else "grid"))
        parts.append(svg.text(at, bottom + 13, axis.format(value), "muted", "middle", 12))
    middle = (x(axis.low) + x(axis.high)) / 2
    parts.append(svg.text(middle, bottom + 32, axis.title, "muted", "middle", 12))
    return "".join(parts)


def _height(row: Row, narrow: bool) -> float:
    if row.heading:
        return 30
    return NARROW_LINE_PX if narrow else LINE_PX


def dot_rows(rows: Sequence[Row], axis: Axis, width: int, label: str) -> str:
    """Draw the rows on `axis` as an SVG of the given width in px; `label` is its alternative text."""
    narrow = width < NARROW_PX
    plain = [row for row in rows if not row.heading]
    note_px = max((svg.text_width(row.note) for row in plain), default=0) + 14
    label_px = 8.0 if narrow else max((svg.text_width(row.label) for row in plain), default=0) + 18
    if not narrow:
        label_px = max(
            label_px, min(180, max((svg.text_width(r.label) + 12 for r in rows if r.heading), default=0))
        )
    x = svg.linear(axis.low, axis.high, label_px, width - (16 if narrow else max(note_px, 16)))
    bottom = 8 + sum(_height(row, narrow) for row in rows)
    parts = [_axis(axis, x, 6, bottom, 4 if narrow else 6)]
    y = 8.0
    for row in rows:
        step = _height(row, narrow)
        words = "ink strong" if row.strong or row.heading else "ink"
        mark_y = y + (27 if narrow else step / 2)
        if row.heading:
            parts.append(svg.text(0, y + 18, row.label, "muted strong halo", size=12))
        elif narrow:
            parts.append(svg.text(0, y + 10, row.label, words + " halo"))
            parts.append(svg.text(width, y + 10, row.note, row.note_class + " halo", "end"))
        else:
            parts.append(svg.text(label_px - 12, mark_y, row.label, words, "end"))
            parts.append(svg.text(width, mark_y, row.note, row.note_class, "end"))
        if row.connect and len(row.marks) > 1:
            first, last = row.marks[0].value, row.marks[-1].value
            rise = "c-up" if last >= first else "c-down"
            parts.append(svg.tag("line", x1=x(first), x2=x(last), y1=mark_y, y2=mark_y, class_=rise))
        parts += [_mark(mark, x, mark_y, axis) for mark in row.marks]
        y += step
    return svg.document(width, bottom + 44, "".join(parts), label)
