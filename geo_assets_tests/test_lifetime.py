"""A pool does not outlive the process that started it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

# A file, because a spawned process imports the script of its parent.
SCRIPT = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from geo_assets.lifetime import end_with_parent

def name(_):
    time.sleep(0.3)
    return os.getpid()

if __name__ == "__main__":
    pool = ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), initializer=end_with_parent)
    print(*set(pool.map(name, range(4))), flush=True)
    time.sleep(300)
"""


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_pool_ends_with_its_parent(tmp_path: Path, how: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    pool = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pool) == 2
    assert all(psutil.pid_exists(pid) for pid in pool)
    getattr(parent, how)()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 20
    while any(map(psutil.pid_exists, pool)) and time.monotonic() < end:
        time.sleep(0.05)
    assert [pid for pid in pool if psutil.pid_exists(pid)] == []
