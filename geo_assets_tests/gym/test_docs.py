"""docs/environments.md works as it is written: its environment is played, and found once it is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from geo_assets.backends.base import Sampling
from geo_assets.gym import Spec
from geo_assets.gym.evaluate import summarise
from geo_assets.gym.play import Player
from geo_assets.gym.policies import Scripted
from geo_assets_tests.conftest import REPOSITORY
from geo_assets_tests.gym.samples import TASK

PAGE = REPOSITORY / "docs" / "environments.md"


def blocks() -> dict[str, str]:
    """File name to text of the page's marked blocks."""
    found = re.findall(r"<!-- test: (\S+) -->\n```\w+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return dict(found)


def test_the_environment_of_the_page_plays_and_withstands_its_attacks() -> None:
    namespace: dict = {}
    exec(compile(blocks()["brighter.py"], "brighter.py", "exec"), namespace)
    env = namespace["Brighter"](Spec("test", 40, 0, TASK))
    assert len(blocks()["brighter.py"].splitlines()) <= 55
    table = env.attack_table()
    assert table.passed and len(table.rows) == 5, table.message
    player = Player(env, Scripted(lambda index, turn: env.solution(index)), TASK, Sampling())
    assert summarise(list(player.play(range(40))), env.parts)["mean_reward"] == 1.0
    state, _ = env.reset(0)
    assert env.step(state, "left right").reward == 0.0


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's package, built and installed into a folder of its own."""
    source, site = tmp_path_factory.mktemp("brighter"), tmp_path_factory.mktemp("site")
    for name, text in blocks().items():
        (source / name).write_text(text, encoding="utf-8")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
    ]
    done = subprocess.run(
        [*pip, "--target", str(site), str(source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return site


def command(installed: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-m", "geo_assets", "rollout", *arguments],
        capture_output=True, text=True, check=True, env=environment, cwd=installed,
    )  # fmt: skip
    return done.stdout


@pytest.mark.slow
def test_an_installed_package_is_found_and_played(installed: Path) -> None:
    assert "brighter         which of two grey squares" in command(installed, "--list")
    shown = command(installed, "--env", "brighter", "--solve", "--episodes", "3")
    assert "mean reward 1.000" in shown
    assert "5 of 5 conditions hold" in command(
        installed, "--env", "brighter", "--attacks", "--episodes", "50"
    )
