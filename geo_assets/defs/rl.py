"""Reinforcement learning: `train_learnable`, `smoke_test`, `lora_checkpoints`, and their checks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Check, Outcome, Whole, geo_asset
from geo_assets.defs.previews import curves, describe_set, read_lines

CURVES = {
    "reward": "reward",
    "format": "rewards/format_reward/mean",
    "country": "rewards/country_reward/mean",
    "distance": "rewards/dist_reward/mean",
}
SAMPLES = 5


def _size_in_range(whole: Whole) -> Outcome:
    from geo_assets.osv import sets

    n = sets.read_set(whole.path).height
    wanted = whole.settings.learnable
    return Outcome(
        wanted.min_rows <= n <= wanted.max_rows,
        f"{n} learnable rows; {wanted.min_rows} to {wanted.max_rows} are wanted. Fewer: raise learnable.rows "
        "or lower learnable.std_threshold; more: lower learnable.rows",
        {"rows": n},
    )


def _no_dominant_country(whole: Whole) -> Outcome:
    from geo_assets.osv import sets

    counts = sets.read_set(whole.path)["country_iso2"].value_counts(sort=True).rows()
    n = sum(count for _, count in counts)
    country, largest = counts[0] if counts else ("none", 0)
    limit = whole.settings.learnable.max_country_share
    share = largest / n if n else 1.0
    return Outcome(
        share <= limit, f"{country} has {share:.1%} of the rows (limit {limit:.0%})", {"share": share}
    )


def _reward_withstands_attacks(whole: Whole) -> Outcome:
    from geo_assets.osv import sets
    from geo_assets.task import attacks

    name = whole.settings.task.reward
    pool = sets.read_set(whole.upstream["train_pool"])
    gold = pool.select("latitude", "longitude", "country_iso2").rows(named=True)
    outcome = attacks.run_attacks(gold, rewards=[name])
    return Outcome(outcome.passed, outcome.message, {"attacks": metadata.table(outcome.rows)})


def _smoke(whole: Whole) -> Mapping[str, Any]:
    return json.loads((whole.path / "smoke.json").read_text(encoding="utf-8"))


def _format_rate(whole: Whole) -> Outcome:
    rate, least = _smoke(whole)["format_rate"], whole.settings.smoke.min_format_rate
    after = whole.settings.smoke.format_after_step
    return Outcome(
        rate >= least, f"format rate {rate:.2f} after step {after} (at least {least:g})", {"rate": rate}
    )


def _language_model_only(whole: Whole) -> Outcome:
    found = _smoke(whole)
    visual = found["visual_lora_modules"]
    return Outcome(
        not visual,
        f"{len(visual)} of {found['lora_modules']} LoRA modules in the vision tower",
        {"visual": visual[:5]},
    )


def _log_probabilities_agree(whole: Whole) -> Outcome:
    gap = _smoke(whole)["logprob"]
    return Outcome(
        gap["mean_abs_gap"] <= gap["limit"],
        f"mean |log-probability difference| {gap['mean_abs_gap']:.2g} nats a token (limit {gap['limit']:g})",
        gap,
    )


def _finite_losses(whole: Whole) -> Outcome:
    log = whole.path / "log_history.jsonl"
    records = read_lines(log) if log.exists() else []  # a gym that is off has no log
    bad = [r["step"] for r in records if not math.isfinite(r.get("loss", 0.0))]
    return Outcome(not bad, f"{len(bad)} of {len(records)} logged losses are not finite", {"steps": bad[:20]})


def _no_collapse(whole: Whole) -> Outcome:
    from geo_assets.osv import sets
    from geo_assets.task import collapse

    true = sets.read_set(whole.upstream["train_learnable"])["country_iso2"]
    verdict = collapse.watch(read_lines(whole.path / "samples.jsonl"), true_country_iso2=true)
    return Outcome(verdict.passed, verdict.message, verdict.figures)


def _describe_learnable(whole: Whole) -> Mapping[str, Any]:
    import polars as pl

    from geo_assets.report import previews

    stats = json.loads((whole.path / "filter_stats.json").read_text(encoding="utf-8"))
    hits = pl.read_parquet(whole.path / "train_learnable.parquet")["hits"].value_counts().sort("hits")
    counts = {f"{n} of the sampled answers": rows for n, rows in hits.rows()}
    return {
        "country_right_in": MetadataValue.md(previews.bars(counts, "Country right in")),
        **{name: value for name, value in stats.items() if name != "rows_per_country"},
        **describe_set("train_learnable", whole),
    }


def _describe_run(whole: Whole) -> Mapping[str, Any]:
    records = read_lines(whole.path / "log_history.jsonl")
    series = {
        name: [(r["step"], r[key]) for r in records if r.get(key) is not None] for name, key in CURVES.items()
    }
    return {**curves(series), "samples": metadata.table(_samples(whole)), **_tracker(whole)}


def _samples(whole: Whole) -> list[dict[str, Any]]:
    """The newest sample answers with their reward parts."""
    from geo_assets.report.escaping import clean
    from geo_assets.task.answer import parse_answer

    rows = []
    for record in read_lines(whole.path / "samples.jsonl")[-SAMPLES:]:
        guess = parse_answer(record["completion"])
        clues = record["completion"].split("</think>")[0].replace("<think>", "")
        rows.append(
            {
                "step": record["step"],
                "reward": metadata.near(record.get("total")),
                "form": record.get("format"),
                "country": record.get("country_reward"),
                "distance": metadata.near(record.get("dist")),
                "guess": f"{clean(guess.country, 40)} {guess.lat_deg:g}, {guess.lon_deg:g}"
                if guess
                else "none",
                "clues": clean(clues, 70),
            }
        )
    return rows


def _tracker(whole: Whole) -> dict[str, Any]:
    """Where the curves are: the tracker's page, or its folder."""
    where = whole.figures.get("tracker_run")
    if not where or str(where).startswith("https://"):
        return {}
    return {"tracker_run": MetadataValue.path(str(whole.path / str(where)))}


FINITE_LOSSES = Check("finite_losses", "Every logged loss is finite.", _finite_losses)

_GROUP_CHECKS = (
    Check("size_in_range", "The number of rows is one that GRPO can work with.", _size_in_range),
    Check("no_dominant_country", "No country holds more than 15% of the rows.", _no_dominant_country),
    Check(
        "reward_withstands_attacks",
        "No canned policy without a look at the photo beats the honest baseline of the same knowledge.",
        _reward_withstands_attacks,
    ),
)

train_learnable = geo_asset("train_learnable", describe=_describe_learnable, checks=_GROUP_CHECKS)
smoke_test = geo_asset(
    "smoke_test",
    describe=_describe_run,
    checks=(
        Check("format_rate", "Answers keep their form after step 10.", _format_rate),
        Check("language_model_only", "No LoRA module lies in the vision tower.", _language_model_only),
        Check(
            "log_probabilities_agree",
            "Rollout and trainer give the same tokens the same log-probability.",
            _log_probabilities_agree,
        ),
    ),
)
lora_checkpoints = geo_asset(
    "lora_checkpoints",
    describe=_describe_run,
    checks=(
        FINITE_LOSSES,
        Check("no_collapse", "The answers have not collapsed to a few countries or one point.", _no_collapse),
    ),
)

ASSETS = (train_learnable, smoke_test, lora_checkpoints)
