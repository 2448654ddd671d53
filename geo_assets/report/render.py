"""Build `report.md`, a self-contained `report.html` and `figures/` from a run's artifacts.

The same inputs give the same bytes: no clock, no machine name, sorted everywhere. The HTML needs no
network and no script; a Content-Security-Policy forbids both.
"""

from __future__ import annotations

import base64
import logging
import re
import time
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from geo_assets.report import costs, escaping, palette
from geo_assets.report.blocks import Example, Examples, Figure, Grid, Section
from geo_assets.report.run import Run, read_run
from geo_assets.report.sections import sections
from geo_assets.report.verdict import Verdict, verdict
from geo_assets.settings import Settings

logger = logging.getLogger(__name__)

SIGNS = {"good": "✓", "caution": "!", "bad": "✗", "unknown": "?"}


def _data_uri(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _file_name(photo_id: str) -> str:
    """An id as a file name: nothing that a path or a link could trip over.

    >>> _file_name("../a b")
    '---a-b'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "-", photo_id)[:80]


def environment(html: bool) -> jinja2.Environment:
    """Jinja2 with the report's filters; HTML output escapes everything by default."""
    found = jinja2.Environment(
        loader=jinja2.PackageLoader("geo_assets.report", "templates"),
        autoescape=html,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    found.filters |= {
        "svg": Markup,
        "data_uri": _data_uri,
        "file_name": _file_name,
        "prose": escaping.prose,
        "markdown": escaping.markdown,
        "cell": escaping.prose,
        "fenced": escaping.fenced,
    }
    return found


def _figures(found: list[Section]) -> Iterator[Figure]:
    for section in found:
        for block in section.blocks:
            if isinstance(block, Figure):
                yield block
            elif isinstance(block, Grid):
                yield from block.figures


def _examples(found: list[Section]) -> Iterator[Example]:
    for section in found:
        for block in section.blocks:
            if isinstance(block, Examples):
                yield from block.items


def _write_figures(found: list[Section], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    written = 0
    for figure in _figures(found):
        path = folder / f"{figure.name}.svg"
        path.write_text(palette.standalone(figure.wide), encoding="utf-8")
        written += 1
    for example in _examples(found):
        if example.image_jpeg:
            (folder / f"photo-{_file_name(example.photo_id)}.jpg").write_bytes(example.image_jpeg)
    return written


def tidy(text: str) -> str:
    """Collapse the blank lines that template blocks leave, except inside fences."""
    out: list[str] = []
    fence = ""
    for line in text.splitlines():
        if fence:
            fence = "" if line == fence else fence
        elif found := re.match(r"^(`{3,})text$", line):
            fence = found.group(1)
        elif not line.strip() and out and not out[-1].strip():
            continue
        out.append(line)
    return "\n".join(out).strip() + "\n"


def _context(run: Run, found: list[Section], judged: Verdict) -> dict[str, Any]:
    settings = run.settings
    base = settings.base_model
    model = "tiny demo model" if base.source == "tiny" else base.repo
    eyebrow = f"profile {settings.name} · {model} · GRPO, {settings.task.reward} reward"
    if step := run.best.get("step"):
        eyebrow += f" · checkpoint at step {step}"
    footer = (
        "Made by geo_assets. Country outlines: Natural Earth (public domain). Photos of OSV-5M: Mapillary "
        "contributors, CC BY-SA 4.0; each set's ATTRIBUTION.csv names them."
    )
    if run.is_demo:
        footer = "Made by geo_assets. Country outlines: Natural Earth (public domain). The scenes are drawn."
    return {
        "title": settings.report.title,
        "eyebrow": eyebrow,
        "verdict": judged,
        "sections": found,
        "footer": footer,
        "signs": SIGNS,
        "css": "",
    }


def _css() -> Markup:
    page = files("geo_assets.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    return Markup(palette.root_css() + palette.figure_css() + page)


def render_page(title: str, eyebrow: str, judged: Verdict, found: list[Section], footer: str) -> str:
    """A self-contained HTML page of some sections."""
    context = {"title": title, "eyebrow": eyebrow, "verdict": judged, "sections": found, "footer": footer}
    template = environment(html=True).get_template("report.html.j2")
    return template.render({**context, "signs": SIGNS, "css": _css()})


def render(run: Run, out: Path) -> dict[str, Any]:
    """Write the report of a run that was read; see `build_report`."""
    started = time.monotonic()
    spent = costs.costs(run)
    judged = verdict(run, spent)
    found = sections(run, spent, judged)
    out.mkdir(parents=True, exist_ok=True)
    context = _context(run, found, judged)
    written = _write_figures(found, out / "figures")
    page = environment(html=True).get_template("report.html.j2").render({**context, "css": _css()})
    (out / "report.html").write_text(page, encoding="utf-8")
    markdown = environment(html=False).get_template("report.md.j2").render(context)
    (out / "report.md").write_text(tidy(markdown), encoding="utf-8")
    logger.info("report written: %s, %d figures, %.1f s", judged.word, written, time.monotonic() - started)
    return {
        "verdict": judged.word,
        "sentence": judged.sentence,
        "caveats": list(judged.caveats),
        "figures": written,
        "html_bytes": len(page.encode()),
        **judged.headline,
    }


def build_report(
    upstream: Mapping[str, Path], settings: Settings, out: Path, recipes: Mapping[str, str]
) -> dict[str, Any]:
    """Read a run's artifacts and write `report.md`, `report.html` and `figures/` into `out`.

    Args:
        upstream: asset name to artifact directory, for the six assets of `run.UPSTREAM`.
        settings: the whole profile; the report reads sections of other assets to say what they did.
        out: the directory to write into.
        recipes: asset name to recipe digest, for the provenance table.

    Returns:
        Metadata: `verdict`, `sentence`, `caveats`, and headline numbers such as
        `greedy/mean_geoscore/gain`.

    Raises:
        ArtifactError: an artifact or all comparable answers are missing.
    """
    return render(read_run(upstream, settings, recipes), Path(out))
