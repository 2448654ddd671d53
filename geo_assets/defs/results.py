"""What people take away: `report` and `merged_model`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Check, Outcome, Whole, geo_asset
from geo_assets.workers.harness import Job

_HEADLINE = {"mean_geoscore": "score", "country_acc": "country right", "median_km": "median km"}


def _build_report(job: Job) -> None:
    from geo_assets.report import render

    job.metadata(render.build_report(job.upstream, job.settings, job.out, job.recipes))


def _describe_report(whole: Whole) -> Mapping[str, Any]:
    found = whole.figures
    caveats = [str(caveat) for caveat in found.get("caveats", ())]
    return {
        "verdict": found.get("verdict", ""),
        "sentence": found.get("sentence", ""),
        "caveats": MetadataValue.md("\n".join(f"- {caveat}" for caveat in caveats)) if caveats else "none",
        "gains": metadata.table(_gains(found)),
        "html": MetadataValue.path(str(whole.path / "report.html")),
        "report": MetadataValue.md((whole.path / "report.md").read_text(encoding="utf-8")),
    }


def _gains(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Before, after and gain with its 95% interval, a row per metric and decoding."""
    rows = []
    for key, label in _HEADLINE.items():
        for decoding in ("greedy", "sampled"):
            values = {part: found.get(f"{decoding}/{key}/{part}") for part in ("before", "after", "gain")}
            if values["gain"] is None:
                continue
            low, high = (found.get(f"{decoding}/{key}/gain_{side}") for side in ("low", "high"))
            shown = {part: metadata.near(value) for part, value in values.items()}
            between = f"{metadata.near(low)} to {metadata.near(high)}"
            rows.append({"metric": label, "answers": decoding, **shown, "95% interval": between})
    return rows


def _describe_model(whole: Whole) -> Mapping[str, Any]:
    return {
        "card": MetadataValue.md(
            (whole.path / "README.md").read_text(encoding="utf-8").split("\n---\n", 1)[-1]
        ),
        "load": MetadataValue.md(f"`geo-assets predict --model {whole.path} photo.jpg`"),
    }


def _same_answers(whole: Whole) -> Outcome:
    found = json.loads((whole.path / "verification.json").read_text(encoding="utf-8"))
    same, n = found["same_greedy_answers"], found["rows"]
    return Outcome(
        same == n, f"{same} of {n} greedy answers equal those of the start model with the adapter", {"n": n}
    )


report = geo_asset("report", build=_build_report, describe=_describe_report)
merged_model = geo_asset(
    "merged_model",
    describe=_describe_model,
    checks=(Check("same_answers", "Answers as the start model with the adapter does.", _same_answers),),
)

ASSETS = (report, merged_model)
