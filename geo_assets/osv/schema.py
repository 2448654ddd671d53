"""The CSVs of OSV-5M and the one table that every set has.

Everything is read as text and parsed here, because guessing types loses data: "NA" is Namibia, an id has up
to 17 digits and may start with 0, a creator id may be written "111336221091714.0". The empty cell is the only
null. Coordinates are degrees (WGS 84). What to keep is decided in `labels.py`, how many in `sampling.py`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from geo_assets.errors import DataError

OSV_COLUMNS = (
    "id", "latitude", "longitude", "thumb_original_url", "country", "sequence", "captured_at", "lon_bin",
    "lat_bin", "cell", "region", "sub-region", "city", "land_cover", "road_index", "drive_side", "climate",
    "soil", "dist_sea", "quadtree_10_5000", "quadtree_10_25000", "quadtree_10_1000", "quadtree_10_50000",
    "quadtree_10_12500", "quadtree_10_500", "quadtree_10_2500", "unique_region", "unique_sub-region",
    "unique_city", "unique_country", "creator_username", "creator_id",
)  # fmt: skip
"""Header of train.csv and test.csv, in order."""

LABEL_COLUMNS = ("id", "latitude", "longitude", "country")
DETAIL_COLUMNS = ("region", "sub-region", "city", "sequence", "creator_id", "creator_username")
USED_COLUMNS = (*LABEL_COLUMNS, *DETAIL_COLUMNS)
"""What is read: labels, the keys of the leak ladder, and the name that the licence asks for."""

BLOCK_ROWS = 100_000

SET_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "image_path": pl.String,
    "latitude": pl.Float64,
    "longitude": pl.Float64,
    "country_iso2": pl.String,
    "region": pl.String,
    "city": pl.String,
    "sequence": pl.String,
    "creator_id": pl.String,
    "width": pl.Int64,
    "height": pl.Int64,
}
"""Columns of every set, in order; `image_path` is relative to the set's directory."""

PANO_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {**SET_SCHEMA, "views": pl.List(pl.String)}
"""A panorama set also lists the image paths of its views, left to right."""


REFETCH = "delete it and materialize osv_zips again"
"""What to do about a CSV of OSV-5M that cannot be read."""
# Not csv's own limit: that is one for the whole process, and a library of the pod lifts it.
_HEADER_CHARACTERS = 1 << 16


def csv_header(path: Path, remedy: str = REFETCH) -> list[str]:
    """Column names of a CSV file, without a byte order mark.

    Raises:
        DataError: the file is absent, empty or no text; ends in `remedy`.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            start = file.read(_HEADER_CHARACTERS)
        header = next(csv.reader(io.StringIO(start, newline="")), [])
    except OSError as error:
        raise DataError(f"cannot read {path} ({error.strerror}): {remedy}") from error
    except csv.Error as error:
        raise DataError(f"{path} is no CSV ({error}): {remedy}") from error
    if len(start) == _HEADER_CHARACTERS and not {"\r", "\n"} & set(start):
        raise DataError(f"{path} is no CSV (its first line does not end): {remedy}")
    if not any(header):
        raise DataError(f"{path} is empty: {remedy}")
    return header


def scan_csv(path: Path, columns: tuple[str, ...] = USED_COLUMNS) -> pl.LazyFrame:
    """Lazy text columns of an OSV-5M CSV as written; nothing is read before `collect`.

    Args:
        path: train.csv, test.csv or any file with (at least) these columns, in any order.
        columns: names to select.

    Raises:
        DataError: a column is missing; the message names it.
    """
    header = csv_header(path)
    if missing := [name for name in columns if name not in header]:
        raise DataError(f"{path} lacks the column(s) {', '.join(missing)}: is it a CSV of OSV-5M?")
    text = pl.scan_csv(path, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy")
    return text.select(columns)


def trimmed(*columns: str) -> Iterator[pl.Expr]:
    """The columns without surrounding blanks; an empty or blank cell is null, and nothing else is."""
    for name in columns:
        text = pl.col(name).str.strip_chars()
        yield pl.when(text.str.len_bytes() > 0).then(text)


def parse(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Coordinates as float64 degrees, null where they are no number; an empty id is null."""
    names = frame.collect_schema().names()
    degrees = [pl.col(n).cast(pl.Float64, strict=False) for n in ("latitude", "longitude") if n in names]
    ids = [pl.when(pl.col("id") != "").then(pl.col("id")) for _ in range("id" in names)]
    return frame.with_columns(*degrees, *ids)


def parse_details(frame: pl.DataFrame) -> pl.DataFrame:
    """Trim the other columns; creator ids become plain digits ("111336221091714.0" loses its ".0").

    Apart from `parse` because it is worth doing only for the rows that are kept.
    """
    frame = frame.with_columns(trimmed(*(n for n in ("country", *DETAIL_COLUMNS) if n in frame.columns)))
    if "creator_id" in frame.columns:
        frame = frame.with_columns(pl.col("creator_id").str.replace(r"^(\d+)\.0$", "$1"))
    return frame


def read_blocks(
    path: Path, columns: tuple[str, ...] = USED_COLUMNS, *more: pl.Expr
) -> Iterator[pl.DataFrame]:
    """Rows of an OSV-5M CSV in file order, BLOCK_ROWS at a time, labels parsed, with `more` columns added.

    Raises:
        DataError: the file cannot be read as a CSV of OSV-5M.
    """
    rows = parse(scan_csv(path, columns)).with_columns(*more)
    with _readable(path):
        yield from rows.collect_batches(chunk_size=BLOCK_ROWS, maintain_order=True, engine="streaming")


def read_csv(path: Path, columns: tuple[str, ...] = USED_COLUMNS, remedy: str = REFETCH) -> pl.DataFrame:
    """All rows of a small CSV in file order, labels and details parsed.

    Raises:
        DataError: as `read_blocks`; ends in `remedy`.
    """
    with _readable(path, remedy):
        return parse_details(parse(scan_csv(path, columns)).collect(engine="streaming"))


@contextmanager
def _readable(path: Path, remedy: str = REFETCH) -> Iterator[None]:
    try:
        yield
    except pl.exceptions.PolarsError as error:
        why = "".join(c if c.isprintable() else "?" for c in str(error).splitlines()[0])
        raise DataError(f"{path} cannot be read ({why}): {remedy}") from error


def empty_set(views: bool = False) -> pl.DataFrame:
    """A set without rows, for a split that is off."""
    return pl.DataFrame(schema=PANO_SCHEMA if views else SET_SCHEMA)


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    """Write a parquet file whose bytes depend on the rows alone, under its name only when whole."""
    partial = path.with_name(f"{path.name}.tmp")
    frame.write_parquet(partial, compression="zstd", statistics=True, row_group_size=1 << 16)
    partial.replace(path)
