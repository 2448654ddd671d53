"""The panorama set: parquet files with the images inside, cut into views.

A panorama of about 3050 x 561 px would be 188 px high once its long edge fits a model, so it is cut into
equal views, left to right. Coordinates come as strings. Addresses and file names tell where a photo was taken
and are not kept; rows are named by their place in the source. Evaluation only.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from geo_assets.errors import DataError
from geo_assets.osv import cards, images, labels, sampling, schema
from geo_assets.osv.fingerprint import hashes, sha256
from geo_assets.osv.folder import SetStats, countries, write_prints
from geo_assets.osv.labels import LabelCounts
from geo_assets.settings import EvalPano

logger = logging.getLogger(__name__)

COLUMNS = ("image", "country_iso_alpha2", "latitude", "longitude")
MAX_EDGE_PX = 1024
WRONG_LAYOUT = "is it the panorama data set? Check pano_source in the profile"
REFETCH = "delete it and materialize pano_source again"


def cut_views(image, views: int) -> list:
    """Equal vertical slices of an image, left to right, that together are the whole of it."""
    edges = [round(image.width * i / views) for i in range(views + 1)]
    return [image.crop((left, 0, right, image.height)) for left, right in pairwise(edges)]


def source_files(pano_dir: Path) -> list[Path]:
    """The parquet files of a panorama source, sorted; raises DataError where there is none."""
    files = sorted((Path(pano_dir) / "data").glob("*.parquet"))
    if not files:
        raise DataError(f"{pano_dir} has no data/*.parquet: materialize pano_source again")
    return files


def read_labels(pano_dir: Path) -> pl.DataFrame:
    """Columns id, latitude, longitude, country, file, row of every panorama; no image is read.

    Raises:
        DataError: a file is damaged or is not laid out as the panorama data set is.
    """
    tables = []
    for number, path in enumerate(source_files(pano_dir)):
        with _readable(path):
            columns = pq.read_schema(path)
            if missing := [name for name in COLUMNS if name not in columns.names]:
                raise DataError(f"{path} lacks the column(s) {', '.join(missing)}: {WRONG_LAYOUT}")
            image = columns.field("image").type
            if not pa.types.is_struct(image) or "bytes" not in [field.name for field in image]:
                raise DataError(f"{path} has images as {image}, not as a struct with bytes: {WRONG_LAYOUT}")
            text = pl.read_parquet(path, columns=list(COLUMNS[1:])).cast(pl.String)
        table = text.rename({"country_iso_alpha2": "country"}).with_row_index("row")
        tables.append(table.with_columns(pl.lit(number).alias("file")))
    frame = pl.concat(tables).with_columns(pl.format("pano_{}_{}", pl.col("file"), pl.col("row")).alias("id"))
    return schema.parse(frame.lazy()).with_columns(labels.reason().alias(labels.REASON)).collect()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError) as error:
        why = str(error).strip().splitlines()[0]
        raise DataError(f"{path} cannot be read ({why}): {REFETCH}") from error


def read_images(pano_dir: Path, rows: pl.DataFrame) -> Iterator[tuple[str, bytes]]:
    """(id, image bytes) of the given label rows, one row group in memory at a time."""
    files = source_files(pano_dir)
    for (number,), wanted in rows.sort("file", "row").group_by("file", maintain_order=True):
        with _readable(files[number]):
            file, start = pq.ParquetFile(files[number]), 0
            ids = dict(wanted.select("row", "id").iter_rows())
            for group in range(file.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                inside = [row for row in ids if start <= row < start + count]
                if inside:
                    column = file.read_row_group(group, columns=["image"])["image"]
                    for row in sorted(inside):
                        yield ids[row], (column[row - start].as_py() or {}).get("bytes") or b""
                start += count


def build_eval_pano(pano_dir: Path | None, out_dir: Path, settings: EvalPano, workers: int = 1) -> SetStats:
    """`rows` panoramas at random, each as `views` images; an empty set where the source is off."""
    started, counts = time.monotonic(), LabelCounts()
    (out_dir / "images").mkdir(parents=True, exist_ok=True)
    if pano_dir is None or not list((Path(pano_dir) / "data").glob("*.parquet")):
        return _finish(out_dir, schema.empty_set(views=True), [], counts, cards.PANORAMAS, started)
    found = labels.clean(read_labels(pano_dir), counts).rename({"country": "country_iso2"})
    found = found.with_columns(sampling.priorities(found["id"], settings.seed)).sort("priority", "id")
    rows, queue = min(settings.rows, settings.limit or settings.rows), found
    stored: dict[str, dict] = {}
    while len(stored) < rows and not queue.is_empty():
        head, queue = queue.head(rows - len(stored)), queue.slice(rows - len(stored))
        for row_id, data in read_images(pano_dir, head):
            try:
                stored[row_id] = _store(row_id, data, out_dir, settings.views)
            except images.BadImage as error:
                counts.dropped[error.args[0]] += 1
    kept = found.filter(pl.col("id").is_in(pl.Series(list(stored), dtype=pl.String).implode()))
    order = [stored[row_id] for row_id in kept["id"]]
    facts = pl.DataFrame([{k: v for k, v in s.items() if k != "prints"} for s in order])
    absent = [pl.lit(None, pl.String).alias(name) for name in ("region", "city", "sequence", "creator_id")]
    frame = pl.concat([kept, facts], how="horizontal") if order else schema.empty_set(views=True)
    frame = frame.with_columns(absent).select(list(schema.PANO_SCHEMA))
    source = cards.source_of(Path(pano_dir), cards.PANORAMAS)
    return _finish(out_dir, frame, order, counts, source, started)


def _store(row_id: str, data: bytes, out_dir: Path, views: int) -> dict:
    """Cut one panorama and write its views."""
    image = images.upright_rgb(images.decode(data))
    paths, first = [], None
    for number, view in enumerate(cut_views(image, views)):
        size = images.fitted_size(view.width, view.height, MAX_EDGE_PX)
        view = view if size == view.size else view.resize(size, images.Image.Resampling.LANCZOS)
        first = first or view
        paths.append(f"images/{row_id}_{number}.jpg")
        (out_dir / paths[-1]).write_bytes(images.encode(view))
    assert first is not None
    prints = hashes(image)
    return {
        "image_path": paths[0], "views": paths, "width": first.width, "height": first.height,
        "prints": (sha256(data), prints.phash, prints.long_hash),
    }  # fmt: skip


def _finish(
    out_dir: Path, frame: pl.DataFrame, stored: list[dict], counts: LabelCounts, source: cards.Source,
    started: float,
) -> SetStats:  # fmt: skip
    dropped = dict(sorted(counts.dropped.items()))
    stats = SetStats(frame.height, countries(frame), dropped, seconds=time.monotonic() - started)
    write_prints(out_dir, [(i, *s["prints"]) for i, s in zip(frame["id"], stored, strict=True)])
    rows = [(i, source.licence, source.origin or source.title, "") for i in frame["id"]]
    cards.write_attribution(out_dir, rows)
    cards.write_dropped(out_dir, stats)
    cards.write_card(out_dir, "eval_pano", source, stats)
    schema.write_parquet(frame, out_dir / "eval_pano.parquet")
    logger.info(f"eval_pano: {stats.rows:,} panoramas in {stats.seconds:.1f} s")
    return stats
