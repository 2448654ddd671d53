"""The one palette of the report: light and dark colours, and the styles of every figure.

Meaning of the hues, the same in every figure and table: grey is before (base, start), blue is after
(policy) and better, orange is worse, ink is the truth. Blue and orange stay apart for every common
form of colour blindness, and no figure relies on hue alone. All text colours reach a contrast of at
least 4.5 : 1 on their background in both modes (a test computes it).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

LIGHT = {
    "paper": "#ffffff",
    "panel": "#f5f6f8",
    "ink": "#1b1f24",
    "muted": "#5a626d",
    "line": "#dfe3e8",
    "before": "#7d8896",
    "before-text": "#5a626d",
    "after": "#1f5fbf",
    "after-text": "#1f5fbf",
    "loss": "#d2650f",
    "loss-text": "#a84a04",
    "sea": "#eef3f8",
    "land": "#dcdfe3",
    "border": "#ffffff",
    "good1": "#9dbfe8",
    "good2": "#5b93d6",
    "good3": "#1f5fbf",
    "bad1": "#f3c79d",
    "bad2": "#e5944a",
    "bad3": "#c2560a",
    "flat": "#f2efe6",
    "link": "#1a56b0",
}

DARK = {
    "paper": "#13161a",
    "panel": "#1b1f25",
    "ink": "#e7eaee",
    "muted": "#a2abb7",
    "line": "#323941",
    "before": "#8b95a3",
    "before-text": "#a9b2be",
    "after": "#6fa8f5",
    "after-text": "#84b5f7",
    "loss": "#ee8f45",
    "loss-text": "#f2a263",
    "sea": "#191e25",
    "land": "#39414b",
    "border": "#191e25",
    "good1": "#4f78ad",
    "good2": "#5288cf",
    "good3": "#86b9ff",
    "bad1": "#9c6b42",
    "bad2": "#c9793a",
    "bad3": "#ffab66",
    "flat": "#5b5e5e",
    "link": "#84b5f7",
}


@cache
def figure_css() -> str:
    """The styles of every figure, by class name."""
    return files("geo_assets.report").joinpath("templates/figure.css").read_text(encoding="utf-8")


def variables(colours: dict[str, str]) -> str:
    """CSS custom properties of one mode."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def root_css() -> str:
    """Both modes on `:root`; print always takes the light one."""
    return (
        f":root{{color-scheme:light dark;{variables(LIGHT)}}}@media screen and "
        f"(prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
    )


def standalone(svg: str) -> str:
    """Give an SVG its own styles, so that it can live in a file of its own (for `report.md`)."""
    css = f"{root_css()}{figure_css()}.fig{{background:var(--paper)}}"
    head, _, rest = svg.partition(">")
    return f"{head}><style>{css}</style>{rest}\n"
