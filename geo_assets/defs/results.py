"""What people take away: `report` and `merged_model`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dagster import MetadataValue

from geo_assets.defs.asset import Check, Outcome, Whole, geo_asset
from geo_assets.workers.harness import Job


def _build_report(job: Job) -> None:
    from geo_assets.report import render

    job.metadata(render.build_report(job.upstream, job.settings, job.out, job.recipes))


def _describe_report(whole: Whole) -> Mapping[str, Any]:
    text = (whole.path / "report.md").read_text(encoding="utf-8")
    return {
        "report": MetadataValue.md(text),
        "html": MetadataValue.path(str(whole.path / "report.html")),
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
    checks=(Check("same_answers", "Answers as the start model with the adapter does.", _same_answers),),
)

ASSETS = (report, merged_model)
