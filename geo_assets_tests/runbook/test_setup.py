"""The setup script on a made-up volume with a stand-in for uv: what it writes; twice is like once."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from geo_assets_tests.conftest import REPOSITORY

UV = """#!/usr/bin/env bash
echo "uv $*" >> "$CALLS"
if [ "$1" = venv ]; then
    folder=${@: -1}
    mkdir -p "$folder/bin"
    printf '#!/usr/bin/env bash\\necho "python $*" >> "$CALLS"\\n[ "$1" != -c ]\\n' > "$folder/bin/python"
    chmod +x "$folder/bin/python"
fi
if [[ "$*" == *flash-attn* ]]; then exit 1; fi
"""


@pytest.fixture
def machine(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "uv").write_text(UV)
    (tmp_path / "bin" / "uv").chmod(0o755)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GEO_", "DAGSTER_", "VIRTUAL_"))
    }
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "CALLS": str(tmp_path / "calls"), "VOLUME": str(tmp_path / "volume")}


def run_setup(machine: dict[str, str]) -> list[str]:
    Path(machine["CALLS"]).write_text("")
    done = subprocess.run(
        ["bash", str(REPOSITORY / "runbook" / "runpod_setup.sh")], env=machine, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(machine["CALLS"]).read_text().splitlines()


def test_it_installs_the_lock_and_ends_with_doctor(machine: dict[str, str]) -> None:
    calls = run_setup(machine)
    assert any(call.startswith("uv venv") and call.endswith("/geo/venv") for call in calls)
    assert "uv pip install --quiet -r requirements.lock" in calls
    assert "uv pip install --quiet --no-deps -e ." in calls
    assert calls[-1] == "python -m geo_assets doctor"


def test_twice_is_like_once(machine: dict[str, str]) -> None:
    run_setup(machine)
    root = Path(machine["VOLUME"]) / "geo"
    before = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    calls = run_setup(machine)
    assert not any(call.startswith("uv venv") for call in calls)
    assert {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()} == before


def test_the_variables_of_a_run(machine: dict[str, str]) -> None:
    run_setup(machine)
    root = Path(machine["VOLUME"]) / "geo"
    shown = subprocess.run(
        ["bash", "-c", f"source {root / 'environment.sh'} && env && pwd"],
        env={"PATH": machine["PATH"], "HOME": machine["VOLUME"]}, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for line in (
        f"HF_HOME={root / 'huggingface'}",
        f"GEO_HOME={root / 'artifacts'}",
        f"DAGSTER_HOME={root / 'dagster_home'}",
        "GEO_PROFILE=pod",
        "VLLM_WORKER_MULTIPROCESSING_METHOD=spawn",
        "DAGSTER_MODULE_NAME=geo_assets.definitions",
    ):  # fmt: skip
        assert line in shown.splitlines()
    assert shown.splitlines()[-1] == str(REPOSITORY)


def test_dagsters_history_lies_on_the_volume(machine: dict[str, str]) -> None:
    run_setup(machine)
    folder = Path(machine["VOLUME"]) / "geo" / "dagster_home"
    there = yaml.safe_load((folder / "dagster.yaml").read_text())
    assert Path(there["storage"]["sqlite"]["base_dir"]).is_relative_to(folder)
    here = yaml.safe_load((REPOSITORY / "dagster.yaml").read_text())
    assert there["concurrency"] == here["concurrency"]


def test_the_scripts_are_sound_bash() -> None:
    for script in sorted((REPOSITORY / "runbook").glob("*.sh")):
        subprocess.run(["bash", "-n", str(script)], check=True)
        if shellcheck := shutil.which("shellcheck"):
            subprocess.run([shellcheck, str(script)], check=True)
