"""The gym, beside the main line: `gym_tasks`, `gym_checkpoints`, `gym_metrics`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dagster import MetadataValue

from geo_assets.defs import metadata
from geo_assets.defs.asset import Check, Outcome, Whole, geo_asset
from geo_assets.defs.previews import read_lines
from geo_assets.defs.rl import FINITE_LOSSES
from geo_assets.workers.harness import Job


def _build_tasks(job: Job) -> None:
    from geo_assets.gym import tasks

    if not job.settings.gym.is_on:
        job.metadata(tasks.write_off(job.out))
        return
    figures, table = tasks.write_tasks(job.settings.gym, job.settings.task, job.out)
    job.metadata({**figures, "attacks": table.message})


def _attacks_do_not_pay(whole: Whole) -> Outcome:
    if not whole.settings.gym.is_on:
        return Outcome(True, "gym.environment is off")
    rows = json.loads((whole.path / "attacks.json").read_text(encoding="utf-8"))
    failed = [row["attack"] for row in rows if not row["passed"]]
    told = f"{len(rows) - len(failed)} of {len(rows)} conditions hold" + "".join(
        f"; {f} pays" for f in failed
    )
    return Outcome(not failed, told, {"attacks": metadata.table(rows)})


def _describe_tasks(whole: Whole) -> Mapping[str, Any]:
    from geo_assets.report import previews

    path = whole.path / "test" / "tasks.jsonl"
    if not path.exists():
        return {}
    records = [record for record in read_lines(path)[:8] if record["images"]]
    photos = [(path.parent / r["images"][0], str(r["truth"].get("answer", r["index"]))) for r in records]
    return {"sample": MetadataValue.md(previews.image_grid(photos))}


def _describe_run(whole: Whole) -> Mapping[str, Any]:
    from geo_assets.report import previews

    path = whole.path / "log_history.jsonl"
    if not path.exists():
        return {}
    records = [record for record in read_lines(path) if "reward" in record]
    keys = [key for key in records[-1] if key == "reward" or key.endswith("_reward/mean")] if records else []
    return {
        f"{key.split('/')[-2] if '/' in key else key}_curve": MetadataValue.md(
            previews.sparkline([(r["step"], r[key]) for r in records if r.get(key) is not None], key)
        )
        for key in keys
    }


def _describe_metrics(whole: Whole) -> Mapping[str, Any]:
    path = whole.path / "summary.json"
    if not path.exists():
        return {}
    summary = json.loads(path.read_text(encoding="utf-8"))
    shown = ("n", "before", "after", "difference", "low", "high", "excludes_zero")
    rows: list[Mapping[str, Any]] = [
        {"decoding": name, **{key: values[key] for key in shown}}
        for name, values in summary["change"].items()
    ]
    pages = {"page": "gym.html", "gallery": "policy/greedy/gallery.html"}
    paths = {name: MetadataValue.path(str(whole.path / page)) for name, page in pages.items()}
    return {"change": metadata.table(rows), **paths}


gym_tasks = geo_asset(
    "gym_tasks",
    build=_build_tasks,
    describe=_describe_tasks,
    checks=(
        Check(
            "attacks_do_not_pay",
            "No canned completion earns more than what it knows is honestly worth.",
            _attacks_do_not_pay,
        ),
    ),
)
gym_checkpoints = geo_asset("gym_checkpoints", describe=_describe_run, checks=(FINITE_LOSSES,))
gym_metrics = geo_asset("gym_metrics", describe=_describe_metrics)

ASSETS = (gym_tasks, gym_checkpoints, gym_metrics)
