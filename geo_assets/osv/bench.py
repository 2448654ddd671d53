"""`bench data`: the CSV reader and the extraction against straightforward ways, on this machine.

Writes a full-size CSV (2.9 GB) and a few zips into a folder and keeps them for the next time.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
from pathlib import Path

logger = logging.getLogger(__name__)

ZIPS, PHOTOS_PER_ZIP = (1, 2, 4), 2000
CHOSEN = (100, 400, 1600)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of `bench data`."""
    parser.add_argument(
        "--folder", type=Path, default=Path("build/bench"), help="where CSV and zips are kept"
    )
    parser.add_argument("--rows", type=int, help="rows of the CSV (default: as many as train.csv has)")
    parser.add_argument("--part", choices=("csv", "photos", "all"), default="all", help="what to measure")


def measure(arguments: argparse.Namespace) -> dict[str, str]:
    """Figures by name, ready to print."""
    arguments.folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, str] = {}
    if arguments.part in ("csv", "all"):
        figures |= measure_csv(arguments.folder, arguments.rows)
    if arguments.part in ("photos", "all"):
        figures |= measure_photos(arguments.folder)
    return figures


def measure_csv(folder: Path, rows: int | None) -> dict[str, str]:
    """Reading and sampling a CSV of `rows` rows."""
    from geo_assets.osv import bench_csv, fullsize

    rows = rows or fullsize.TRAIN_ROWS
    csv = folder / f"train-{rows}.csv"
    if not bench_csv.members_of(csv).exists():
        logger.info(f"writing {csv}")
        fullsize.write_full_size_csv(csv, rows)
        bench_csv.write_members(csv)
    figures = {"csv": f"{rows:,} rows, {csv.stat().st_size / 1e9:.2f} GB"}
    found = {}
    for way in bench_csv.WAYS:
        if way == "pandas" and importlib.util.find_spec("pandas") is None:
            continue
        found[way] = one = bench_csv.measure(way, csv)
        figures[f"csv, {way}"] = (
            f"{one['seconds']:.1f} s ({one['cpu_seconds']:.1f} s CPU), {one['rows_per_second']:,.0f} rows/s, "
            f"peak {one['peak_gib']:.2f} GiB"
        )
    if "pandas" in found:
        for way in ("two zips", "all zips"):
            less = found["pandas"]["peak_gib"] / found[way]["peak_gib"]
            faster = found["pandas"]["seconds"] / found[way]["seconds"]
            figures[f"csv, pandas against {way}"] = f"{less:.1f} x the memory, {faster:.1f} x the time"
    return figures


def measure_photos(folder: Path) -> dict[str, str]:
    """Extraction of chosen photos, and how it grows with zips and with what is chosen."""
    from geo_assets.osv import bench_photos

    mirror, scratch = bench_photos.write_zips(folder / "zips", max(ZIPS), PHOTOS_PER_ZIP), folder / "scratch"
    figures = {}
    costs = bench_photos.compare(bench_photos.WAYS, mirror, scratch, 1, CHOSEN[1])
    for name, one in costs.items():
        rate = 1000 / one.wall_ms
        figures[f"photos, {name}"] = f"{one.wall_ms:.2f} ms ({one.cpu_ms:.2f} ms CPU), {rate:,.0f} a second"
    for name in ("extract all, open chosen", "decode and encode chosen", "bare disk"):
        wall = costs[name].wall_ms / costs["copy chosen"].wall_ms
        cpu = costs[name].cpu_ms / costs["copy chosen"].cpu_ms
        figures[f"photos, copy chosen against {name}"] = f"{wall:.1f} x the speed ({cpu:.1f} x by CPU)"
    for zips in ZIPS:
        for chosen in CHOSEN:
            one = bench_photos.compare(["copy chosen"], mirror, scratch, zips, chosen)["copy chosen"]
            seconds, cpu_seconds = one.wall_ms * chosen / 1000, one.cpu_ms * chosen / 1000
            label = f"photos, copy {chosen} from {zips} zip(s) of {PHOTOS_PER_ZIP:,}"
            figures[label] = f"{seconds:.3f} s ({cpu_seconds:.3f} s CPU)"
    return figures
