"""Materialize one asset whose worker is `acting_worker`, in this process: `python acting_run.py FOLDER`."""

import json
import sys
from pathlib import Path

from dagster import AssetExecutionContext, DagsterInstance, MaterializeResult, asset, materialize

from geo_assets.defs.runner import run_worker
from geo_assets.settings import Runtime, Settings
from geo_assets.workers.harness import Job


def folder() -> Path:
    return Path(sys.argv[1])


@asset
def acted(context: AssetExecutionContext) -> MaterializeResult:
    out = folder() / "out"
    out.mkdir(exist_ok=True)
    settings = Settings(name="test", runtime=Runtime(grace_seconds=5, device="cpu"))
    with (folder() / "lock").open("w") as lock:
        job = Job("acted", out, settings)
        metadata = run_worker(context, "geo_assets_tests.defs.acting_worker", job, lock.fileno())
        return MaterializeResult(metadata=metadata)


if __name__ == "__main__":
    with DagsterInstance.ephemeral() as instance:
        result = materialize([acted], instance=instance, raise_on_error=False)
        events = instance.all_logs(result.run_id)
    (folder() / "events.json").write_text(
        json.dumps(
            [[event.dagster_event_type and event.dagster_event_type.value, event.message] for event in events]
        )
    )
    observed = [event.asset_observation for event in events if event.asset_observation]
    (folder() / "observed.json").write_text(
        json.dumps([{name: value.value for name, value in found.metadata.items()} for found in observed])
    )
    metadata = {}
    if result.success:
        (materialization,) = result.asset_materializations_for_node("acted")
        metadata = {key: value.value for key, value in materialization.metadata.items()}
    (folder() / "result.json").write_text(json.dumps({"success": result.success, "metadata": metadata}))
