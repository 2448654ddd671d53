"""What a report is made of: sections of text, figures, tables, checks and examples.

Every section is built once from these and rendered twice, by the HTML and the Markdown template. All
words in them are plain text; the templates escape them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["good", "caution", "bad", "unknown"]
Tone = Literal["", "good", "bad", "muted", "strong"]


@dataclass(frozen=True)
class Text:
    """A paragraph; `aside` sets it apart as a remark."""

    words: str
    aside: bool = False
    kind: str = "text"


@dataclass(frozen=True)
class Figure:
    """A chart: `wide` for desktop, paper and Markdown, `narrow` for a phone (None: `wide` scales down)."""

    name: str
    title: str
    alt: str
    caption: str
    wide: str
    narrow: str | None = None
    legend: tuple[tuple[str, str], ...] = ()
    """(colour class, words), set in HTML above the chart."""
    kind: str = "figure"


@dataclass(frozen=True)
class Grid:
    """Small figures side by side."""

    figures: tuple[Figure, ...]
    kind: str = "grid"


@dataclass(frozen=True)
class Cell:
    """A table cell with a tone; plain strings serve where no tone is needed."""

    words: str
    tone: Tone = ""

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Table:
    """A table with a caption and headers; the first column heads its row, `left` columns hold words."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    note: str = ""
    left: tuple[int, ...] = (0,)
    folded: bool = False
    kind: str = "table"


@dataclass(frozen=True)
class Check:
    """One line of a checklist."""

    status: Status
    title: str
    words: str


@dataclass(frozen=True)
class Checks:
    """A checklist."""

    items: tuple[Check, ...]
    kind: str = "checks"


@dataclass(frozen=True)
class Steps:
    """An ordered list of things to do."""

    items: tuple[tuple[str, str], ...]
    """(what, why)."""
    kind: str = "steps"


@dataclass(frozen=True)
class Example:
    """One photo with what the model said before and after. The texts come from a model: untrusted."""

    photo_id: str
    headline: str
    truth: str
    before: str
    after: str
    before_text: str
    after_text: str
    image_jpeg: bytes | None
    image_alt: str
    better: bool


@dataclass(frozen=True)
class Examples:
    """A row of example photos."""

    title: str
    items: tuple[Example, ...]
    kind: str = "examples"


Block = Text | Figure | Grid | Table | Checks | Steps | Examples


@dataclass(frozen=True)
class Section:
    """A heading with an anchor and its blocks."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
