"""The papers of a set: `data_card.md`, `ATTRIBUTION.csv` and `dropped.json`.

The licence of the photos asks for a name and a link per photo, for its own address and for a word on changes;
a reader asks what was left out and why. All three depend on the data alone, not on when or how fast it was
built. Where a set comes from is read from the `files.json` of its source.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from geo_assets.osv.folder import SetStats

ATTRIBUTION_COLUMNS = ("id", "licence", "attribution", "url")
MAX_LISTED = 50


@dataclass(frozen=True)
class Source:
    """Where the photos of a set come from and what may be done with them."""

    title: str
    licence: str
    note: str
    origin: str = ""
    """As `files.json` has it: `hub:<repository>@<commit>`, `local` or `drawn`."""


CC_BY_SA = "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)"
OSV5M = Source(
    "OSV-5M (https://huggingface.co/datasets/osv5m/osv5m), photos from Mapillary (https://www.mapillary.com)",
    CC_BY_SA,
    "Name the Mapillary contributor of a photo where you show it (ATTRIBUTION.csv), link the licence, say "
    "that photos were changed, and share adaptations under the same licence. Changed here: all photos that "
    "are not stored byte for byte, which lost metadata, were scaled or lost burnt-in text. Labels are those "
    "of the nearest city, one photo a sequence.",
)
PANORAMAS = Source(
    "Panoramas of a Hub data set, by default stochastic/random_streetview_images_pano_v0.0.2",
    "none stated; for evaluation only",
    "Never redistribute these photos. Addresses and file names of the source are not kept.",
)
OWN_PHOTOS = Source(
    "Your own photos",
    "yours",
    "Positions come from EXIF or from your CSV; the stored copies carry no metadata.",
)
DRAWN = Source(
    "Scenes that geo_assets drew: no photos",
    "yours",
    "Nobody needs to be named. Place names are those of GeoNames (CC BY 4.0).",
)


def source_of(folder: Path, published: Source) -> Source:
    """What to say of photos from `folder`: of `published`, or of drawn scenes where it holds those."""
    listing = folder / "files.json"
    files = json.loads(listing.read_text(encoding="utf-8")) if listing.exists() else {}
    origins = sorted({str(entry["source"]) for entry in files.values() if entry.get("source")})
    return replace(DRAWN if origins == ["drawn"] else published, origin=", ".join(origins))


def attribution_of(frame: pl.DataFrame, source: Source) -> list[tuple[str, str, str, str]]:
    """Rows of ATTRIBUTION.csv: for photos of OSV-5M as `mapillary_rows`, for drawn scenes without a name."""
    if source.title == DRAWN.title:
        return [(member_id, source.licence, "drawn by geo_assets", "") for member_id in frame["id"]]
    return mapillary_rows(frame)


def mapillary_rows(frame: pl.DataFrame) -> list[tuple[str, str, str, str]]:
    """Attribution of OSV-5M photos: the contributor's name, or else account, where the CSV has it."""
    rows = []
    for member_id, name, account in frame.select("id", "creator_username", "creator_id").iter_rows():
        who = f"Mapillary contributor {name or account or ''}".strip()
        rows.append((member_id, OSV5M.licence, who, f"https://www.mapillary.com/app/?pKey={member_id}"))
    return rows


def write_attribution(out_dir: Path, rows: Sequence[Sequence[str]]) -> None:
    """One line a photo: id, licence, attribution, url."""
    with (out_dir / "ATTRIBUTION.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(ATTRIBUTION_COLUMNS)
        writer.writerows(rows)


def write_dropped(out_dir: Path, stats: SetStats) -> None:
    """Counts of what was left out, by reason, beside what was kept and how."""
    counts = {**stats.dropped, "cropped": stats.cropped, "copied": stats.copied, "rows": stats.rows}
    (out_dir / "dropped.json").write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")


def write_card(out_dir: Path, name: str, source: Source, stats: SetStats) -> None:
    """Source, licence, composition and losses of a set, for people."""
    lines = [f"# Data card: {name}", "", f"- Source: {source.title}", f"- Licence: {source.licence}"]
    if source.origin:
        lines.append(f"- From: {source.origin}")
    lines += [f"- {source.note}", f"- Rows: {stats.rows:,} in {len(stats.countries)} countries"]
    if stats.rows:
        lines += [f"- Stored byte for byte: {stats.copied:,}; cropped for burnt-in text: {stats.cropped:,}"]
    lines += ["", "## Left out", ""]
    lines += [f"- {reason}: {count:,}" for reason, count in stats.dropped.items()] or ["Nothing."]
    for title, note in sorted(stats.notes.items()):
        if note:
            lines += ["", f"## {title.replace('_', ' ').capitalize()}", "", *_note(note)]
    lines += ["", "## Countries", "", *_country_table(stats)]
    (out_dir / "data_card.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _country_table(stats: SetStats) -> list[str]:
    """Rows by country, and beside them how many usable ones each choice of zips has."""
    others = {country for rows in stats.usable.values() for country in rows}
    titles = ["country", "rows", *(f"usable in {choice}" for choice in stats.usable)]
    lines = ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
    for country in [*stats.countries, *sorted(others - set(stats.countries))]:
        counts = [rows.get(country, 0) for rows in (stats.countries, *stats.usable.values())]
        lines.append(" | ".join([f"| {country}", *(f"{count:,}" for count in counts)]) + " |")
    return lines


def _note(note: object) -> list[str]:
    if isinstance(note, dict):
        lines = [f"- {key}: {value}" for key, value in list(note.items())[:MAX_LISTED]]
        return lines + [f"- and {len(note) - MAX_LISTED:,} more"] * (len(note) > MAX_LISTED)
    return [f"{note:,}" if isinstance(note, int) else str(note)]


def write_subset(parent_dir: Path, out_dir: Path, frame: pl.DataFrame) -> None:
    """Attribution and card of a set whose rows are taken from another set."""
    ids = set(frame["id"])
    with (parent_dir / "ATTRIBUTION.csv").open(encoding="utf-8", newline="") as file:
        rows = [tuple(row) for row in csv.reader(file) if row and row[0] in ids]
    write_attribution(out_dir, rows)
    card = (parent_dir / "data_card.md").read_text(encoding="utf-8")
    head = f"This set is the first {frame.height:,} rows of the set described below.\n\n"
    (out_dir / "data_card.md").write_text(head + card, encoding="utf-8")
    dropped = json.loads((parent_dir / "dropped.json").read_text(encoding="utf-8"))
    text = json.dumps({**dropped, "rows": frame.height}, indent=2)
    (out_dir / "dropped.json").write_text(text + "\n", encoding="utf-8")
