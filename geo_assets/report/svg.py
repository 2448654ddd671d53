"""Small SVG vocabulary: elements, text, scales and ticks, as strings.

Lengths are SVG user units, which the pages show one to one as CSS pixels. Colours never appear here:
shapes carry class names, and `palette.py` holds the light and dark colours of every class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape

FONT_PX = 13
Scale = Callable[[float], float]


def number(value: float) -> str:
    """A coordinate with at most one decimal.

    >>> number(3.0), number(2.26)
    ('3', '2.3')
    """
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def tag(name: str, *children: str, **attributes: object) -> str:
    """One element; `class_` and `stroke_width` become `class` and `stroke-width`, values are escaped.

    >>> tag("line", x1=0, x2=2.5, class_="grid")
    '<line x1="0" x2="2.5" class="grid"/>'
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None:
            continue
        shown = number(value) if isinstance(value, float) else str(value)
        parts.append(f'{key.rstrip("_").replace("_", "-")}="{escape(shown)}"')
    body = "".join(children)
    return f"<{' '.join(parts)}>{body}</{name}>" if body else f"<{' '.join(parts)}/>"


def text(
    x: float, y: float, words: str, class_: str = "ink", anchor: str = "start", size: float | None = None
) -> str:
    """A line of text whose middle (not baseline) lies at y, so that it lines up with marks.

    >>> text(1, 2, "a<b")
    '<text x="1" y="2" class="ink" dy=".35em">a&lt;b</text>'
    """
    anchored = None if anchor == "start" else anchor
    return tag(
        "text",
        escape(words),
        x=number(x),
        y=number(y),
        class_=class_,
        dy=".35em",
        text_anchor=anchored,
        font_size=size,
    )


def text_width(words: str, size: float = FONT_PX) -> float:
    """A width estimate in px for a proportional sans-serif face; a little generous."""
    narrow = sum(words.count(c) for c in "iljtf.,:;|!' ()[]")
    return size * (0.58 * (len(words) - narrow) + 0.32 * narrow)


def document(width: float, height: float, body: str, label: str, class_: str = "fig") -> str:
    """An `<svg>` that scales down to its container and reads as one image to a screen reader."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{class_}"'
        f' viewBox="0 0 {number(width)} {number(height)}"'
        f' width="{number(width)}" height="{number(height)}" role="img" aria-label="{escape(label)}"'
        f' font-size="{FONT_PX}">{body}</svg>'
    )


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """A linear scale from values `low…high` to positions `start…end`.

    >>> linear(0, 10, 100, 200)(5)
    150.0
    """
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    """A log10 scale; values at or below `low` sit at `start`."""
    inner = linear(math.log10(low), math.log10(high), start, end)
    return lambda value: inner(math.log10(max(value, low)))


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round tick values within `low…high`, at most `wanted` steps.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    >>> ticks(-130, 420, 5)
    [0.0, 200.0, 400.0]
    """
    if not high > low:
        return [float(low)]
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(i * step, 10) + 0.0 for i in range(first, last + 1)]


def polyline(points: Iterable[tuple[float, float]], class_: str, **attributes: object) -> str:
    """An open line through the points."""
    d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return tag("path", d=d, class_=class_, **attributes)


def area(upper: Sequence[tuple[float, float]], lower: Sequence[tuple[float, float]], class_: str) -> str:
    """A filled band between two lines of equal x."""
    d = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in [*upper, *reversed(lower)]) + "z"
    return tag("path", d=d, class_=class_)
