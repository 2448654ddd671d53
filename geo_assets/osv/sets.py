"""Build the sets: the training pool and the OSV-5M evaluation splits.

The same mirror and settings give the same bytes, with any number of workers and whether or not the build was
interrupted. What a set's directory holds is in `folder.py`; panoramas and own photos are built in
`panorama.py` and `photos.py`, and all builders can be had from here.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

import polars as pl

from geo_assets.errors import DataError
from geo_assets.osv import cards, images, labels, sampling, schema
from geo_assets.osv.candidates import Candidates, read_candidates, read_details
from geo_assets.osv.extract import Extractor, Options, Outcome, image_path
from geo_assets.osv.fill import Filled, fill
from geo_assets.osv.folder import PRINTS, SetStats, countries, link_or_copy, read_set, write_prints
from geo_assets.osv.mirror import Mirror
from geo_assets.osv.panorama import build_eval_pano
from geo_assets.osv.photos import build_eval_photos
from geo_assets.osv.twins import HASHES, TestTwins
from geo_assets.settings import EvalOsv, EvalQuick, TrainPool

logger = logging.getLogger(__name__)

__all__ = [
    "SetStats", "build_eval_osv", "build_eval_pano", "build_eval_photos", "build_eval_quick", "build_train_pool",
    "label_agreement", "read_set", "undecodable_images",
]  # fmt: skip


def build_train_pool(source_dir: Path, out_dir: Path, settings: TrainPool, workers: int = 1) -> SetStats:
    """Up to `cap_per_country` photos of each country from the train zips.

    Rows whose id or sequence occurs in test.csv, photos identical or near-identical to a photo of the test
    zips, and repeated photos are left out.
    """
    started, mirror = time.monotonic(), Mirror(Path(source_dir))
    found = read_candidates(mirror, "train", settings.seed, settings.cap_per_country)
    found.ranks = _without(found, _excluded(settings.exclude_ids), "excluded_by_list")
    found.ranks = _without_test_rows(found, mirror)
    quotas = sampling.capped_quotas(found.ranks, settings.cap_per_country, settings.limit)
    twins = TestTwins(mirror, out_dir, workers) if quotas else None
    options = Options(settings.max_edge_px, settings.overlay)
    with Extractor(mirror, out_dir, options, workers) as extractor:
        attempt = _Attempt(extractor, found.members, twins)
        filled = fill(found.ranks, quotas, attempt)
        frame = _table(mirror, "train", found, filled, attempt.outcomes).sort("country_iso2", "id")
        extractor.finish(frame["id"])
    (out_dir / HASHES).unlink(missing_ok=True)
    _write_traces(mirror, out_dir, frame["id"])
    return _finish(out_dir, "train_pool", frame, found, filled, attempt.outcomes, started)


def build_eval_osv(source_dir: Path, out_dir: Path, settings: EvalOsv, workers: int = 1) -> SetStats:
    """`rows` photos of the test zips: up to `first_per_country` each, then at random, in random order."""
    started, mirror = time.monotonic(), Mirror(Path(source_dir))
    rows = min(settings.rows, settings.limit or settings.rows)
    found = read_candidates(mirror, "test", settings.seed, rows)
    quotas = sampling.spread_quotas(found.ranks, rows, settings.first_per_country)
    with Extractor(mirror, out_dir, Options(settings.max_edge_px, settings.overlay), workers) as extractor:
        attempt = _Attempt(extractor, found.members, None)
        filled = fill(found.ranks, quotas, attempt, total=rows)
        frame = _table(mirror, "test", found, filled, attempt.outcomes)
        order = pl.Series("order", sampling.priority(frame["id"], settings.seed, "order"), dtype=pl.UInt64)
        frame = frame.with_columns(order).sort("order", "id").drop("order")
        extractor.finish(frame["id"])
    return _finish(out_dir, "eval_osv", frame, found, filled, attempt.outcomes, started)


def build_eval_quick(eval_osv_dir: Path, out_dir: Path, settings: EvalQuick) -> SetStats:
    """The first rows of eval_osv, which are in random order."""
    started = time.monotonic()
    frame = read_set(eval_osv_dir).head(settings.rows)
    (out_dir / "images").mkdir(parents=True, exist_ok=True)
    for name in frame["image_path"]:
        link_or_copy(eval_osv_dir / name, out_dir / name)
    prints = pl.read_parquet(eval_osv_dir / PRINTS).head(settings.rows)
    schema.write_parquet(frame, out_dir / "eval_quick.parquet")
    schema.write_parquet(prints, out_dir / PRINTS)
    cards.write_subset(eval_osv_dir, out_dir, frame)
    stats = SetStats(frame.height, countries(frame), {}, seconds=time.monotonic() - started)
    cards.write_dropped(out_dir, frame.height, {})
    return stats


def undecodable_images(directory: Path) -> list[str]:
    """Image paths of a set that do not exist or do not decode in full, sorted."""
    frame, broken = read_set(directory), []
    paths = frame["views"].explode() if "views" in frame.columns else frame["image_path"]
    for name in paths:
        try:
            images.decode((directory / name).read_bytes(), luma=True)
        except (OSError, images.BadImage):
            broken.append(name)
    return sorted(broken)


def label_agreement(frame: pl.DataFrame) -> float:
    """Share of rows whose nearest place lies in the labelled country; 1.0 for a set without rows."""
    agrees = labels.agreement(frame)
    return float(agrees.mean()) if len(agrees) else 1.0  # type: ignore[arg-type]


class _Attempt:
    """Tries rows of one split: extracts them and refuses twins and repeats."""

    def __init__(self, extractor: Extractor, members: pl.DataFrame, twins: TestTwins | None) -> None:
        self.extractor, self.members, self.twins = extractor, members, twins
        self.outcomes: dict[str, Outcome] = {}
        self._seen: dict[str, str] = {}

    def __call__(self, ids: list[str]) -> list[str | None]:
        wanted = self.members.filter(pl.col("id").is_in(pl.Series(ids).implode())).to_dicts()
        by_id = {member["id"]: member for member in wanted}
        outcomes = self.extractor([by_id[i] for i in ids])
        reasons: dict[str, str | None] = {}
        if self.twins:
            reasons = {i: "identical_to_test" for i in ids if self.twins.identical(by_id[i])}
            self._refuse_near([o for o in outcomes if o.id not in reasons], reasons)
        for outcome in outcomes:
            self.outcomes[outcome.id] = outcome
            if outcome.reason:
                reasons[outcome.id] = outcome.reason
            elif (
                outcome.id not in reasons and self._seen.setdefault(outcome.sha256, outcome.id) != outcome.id
            ):
                reasons[outcome.id] = "identical_photo"
        return [reasons.get(i) for i in ids]

    def _refuse_near(self, outcomes: list[Outcome], reasons: dict[str, str | None]) -> None:
        assert self.twins is not None
        good = [outcome for outcome in outcomes if outcome.reason is None]
        photos = [self.extractor.out_dir / image_path(outcome.id) for outcome in good]
        for outcome, near in zip(good, self.twins.near([o.phash for o in good], photos), strict=True):
            if near:
                reasons[outcome.id] = "near_identical_to_test"


def _excluded(path: Path | None) -> pl.Series:
    if path is None:
        return pl.Series("id", [], dtype=pl.String)
    try:
        lines = path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise DataError(
            f"cannot read {path} ({error.strerror}): set train_pool.exclude_ids to a text file"
        ) from error
    return pl.Series("id", lines, dtype=pl.String)


def _without(found: Candidates, ids: pl.Series, reason: str) -> pl.DataFrame:
    kept = found.ranks.filter(~pl.col("id").is_in(ids.implode()))
    found.counts.dropped[reason] += found.ranks.height - kept.height
    return kept


def _without_test_rows(found: Candidates, mirror: Mirror) -> pl.DataFrame:
    """Leave out rows whose id or sequence occurs anywhere in test.csv."""
    if found.ranks.is_empty() or not mirror.csv("test").exists():
        return found.ranks
    test = schema.scan_csv(mirror.csv("test"), ("id", "sequence")).collect(engine="streaming")
    found.ranks = _without(found, test["id"].drop_nulls(), "id_in_test")
    train = schema.scan_csv(mirror.csv("train"), ("id", "sequence"))
    shared = train.filter(pl.col("sequence").is_in(test["sequence"].drop_nulls().implode()))
    return _without(found, shared.collect(engine="streaming")["id"].drop_nulls(), "sequence_in_test")


def _table(
    mirror: Mirror, split: str, found: Candidates, filled: Filled, outcomes: dict[str, Outcome]
) -> pl.DataFrame:
    """Columns of a set plus creator_username, sha256 and phash, for the rows taken."""
    stored = [outcomes[i] for i in filled.ids]
    sizes = pl.DataFrame(
        [(o.id, image_path(o.id), o.width, o.height, o.sha256, o.phash) for o in stored],
        schema={"id": pl.String, "image_path": pl.String, "width": pl.Int64, "height": pl.Int64,
                "sha256": pl.String, "phash": pl.UInt64},
        orient="row",
    )  # fmt: skip
    if sizes.is_empty():
        return schema.empty_set().with_columns(
            pl.lit("").alias("creator_username"),
            pl.lit("").alias("sha256"),
            pl.lit(0, pl.UInt64).alias("phash"),
        )
    details = read_details(mirror.csv("train" if split == "train" else "test"), sizes["id"])
    return sizes.join(found.ranks, on="id", how="left").join(details, on="id", how="left")


def _write_traces(mirror: Mirror, out_dir: Path, ids: pl.Series) -> None:
    source = mirror.root / "traces.jsonl"
    if source.exists():
        traces = pl.read_ndjson(source, schema={"id": pl.String, "think": pl.String})
        kept = traces.filter(pl.col("id").is_in(ids.implode())).sort("id")
        schema.write_parquet(kept, out_dir / "traces.parquet")


def _finish(
    out_dir: Path, name: str, frame: pl.DataFrame, found: Candidates, filled: Filled,
    outcomes: dict[str, Outcome], started: float,
) -> SetStats:  # fmt: skip
    """Write what belongs to a set beside its photos."""
    table = frame.select(list(schema.SET_SCHEMA))
    stored = [outcomes[i] for i in filled.ids]
    stats = SetStats(
        rows=table.height,
        countries=countries(table),
        dropped=dict(sorted((found.dropped() + filled.reasons).items())),
        cropped=sum(o.band_px > 0 for o in stored),
        copied=sum(o.copied for o in stored),
        seconds=time.monotonic() - started,
        notes={
            "rows_read": found.rows_read,
            "recovered_namibia": found.counts.recovered_namibia,
            "odd_countries": dict(found.counts.odd_countries.most_common(20)),
            "refused": dict(sorted(filled.refused.items())),
        },
    )
    write_prints(out_dir, frame["id"], list(frame.select("sha256", "phash").iter_rows()))
    cards.write_attribution(out_dir, cards.mapillary_rows(frame))
    cards.write_dropped(out_dir, table.height, stats.dropped, cropped=stats.cropped, copied=stats.copied)
    cards.write_card(out_dir, name, cards.OSV5M, stats)
    schema.write_parquet(table, out_dir / f"{name}.parquet")
    logger.info(f"{name}: {stats.rows:,} rows of {len(stats.countries)} countries in {stats.seconds:.1f} s")
    return stats
