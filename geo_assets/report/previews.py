"""Small pictures and tables for asset pages: Markdown strings made from plain values.

The page shows Markdown of fewer than 1,000 characters inline and the rest behind a link, drops `<img>`
and inline `<svg>`, and stores every byte in its event log: hence `INLINE_CHARS` and `MOST_BYTES`.
Model texts are untrusted and are cleaned and escaped here. What it leaves out: Dagster.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from PIL import Image, ImageDraw, ImageOps, UnidentifiedImageError

from geo_assets.report import outlines, wording
from geo_assets.report.escaping import clean, markdown, prose
from geo_assets.report.maps import error_class
from geo_assets.report.palette import LIGHT
from geo_assets.task.metrics import Prediction

INLINE_CHARS = 1000
MOST_BYTES = 32_000
MOST_ROWS = 20
INK = "#6b7280"
"""Grey that reads on a light and on a dark page."""
_BAR = "█"
_PARTS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def sparkline(points: Sequence[tuple[float, float]], title: str, colour: str = "#1f5fbf") -> str:
    """A curve as a Markdown image of fewer than `INLINE_CHARS` characters, so that it shows inline.

    Long series are drawn as means of up to 25 equal groups; the first and the last value stand at the ends.

    Args:
        points: (step, value), in order; values that are not finite are left out.
        title: what the curve shows; the first and last value are added to it.

    Returns:
        The empty string for fewer than two points.
    """
    finite = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    if len(finite) < 2:
        return ""
    size = math.ceil(len(finite) / 25)
    groups = [finite[i : i + size] for i in range(0, len(finite), size)]
    if len(groups) < 2:
        groups = [[point] for point in finite]
    means = [(sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups]
    x0, x1 = means[0][0], means[-1][0]
    low, high = min(y for _, y in means), max(y for _, y in means)
    wide, tall = (x1 - x0) or 1.0, (high - low) or 1.0
    places = [(48 + round(264 * (x - x0) / wide), 5 + round(50 * (high - y) / tall)) for x, y in means]
    path = ",".join(f"{x},{y}" for x, y in places)
    ends = "".join(
        f"<text x='{x}' y='{min(max(y + 4, 10), 58)}'>{value:.3g}</text>"
        for x, y, value in ((0, places[0][1], means[0][1]), (318, places[-1][1], means[-1][1]))
    )
    svg = (
        "<svg xmlns='http://www.w3.org/2000/svg' width='370' height='60' "
        f"font-size='12' font-family='sans-serif' fill='{INK}'>"
        f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>{ends}</svg>"
    )
    words = f"{clean(title, 60)}: {means[0][1]:.3g} to {means[-1][1]:.3g}"
    return f"![{prose(words)}](data:image/svg+xml,{quote(svg, safe='/:=,')})"


def curves(series: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Several curves as a table of sparklines with their first and last values."""
    rows = ["| Curve | First | Last | |", "|:--|--:|--:|:--|"]
    for name, points in list(series.items())[:MOST_ROWS]:
        if picture := sparkline(points, name):
            rows.append(f"| {prose(name)} | {points[0][1]:.3g} | {points[-1][1]:.3g} | {picture} |")
    return "\n".join(rows)


def _jpeg(image: Image.Image, width_px: int, quality: int) -> bytes:
    small = ImageOps.exif_transpose(image).convert("RGB")
    small.thumbnail((width_px, width_px), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=quality, optimize=True)
    return buffer.getvalue()


def _open(photo: Path | Image.Image, width_px: int) -> Image.Image | None:
    if isinstance(photo, Image.Image):
        return photo
    try:
        with Image.open(photo) as opened:
            opened.draft("RGB", (2 * width_px, 2 * width_px))
            opened.load()
            return opened.copy()
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError):
        return None


def image_grid(
    photos: Sequence[tuple[Path | Image.Image, str]],
    columns: int = 4,
    limit_bytes: int = MOST_BYTES,
    most_px: int = 160,
) -> str:
    """Photos with captions as a Markdown table of base64 JPEGs, at most `most_px` wide.

    Sizes shrink, and then photos are left out, until the whole is within `limit_bytes`. A photo that
    cannot be opened shows its caption with a note.
    """
    for share, quality, most in ((1.0, 70, 12), (0.8, 60, 12), (0.7, 50, 12), (0.6, 45, 8), (0.5, 40, 4)):
        table = _grid(photos[:most], columns, round(share * most_px), quality)
        if len(table.encode()) <= limit_bytes:
            return table
    return _grid(photos[:2], columns, round(0.4 * most_px), 35)


def _grid(photos: Sequence[tuple[Path | Image.Image, str]], columns: int, width_px: int, quality: int) -> str:
    columns = max(1, min(columns, len(photos)))
    lines = [f"|{' |' * columns}", f"|{'--|' * columns}"]
    for start in range(0, len(photos), columns):
        pictures, captions = [], []
        for photo, caption in photos[start : start + columns]:
            opened = _open(photo, width_px)
            words = markdown(clean(caption, 60))
            if opened is None:
                pictures.append("(cannot be opened)")
            else:
                data = base64.b64encode(_jpeg(opened, width_px, quality)).decode()
                pictures.append(f"![{words}](data:image/jpeg;base64,{data})")
            captions.append(words)
        blank = [""] * (columns - len(pictures))
        lines += [f"| {' | '.join(pictures + blank)} |", f"| {' | '.join(captions + blank)} |"]
    return "\n".join(lines)


def bar(share: float, width: int = 16) -> str:
    """A bar of block characters for a share in [0, 1].

    >>> bar(0.5, 4), bar(0.0, 4)
    ('██', '')
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return _BAR * (eighths // 8) + _PARTS[eighths % 8]


def country_bars(counts: Mapping[str, int], most: int = MOST_ROWS) -> str:
    """Rows per country as a table with bars, most first.

    Args:
        counts: ISO 3166-1 alpha-2 to rows.
    """
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    total, top = sum(counts.values()) or 1, max(counts.values(), default=1) or 1
    lines = ["| Country | Rows | Share | |", "|:--|--:|--:|:--|"]
    for iso2, n in ordered[:most]:
        lines.append(f"| {_name(iso2)} | {n:,} | {n / total:.1%} | {bar(n / top)} |")
    if len(ordered) > most:
        rest = sum(n for _, n in ordered[most:])
        lines.append(f"| {len(ordered) - most} more | {rest:,} | {rest / total:.1%} | |")
    return "\n".join(lines)


def _name(iso2: str | None) -> str:
    return markdown(clean(wording.country(iso2), 40))


def bars(counts: Mapping[str, int], head: str, most: int = MOST_ROWS) -> str:
    """Named numbers as a table with bars, in their order.

    >>> print(bars({"never": 3, "always": 1}, "Right"))
    | Right | | |
    |:--|--:|:--|
    | never | 3 | ████████████████ |
    | always | 1 | █████▍ |
    """
    top = max(counts.values(), default=0) or 1
    lines = [f"| {prose(head)} | | |", "|:--|--:|:--|"]
    for name, n in list(counts.items())[:most]:
        lines.append(f"| {prose(name)} | {n:,} | {bar(n / top)} |")
    return "\n".join(lines)


def completions_table(predictions: Sequence[Prediction], most: int = 8) -> str:
    """Sample answers with their truth, distance and reward parts."""
    lines = [
        "| Photo | Truth | Answer | Distance | Reward | Format | Country | Distance part |",
        "|:--|:--|:--|--:|--:|--:|--:|--:|",
    ]
    for p in predictions[:most]:
        words = (markdown(clean(p.id, 40)), _name(p.true_country_iso2), markdown(clean(p.completion, 220)))
        parts = (f"{p.total:.2f}", f"{p.format:.0f}", f"{p.country_reward:.0f}", f"{p.dist:.2f}")
        lines.append(f"| {' | '.join([*words, wording.distance(p.d_km), *parts])} |")
    return "\n".join(lines)


def metrics_table(metrics: Mapping[str, Mapping[str, object]]) -> str:
    """Headline metrics, a row per name (a split, a checkpoint), with their 95% intervals where known."""
    keys = ("mean_geoscore", "country_acc", "median_km", "format_rate")
    head = " | ".join(wording.BY_KEY[key].label for key in keys)
    lines = [f"| | n | {head} |", f"|:--|--:|{'--:|' * len(keys)}"]
    for name, figures in list(metrics.items())[:MOST_ROWS]:
        n = wording.lookup(figures, "n_photos") or wording.lookup(figures, "n") or 0
        cells = [wording.value(wording.lookup(figures, key), wording.BY_KEY[key].unit) for key in keys]
        lines.append(f"| {prose(name)} | {n:,.0f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def error_map(predictions: Sequence[Prediction], width_px: int = 480) -> str:
    """A world map of truths coloured by error (blue near, orange far), as a JPEG in Markdown."""
    hues = {f"{kind[0]}{step}": LIGHT[f"{kind}{step}"] for kind in ("good", "bad") for step in (1, 2, 3)}
    worst_last = sorted(predictions, key=lambda p: math.inf if p.d_km is None else p.d_km)
    dots = [(p.true_latitude, p.true_longitude, hues[error_class(p.d_km)]) for p in worst_last]
    near = sum(p.d_km is not None and p.d_km <= 200 for p in predictions) / max(1, len(predictions))
    return _map(dots, f"{len(predictions):,} photos, {near:.0%} within 200 km", width_px)


def place_map(places: Sequence[tuple[float, float]], width_px: int = 480, most: int = 4000) -> str:
    """A world map of where photos are, as a JPEG in Markdown; an even sample of more than `most`.

    Args:
        places: (latitude, longitude) in degrees.
    """
    step = max(1, math.ceil(len(places) / most))
    dots = [(lat, lon, LIGHT["good2"]) for lat, lon in places[::step]]
    return _map(dots, f"where {len(places):,} photos are", width_px)


def _map(dots: Sequence[tuple[float, float, str]], words: str, width_px: int) -> str:
    scale = 2 * width_px / outlines.WIDTH
    size = (round(outlines.WIDTH * scale), round(outlines.HEIGHT * scale))
    picture = Image.new("RGB", size, "#eef3f8")
    draw = ImageDraw.Draw(picture)
    for country in outlines.rings().values():
        for ring in country:
            points = [tuple(v * scale for v in outlines.project(lat, lon)) for lat, lon in ring]
            draw.polygon(points, fill=LIGHT["land"], outline="#ffffff")
    radius = 5 if len(dots) <= 1000 else 3
    for lat_deg, lon_deg, hue in dots:
        lat_deg = min(max(lat_deg, outlines.SOUTH), outlines.NORTH)
        x, y = (v * scale for v in outlines.project(lat_deg, lon_deg))
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=hue, outline="#ffffff")
    data = base64.b64encode(_jpeg(picture, width_px, 60)).decode()
    return f"![{prose(words)}](data:image/jpeg;base64,{data})"
