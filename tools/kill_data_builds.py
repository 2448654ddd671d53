"""SIGKILL `dagster asset materialize` at random moments of a download and of an extraction, then let it end.

    python tools/kill_data_builds.py --kills 10

The photos are noise on a Hub on loopback. Exit code 0: `osv_zips` and `train_pool` are byte for byte those of
an undisturbed run, and no process outlived a kill by more than ten seconds. Takes about ten seconds a kill.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from geo_assets_tests.dagster_cli import Project
from geo_assets_tests.fakehub import FakeHub
from geo_assets_tests.osv.mirrors import write_mirror

PHOTOS = 1500
SLOW_BYTES_PER_SECOND = 150_000
SETTLE_SECONDS = 10.0


def kill_at(project: Project, environment: dict[str, str], progress: Callable[[], int], enough: int,
            moment: float) -> bool:  # fmt: skip
    """SIGKILL a run `moment` seconds after `progress()` grew by `enough`; False if it ended before."""
    before, run = progress(), project.start("+key:train_pool", **environment)
    while run.poll() is None and progress() < before + enough:
        time.sleep(0.002)
    time.sleep(moment)
    if run.poll() is not None:
        print((run.stdout.read() if run.stdout else "")[-3000:])
        return False
    children = psutil.Process(run.pid).children(recursive=True)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    _, left = psutil.wait_procs(children, timeout=SETTLE_SECONDS)
    if left:
        raise SystemExit(f"{len(left)} processes outlive the kill: {[p.cmdline()[:6] for p in left]}")
    return True


def content(folder: Path) -> dict[str, bytes]:
    """Files of an artifact but its manifest, which has times in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json"
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=10, help="in each of the two phases")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as scratch, FakeHub(Path(scratch) / "hub") as hub:
        root = Path(scratch)
        write_mirror(root / "hub/datasets/osv5m/osv5m", train=PHOTOS, test=40)
        environment = {"GEO_PROFILE": "pod", "GEO_RUNTIME__WORKERS": "1"}
        environment |= {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1"}
        project, undisturbed = Project(root / "killed"), Project(root / "undisturbed")

        def sent() -> int:
            return sum(request.sent for request in hub.log)

        def extracted() -> int:
            return sum(p.stat().st_size for p in project.artifacts.glob("train_pool/*/extract.jsonl"))

        hub.bandwidth = SLOW_BYTES_PER_SECOND
        for number in range(arguments.kills):
            killed = kill_at(project, environment, sent, 30_000, rng.uniform(0, 0.5))
            print(f"download, kill {number + 1}: {sent():,} bytes sent", "" if killed else "(had ended)")
        hub.bandwidth = None
        for number in range(arguments.kills):
            killed = kill_at(project, environment, extracted, 1000, rng.uniform(0, 0.05))
            print(
                f"extraction, kill {number + 1}: {extracted():,} bytes of journal",
                "" if killed else "(had ended)",
            )
        codes = [run.materialize("+key:train_pool", **environment).code for run in (project, undisturbed)]
        same = {
            name: content(project.latest(name)) == content(undisturbed.latest(name))
            for name in ("osv_zips", "train_pool")
        }
        print(f"exit codes {codes}; same bytes: {same}; left over: {list(project.leftovers())}")
        return 0 if codes == [0, 0] and all(same.values()) and not list(project.leftovers()) else 1


if __name__ == "__main__":
    sys.exit(main())
