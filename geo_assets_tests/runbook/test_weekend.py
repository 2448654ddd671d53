"""Every command of docs/weekend.md runs here or is marked; its figures follow from the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from geo_assets.budget import recommended_max_steps, training_cost
from geo_assets.profile import built_in_profiles, load_profile
from geo_assets_tests.conftest import REPOSITORY

GUIDE = (REPOSITORY / "docs" / "weekend.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()
]
MARK = re.compile(r"# needs the (GPU|rented machine)$")
RUNNABLE = [line for line in COMMANDS if not MARK.search(line)]


def test_the_guide_has_commands_of_both_kinds() -> None:
    assert len(COMMANDS) >= 10
    assert len(RUNNABLE) >= 3


@pytest.mark.parametrize("command", RUNNABLE)
def test_each_command_runs_without_a_gpu(command: str, tmp_path: Path) -> None:
    environment = {**os.environ, "GEO_PROFILE": "demo", "GEO_HOME": str(tmp_path)}
    words = command.split()
    assert words[:3] == ["python", "-m", "geo_assets"]
    done = subprocess.run(
        [sys.executable, *words[1:]], env=environment, cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == 0 or ("doctor" in words and "to repair" in done.stdout), done.stderr


@pytest.mark.parametrize("command", [line for line in COMMANDS if MARK.search(line)])
def test_the_other_commands_name_things_that_exist(command: str) -> None:
    from dagster import AssetSelection

    from geo_assets.graph import GRAPH

    for selection in re.findall(r"--select '?([^'\s]+)", command):
        AssetSelection.from_string(selection)
        assert re.sub(r"\W|key", "", selection) in GRAPH
    overrides = dict(re.findall(r"(GEO_\w+)=(\S+)", command))
    load_profile("pod", overrides)
    for script in re.findall(r"runbook/\S+", command):
        assert (REPOSITORY / script).is_file()


def test_keys_that_the_guide_names_are_settings() -> None:
    for key in set(re.findall(r"`((?:train|task|runtime|train_pool)\.[a-z_.]+)", GUIDE)):
        section = load_profile("pod", {})
        for part in key.split("."):
            section = getattr(section, part)


def test_figures_and_profiles() -> None:
    pod = load_profile("pod", {})
    assert f"{recommended_max_steps(20, 8)} steps" in GUIDE
    cost = training_cost(pod, 20)
    assert f"| {cost.hours:.1f} | {cost.dollars:.2f} |" in GUIDE
    assert f"({pod.runtime.gpu_dollars_per_hour})" in GUIDE
    for name in built_in_profiles():
        assert not name.startswith("pod") or f"`{name}`" in GUIDE
