"""Build the sets: the training pool and the OSV-5M evaluation splits.

The same mirror and settings give the same bytes, with any number of workers and whether or not the build was
interrupted. What a set's directory holds is in `folder.py`; panoramas and own photos are built in
`panorama.py` and `photos.py`, and all builders can be had from here.
"""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from pathlib import Path

import polars as pl

from geo_assets.errors import DataError
from geo_assets.files import link_or_copy
from geo_assets.osv import cards, images, labels, sampling, schema
from geo_assets.osv.attempt import Attempt
from geo_assets.osv.candidates import Candidates, Exclusions, read_candidates
from geo_assets.osv.extract import Extractor, Options, image_path
from geo_assets.osv.fill import Filled, fill
from geo_assets.osv.fingerprint import sha256
from geo_assets.osv.folder import PRINTS, SetStats, countries, read_set, write_prints
from geo_assets.osv.mirror import Mirror
from geo_assets.osv.panorama import build_eval_pano
from geo_assets.osv.photos import build_eval_photos
from geo_assets.osv.processes import Processes
from geo_assets.osv.twins import CACHE, TestTwins
from geo_assets.settings import EvalOsv, EvalQuick, TrainPool

logger = logging.getLogger(__name__)

__all__ = [
    "SetStats", "build_eval_osv", "build_eval_pano", "build_eval_photos", "build_eval_quick",
    "build_train_pool", "label_agreement", "read_set", "undecodable_images",
]  # fmt: skip


def build_train_pool(source_dir: Path, out_dir: Path, settings: TrainPool, workers: int = 1) -> SetStats:
    """Up to `cap_per_country` photos of each country from the train zips, sorted by country and id.

    Rows whose id or sequence occurs in test.csv, photos identical or near-identical to a photo of the test
    zips, and repeated photos are left out. Empty where the mirror has no train zips.
    """
    started, mirror = time.monotonic(), Mirror(Path(source_dir))
    cap = settings.cap_per_country
    found = read_candidates(mirror, "train", settings.seed, cap, _exclusions(mirror, settings.exclude_ids))
    quotas = sampling.capped_quotas(found.rows, cap, settings.limit)
    options = Options.of(settings)
    with Processes(workers) as processes, Extractor(mirror, out_dir, options, processes) as extractor:
        twins = TestTwins(mirror, out_dir, processes) if quotas else None
        attempt = Attempt(extractor, found.members, twins)
        filled = fill(found.rows, quotas, attempt)
        frame = _table(found, filled, attempt).sort("country_iso2", "id")
        extractor.finish(frame["id"])
    (out_dir / CACHE).unlink(missing_ok=True)
    _write_traces(mirror, out_dir, frame["id"])
    return _finish(out_dir, "train_pool", frame, found, filled, attempt, started, cap)


def build_eval_osv(source_dir: Path, out_dir: Path, settings: EvalOsv, workers: int = 1) -> SetStats:
    """`rows` photos of the test zips: up to `first_per_country` each, then at random, in random order."""
    started, mirror = time.monotonic(), Mirror(Path(source_dir))
    rows = min(settings.rows, settings.limit or settings.rows)
    found = read_candidates(mirror, "test", settings.seed, rows)
    quotas = sampling.spread_quotas(found.rows, rows, settings.first_per_country)
    options = Options.of(settings)
    with Processes(workers) as processes, Extractor(mirror, out_dir, options, processes) as extractor:
        attempt = Attempt(extractor, found.members)
        filled = fill(found.rows, quotas, attempt, total=rows)
        frame = _table(found, filled, attempt)
        order = pl.Series("order", sampling.priority(frame["id"], settings.seed, "order"), dtype=pl.UInt64)
        frame = frame.with_columns(order).sort("order", "id").drop("order")
        extractor.finish(frame["id"])
    return _finish(out_dir, "eval_osv", frame, found, filled, attempt, started)


def build_eval_quick(eval_osv_dir: Path, out_dir: Path, settings: EvalQuick) -> SetStats:
    """The first rows of eval_osv, which are in random order."""
    started = time.monotonic()
    frame = read_set(eval_osv_dir).head(settings.rows)
    (out_dir / "images").mkdir(parents=True, exist_ok=True)
    for name in frame["image_path"]:
        link_or_copy(eval_osv_dir / name, out_dir / name)
    write_prints(out_dir, pl.read_parquet(eval_osv_dir / PRINTS).head(settings.rows).rows())
    cards.write_subset(eval_osv_dir, out_dir, frame)
    schema.write_parquet(frame, out_dir / "eval_quick.parquet")
    return SetStats(frame.height, countries(frame), {}, seconds=time.monotonic() - started)


def undecodable_images(directory: Path) -> list[str]:
    """Image paths of a set that do not exist or do not decode in full, sorted.

    Photos that were stored byte for byte have decoded when the set was built. Their SHA-256 shows that the
    bytes are still those, in a tenth of the time of decoding them again.
    """
    frame, broken = read_set(directory), []
    decoded = set(pl.read_parquet(directory / PRINTS)["sha256"])
    paths = frame["views"].explode() if "views" in frame.columns else frame["image_path"]
    for name in paths:
        try:
            data = (directory / name).read_bytes()
            if sha256(data) not in decoded:
                images.decode(data, luma=True)
        except (OSError, images.BadImage):
            broken.append(name)
    return sorted(broken)


def label_agreement(frame: pl.DataFrame) -> float:
    """Share of rows whose nearest place lies in the labelled country; 1.0 for a set without rows."""
    return int(labels.agreement(frame).sum()) / frame.height if frame.height else 1.0


def _exclusions(mirror: Mirror, exclude_ids: Path | None) -> Exclusions:
    """What must stay out of training: a list of the user's, and whatever test.csv names."""
    ids = {}
    if exclude_ids is not None:
        try:
            text = exclude_ids.expanduser().read_text(encoding="utf-8-sig", errors="replace")
        except OSError as error:
            reason = f"cannot read {exclude_ids} ({error.strerror})"
            raise DataError(f"{reason}: set train_pool.exclude_ids to a text file of ids") from error
        listed = re.findall(r"[^\s,;\"']+", text)
        ids["excluded_by_list"] = pl.Series(listed, dtype=pl.String)
    if not mirror.csv("test").exists():
        return Exclusions(ids)
    test = schema.read_csv(mirror.csv("test"), ("id", "sequence"))
    ids["id_in_test"] = test["id"].drop_nulls()
    return Exclusions(ids, {"sequence_in_test": test["sequence"].drop_nulls().unique()})


def _table(found: Candidates, filled: Filled, attempt: Attempt) -> pl.DataFrame:
    """Columns of a set, creator_username and fingerprints, for the rows taken."""
    stored = [attempt.outcomes[i] for i in filled.ids]
    prints = [(o.sha256, o.phash, bytes.fromhex(o.long_hash)) for o in stored]
    photos = pl.DataFrame(
        [(o.id, image_path(o.id), o.width, o.height, *p) for o, p in zip(stored, prints, strict=True)],
        schema={"id": pl.String, "image_path": pl.String, "width": pl.Int64, "height": pl.Int64,
                "sha256": pl.String, "phash": pl.UInt64, "long_hash": pl.Binary},
        orient="row",
    )  # fmt: skip
    return photos.join(found.rows, on="id", how="left")


def usable_by_choice(available: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """Usable rows by country in the first two zips and, where there are more, in all of them."""
    zips = sorted(available)
    choices = {"the first two zips": zips[:2], f"all {len(zips)} zips": zips}
    if len(zips) <= 2:
        choices = {f"the zips ({len(zips)})": zips}
    totals = {
        name: sum((Counter(available[z]) for z in chosen), Counter[str]()) for name, chosen in choices.items()
    }
    return {name: dict(sorted(rows.items())) for name, rows in totals.items()}


def zips_and_caps(usable: dict[str, dict[str, int]], cap: int) -> dict[str, str]:
    """What each choice of zips can give under a cap: rows, countries, countries at the cap."""
    return {
        name: f"{sum(min(n, cap) for n in rows.values()):,} rows of {len(rows)} countries, "
        f"{sum(n >= cap for n in rows.values())} at the cap"
        for name, rows in usable.items()
    }


def _write_traces(mirror: Mirror, out_dir: Path, ids: pl.Series) -> None:
    """Keep the reasoning traces of the rows taken, where the source has some."""
    source = mirror.root / "traces.jsonl"
    if source.exists():
        traces = pl.read_ndjson(source, schema={"id": pl.String, "think": pl.String})
        kept = traces.filter(pl.col("id").is_in(ids.implode())).sort("id")
        schema.write_parquet(kept, out_dir / "traces.parquet")


def _finish(
    out_dir: Path, name: str, frame: pl.DataFrame, found: Candidates, filled: Filled, attempt: Attempt,
    started: float, cap: int = 0,
) -> SetStats:  # fmt: skip
    """Write what belongs to a set beside its photos; the table last, so that it stands for a whole set."""
    table = frame.select(list(schema.SET_SCHEMA))
    stored = [attempt.outcomes[i] for i in filled.ids]
    usable = usable_by_choice(found.available) if cap and found.available else {}
    source = cards.source_of(attempt.extractor.mirror.root, cards.OSV5M)
    stats = SetStats(
        rows=table.height,
        countries=countries(table),
        dropped=dict(sorted((found.dropped() + filled.reasons).items())),
        cropped=sum(o.band_px > 0 for o in stored),
        copied=sum(o.copied for o in stored),
        seconds=time.monotonic() - started,
        usable=usable,
        notes={
            "rows_read": found.rows_read,
            "recovered_namibia": found.counts.recovered_namibia,
            "odd_countries": dict(found.counts.odd_countries.most_common(cards.MAX_LISTED)),
            "label_disagrees": int((~labels.agreement(table)).sum()),
            "refused": dict(sorted(filled.refused.items())),
            "ocr": attempt.extractor.options.use_ocr,
            "zips_and_caps": zips_and_caps(usable, cap),
        },
    )
    write_prints(out_dir, frame.select("id", "sha256", "phash", "long_hash").rows())
    cards.write_attribution(out_dir, cards.attribution_of(frame, source))
    cards.write_dropped(out_dir, stats)
    cards.write_card(out_dir, name, source, stats)
    schema.write_parquet(table, out_dir / f"{name}.parquet")
    speed = table.height / max(1e-9, stats.seconds)
    logger.info(f"{name}: {stats.rows:,} rows of {len(stats.countries)} countries, {speed:,.0f} a second")
    return stats
