"""Measure reading and sampling a full-size CSV, each way in a process of its own.

Peak memory is VmHWM of /proc: it counts mapped pages, which a reader that maps the file may keep.
`python -m geo_assets.osv.bench_csv WAY CSV` prints one JSON line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

WAYS = {
    "two zips": "choose 400 a country from the rows of two zips",
    "all zips": "choose 400 a country from all rows",
    "pandas": "pandas.read_csv with its defaults, nothing chosen",
}
TWO_ZIPS_ROWS = 100_000


def measure(way: str, csv: Path) -> dict[str, float]:
    """Seconds, CPU seconds, rows a second and peak GiB of one way, in a new process.

    Raises:
        RuntimeError: the process failed; carries the end of its output.
    """
    command = [sys.executable, "-m", __name__, way, str(csv)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def peak_gib() -> float:
    """Largest resident size of this process so far, mapped pages included."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 2**20


def _read_pandas(csv: Path) -> int:
    import pandas

    return len(pandas.read_csv(csv))


def _choose(csv: Path, rows: int | None) -> int:
    """Rank the rows of `rows` members (None: of every row) as a training pool does."""
    import polars as pl

    from geo_assets.osv.candidates import read_candidates
    from geo_assets.osv.mirror import Mirror

    class Unzipped(Mirror):
        """A mirror whose members are made up from the CSV's ids, kept beside it."""

        def csv(self, split: str) -> Path:
            return csv

        def members(self, split: str) -> tuple[pl.DataFrame, Counter[str]]:
            return pl.read_parquet(members_of(csv), n_rows=rows).cast({"zip": pl.Categorical}), Counter()

    return read_candidates(Unzipped(csv.parent), "train", 42, 400).rows_read


def members_of(csv: Path) -> Path:
    """The made-up member table of a CSV: 50,000 photos a zip."""
    return csv.with_suffix(".members.parquet")


def write_members(csv: Path) -> None:
    """Write `members_of` a CSV."""
    import polars as pl

    from geo_assets.osv.archive import MEMBER_SCHEMA

    ids = pl.scan_csv(csv, infer_schema=False).select(pl.col("id")).collect(engine="streaming").sort("id")
    number = pl.int_range(pl.len())
    made_up = {
        "offset": number * 50_000,
        "stored_bytes": 50_000,
        "bytes": 50_000,
        "crc32": number,
        "method": 0,
    }
    zips = pl.format("images/train/{}.zip", number // 50_000).alias("zip")
    columns = [(e if isinstance(e, pl.Expr) else pl.lit(e)).alias(n) for n, e in made_up.items()]
    table = ids.with_columns(zips, *columns).select(list(MEMBER_SCHEMA))
    types = {**MEMBER_SCHEMA, "zip": pl.String}
    table.select(pl.col(n).cast(t) for n, t in types.items()).write_parquet(members_of(csv))


def main(way: str, csv: str) -> None:
    """Do one way and print its figures; imports and the gazetteer are not in the times."""
    if way == "pandas":
        import pandas  # noqa: F401
    else:
        from geo_assets.geo.places import gazetteer

        gazetteer()
    wall, cpu = time.perf_counter(), time.process_time()
    if way == "pandas":
        rows = _read_pandas(Path(csv))
    else:
        rows = _choose(Path(csv), TWO_ZIPS_ROWS if way == "two zips" else None)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    figures = {"seconds": seconds, "cpu_seconds": cpu_seconds, "rows": rows, "peak_gib": peak_gib()}
    print(json.dumps({**figures, "rows_per_second": rows / seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
