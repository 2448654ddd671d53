"""The sets: `train_pool` and the evaluation splits, with the checks that nothing leaks between them."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from dagster import AssetCheckExecutionContext, AssetCheckResult, AssetChecksDefinition, multi_asset_check

from geo_assets.defs.asset import Check, Outcome, Whole, current_paths, geo_asset
from geo_assets.defs.previews import describe_set
from geo_assets.graph import EVAL_SPLITS
from geo_assets.workers.harness import Job

if TYPE_CHECKING:
    from geo_assets.osv.leaks import LeakReport

MIN_LABEL_AGREEMENT = 0.97


def _build_train_pool(job: Job) -> None:
    from geo_assets.osv import sets

    sets.build_train_pool(job.upstream["osv_zips"], job.out, job.settings.train_pool, job.runtime.workers)


def _build_eval_osv(job: Job) -> None:
    from geo_assets.osv import sets

    sets.build_eval_osv(job.upstream["osv_zips"], job.out, job.settings.eval_osv, job.runtime.workers)


def _build_eval_quick(job: Job) -> None:
    from geo_assets.osv import sets

    sets.build_eval_quick(job.upstream["eval_osv"], job.out, job.settings.eval_quick)


def _build_eval_pano(job: Job) -> None:
    from geo_assets.osv import sets

    sets.build_eval_pano(job.upstream["pano_source"], job.out, job.settings.eval_pano)


def _build_eval_photos(job: Job) -> None:
    from geo_assets.osv import sets

    sets.build_eval_photos(job.out, job.settings.eval_photos)


def _within_cap(whole: Whole) -> Outcome:
    from geo_assets.osv import sets

    cap = whole.settings.train_pool.cap_per_country
    counts = sets.read_set(whole.path)["country_iso2"].value_counts(sort=True)
    above = {country: n for country, n in counts.rows() if n > cap}
    return Outcome(not above, f"{len(above)} of {counts.height} countries above the cap of {cap}", above)


def _files_decode(whole: Whole) -> Outcome:
    from geo_assets.osv import sets

    broken = sets.undecodable_images(whole.path)
    n = sets.read_set(whole.path).height
    return Outcome(not broken, f"{len(broken)} of {n} photos do not decode", {"first": broken[:5]})


def _labels_agree(whole: Whole) -> Outcome:
    from geo_assets.osv import sets

    share = sets.label_agreement(sets.read_set(whole.path))
    return Outcome(
        share >= MIN_LABEL_AGREEMENT,
        f"the nearest place lies in the labelled country for {share:.1%} of the rows "
        f"(at least {MIN_LABEL_AGREEMENT:.0%} expected)",
        {"share": share},
    )


def _nothing_shared(report: "LeakReport") -> Outcome:
    shared = report.shared()
    message = ", ".join(f"{kind}: {len(ids)}" for kind, ids in shared.items())
    return Outcome(report.clean, message, {kind: ids[:5] for kind, ids in shared.items() if ids})


def _far(report: "LeakReport") -> Outcome:
    return Outcome(
        report.within_1_km == 0,
        f"{report.within_1_km} of {report.n} photos have a training photo within 1 km",
        {"n_near": report.within_1_km, "n": report.n},
    )


AGAINST_POOL = (
    Check(
        "nothing_shared_with_train_pool",
        "No id, sequence, byte-identical or near-identical photo is in train_pool too.",
        _nothing_shared,
    ),
    Check(
        "far_from_train_pool",
        "The nearest training photo is at least 1 km away; nearer ones are counted.",
        _far,
        blocking=False,
    ),
)


def _against_pool(split: str) -> AssetChecksDefinition:
    """The checks run apart from their asset, because the split does not depend on the pool."""

    @multi_asset_check(
        name=f"{split}_against_train_pool",
        specs=[check.spec(split, also_after=["train_pool"]) for check in AGAINST_POOL],
        can_subset=True,
    )
    def checks(context: AssetCheckExecutionContext) -> Iterator[AssetCheckResult]:
        from geo_assets.osv import leaks

        report = leaks.compare(*current_paths("train_pool", split))
        wanted = {key.name for key in context.selected_asset_check_keys}
        yield from (check.result(split, report) for check in AGAINST_POOL if check.name in wanted)

    return checks


def _set(name: str, **arguments: Any) -> Any:
    describe: Any = partial(describe_set, name)
    return geo_asset(name, describe=describe, **arguments)


train_pool = _set(
    "train_pool",
    build=_build_train_pool,
    checks=(
        Check("within_cap", "No country has more rows than the cap.", _within_cap),
        Check("photos_decode", "Every photo exists and decodes.", _files_decode),
        Check("labels_agree", "Coordinates agree with the country label.", _labels_agree, blocking=False),
    ),
)
eval_osv = _set("eval_osv", build=_build_eval_osv)
eval_quick = _set("eval_quick", build=_build_eval_quick)
eval_pano = _set("eval_pano", build=_build_eval_pano)
eval_photos = _set("eval_photos", build=_build_eval_photos)

ASSETS = (train_pool, eval_osv, eval_quick, eval_pano, eval_photos)
CHECKS = tuple(_against_pool(split) for split in EVAL_SPLITS)
