"""The one palette of the report: light and dark colours, and the styles of every figure.

Meaning of the hues, the same in every figure and table: grey is before (base, start), blue is after
(policy) and better, orange is worse, ink is the truth. Blue and orange stay apart for every common
form of colour blindness, and no figure relies on hue alone. All text colours reach a contrast of at
least 4.5 : 1 on their background in both modes (a test computes it).
"""

from __future__ import annotations

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

FIGURE_CSS = """
.fig{display:block;max-width:100%;height:auto;font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",\
sans-serif;font-variant-numeric:tabular-nums}
.fig text{fill:var(--ink)}.fig .muted{fill:var(--muted)}.fig .t-before{fill:var(--before-text)}
.fig .t-after{fill:var(--after-text)}.fig .t-loss{fill:var(--loss-text)}.fig .strong{font-weight:650}
.fig .grid{stroke:var(--line);stroke-width:1}.fig .axis{stroke:var(--muted);stroke-width:1}
.fig .zero{stroke:var(--ink);stroke-width:1.2}.fig .rule{stroke:var(--muted);stroke-width:1;stroke-dasharray:3 3}
.fig .w-before,.fig .w-reference,.fig .w-base{stroke:var(--before);stroke-width:2}
.fig .w-after{stroke:var(--after);stroke-width:2.4}.fig .w-loss{stroke:var(--loss);stroke-width:2.4}
.fig .m-before{fill:var(--before)}.fig .m-reference{fill:var(--before)}
.fig .m-base{fill:var(--paper);stroke:var(--before);stroke-width:2}
.fig .m-after{fill:var(--after)}.fig .m-loss{fill:var(--loss)}
.fig .hollow{fill:var(--paper);stroke-width:2}.fig .halo{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}.fig .hollow.m-after{stroke:var(--after)}
.fig .hollow.m-before,.fig .hollow.m-base,.fig .hollow.m-reference{stroke:var(--before)}.fig .hollow.m-loss{stroke:var(--loss)}
.fig .c-up{stroke:var(--after);stroke-width:3;stroke-opacity:.35}
.fig .c-down{stroke:var(--loss);stroke-width:3;stroke-opacity:.45}
.fig .l-before,.fig .l-after,.fig .l-raw,.fig .l-base,.fig .l-loss{fill:none;stroke-linejoin:round;stroke-linecap:round}
.fig .l-before{stroke:var(--before);stroke-width:2}.fig .l-after{stroke:var(--after);stroke-width:2.2}
.fig .l-base{stroke:var(--before);stroke-width:1.6;stroke-dasharray:5 4}.fig .l-loss{stroke:var(--loss);stroke-width:2}
.fig .l-raw{stroke:var(--after);stroke-width:1;stroke-opacity:.4}
.fig .band{fill:var(--after);fill-opacity:.14}.fig .shade{fill:var(--panel)}
.fig .sea{fill:var(--sea)}.fig .land{fill:var(--land);stroke:var(--border);stroke-width:.6}
.fig .g1{fill:var(--good1)}.fig .g2{fill:var(--good2)}.fig .g3{fill:var(--good3)}.fig .b1{fill:var(--bad1)}
.fig .b2{fill:var(--bad2)}.fig .b3{fill:var(--bad3)}.fig .f0{fill:var(--flat)}.fig .few{fill-opacity:.45}
.fig .small{stroke:var(--ink);stroke-width:.5}
.fig .dot{r:2.2px;stroke:var(--paper);stroke-width:.4}.fig .dot:hover{stroke:var(--ink);stroke-width:1.2}
.fig .truth{fill:var(--ink);stroke:var(--paper);stroke-width:1}
.fig .end-before,.fig .end-after,.fig .end-loss{stroke:var(--paper);stroke-width:.8}
.fig .end-before{fill:var(--before)}.fig .end-after{fill:var(--after)}.fig .end-loss{fill:var(--loss)}
@media(max-width:620px){.fig .dot{r:4px}}
"""


def variables(colours: dict[str, str]) -> str:
    """CSS custom properties of one mode."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())


def root_css() -> str:
    """Both modes on `:root`; print always takes the light one."""
    return (
        f":root{{color-scheme:light dark;{variables(LIGHT)}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{variables(DARK)}}}}}"
    )


def standalone(svg: str) -> str:
    """Give an SVG its own styles, so that it can live in a file of its own (for `report.md`)."""
    css = f"{root_css()}{FIGURE_CSS}.fig{{background:var(--paper)}}"
    head, _, rest = svg.partition(">")
    return f"{head}><style>{css}</style>{rest}\n"
