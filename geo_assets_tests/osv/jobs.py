"""Data builds as programs of their own, so that tests can kill them.

`python -m geo_assets_tests.osv.jobs download OUT` or `… pool MIRROR OUT WORKERS`
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from geo_assets.osv import sets, sources
from geo_assets.osv.hub import Patience
from geo_assets.settings import OsvZips, Runtime, TrainPool

ZIPS = OsvZips(train_zips=(0, 1), test_zips=(0,))
BY_RANGES = OsvZips(train_zips=(0, 1), test_zips=(0,), reach="ranges")
POOL = TrainPool(cap_per_country=400)
QUICK = Patience(tries=5, first_wait=0.01, longest_wait=0.1, timeout=5.0)


def start(*arguments: object) -> subprocess.Popen[bytes]:
    """Start a build as a process group of its own."""
    command = [sys.executable, "-m", "geo_assets_tests.osv.jobs", *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, start_new_session=True)


def main(job: str, *arguments: str) -> None:
    """Run one build."""
    if job == "download":
        sources.build_osv_zips(ZIPS, Path(arguments[0]), Runtime(), QUICK)
    else:
        mirror, out, workers = arguments
        sets.build_train_pool(Path(mirror), Path(out), POOL, int(workers))


if __name__ == "__main__":
    main(*sys.argv[1:])
