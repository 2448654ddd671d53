"""Run `dagster asset materialize` as a user does, and look at what it left."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]
_LINE = re.compile(r" - (\w+) [0-9a-f]{16}: (built|reused)")


class Project:
    """A home for artifacts and a home for Dagster's history."""

    def __init__(self, folder: Path, artifacts: Path | None = None) -> None:
        self.artifacts = artifacts or folder / "artifacts"
        self.dagster_home = folder / "dagster"
        self.dagster_home.mkdir(parents=True, exist_ok=True)
        settings = (REPOSITORY / "dagster.yaml").read_text(encoding="utf-8")
        settings = settings.replace("base_dir: .dagster", f"base_dir: {self.dagster_home}")
        (self.dagster_home / "dagster.yaml").write_text(settings, encoding="utf-8")

    def environment(self, overrides: Mapping[str, str]) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("GEO_")}
        return {
            **inherited,
            "DAGSTER_HOME": str(self.dagster_home),
            "GEO_HOME": str(self.artifacts),
            "PYTHONPATH": str(REPOSITORY),
            **overrides,
        }

    def start(self, select: str, **overrides: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "dagster", "asset", "materialize", "-m", "geo_assets.definitions"]
        return subprocess.Popen(
            [*command, "--select", select],
            env=self.environment(overrides),
            cwd=self.dagster_home,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def materialize(self, select: str, **overrides: str) -> Finished:
        process = self.start(select, **overrides)
        output, _ = process.communicate()
        return Finished(process.returncode, output)

    def manifests(self, asset: str) -> list[dict[str, Any]]:
        """The manifests of every artifact of `asset`, oldest first."""
        found = [
            json.loads(path.read_bytes())
            for path in (self.artifacts / asset).glob("*/manifest.json")
            if not path.parent.is_symlink()
        ]
        return sorted(found, key=lambda manifest: manifest["created"])

    def latest(self, asset: str) -> Path:
        return (self.artifacts / asset / "latest").resolve()

    def leftovers(self) -> Iterator[Path]:
        return self.artifacts.glob("*/*.partial")


class Finished:
    """A run that ended."""

    def __init__(self, code: int, output: str) -> None:
        self.code = code
        self.output = output

    @property
    def outcome(self) -> dict[str, str]:
        """Asset to "built" or "reused"."""
        return dict(_LINE.findall(self.output))

    def of(self, outcome: str) -> set[str]:
        return {asset for asset, found in self.outcome.items() if found == outcome}
