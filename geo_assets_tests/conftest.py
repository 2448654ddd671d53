"""Fixtures that every layer's tests share."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no reason for a property to fail, and a failure must come again.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")

REPOSITORY = Path(__file__).parents[1]
# A marker that is a package's name, and what makes an environment with that package.
ENVIRONMENTS = {"vllm": "runbook/cpu_twin.sh", "unsloth": "runbook/unsloth_setup.sh"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked with a package that is not installed."""
    for package, script in ENVIRONMENTS.items():
        if importlib.util.find_spec(package) is None:
            skip = pytest.mark.skip(reason=f"{package} is not installed ({script})")
            for item in items:
                if item.get_closest_marker(package):
                    item.add_marker(skip)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real photos that tests may read but the repository does not hold."""
    folder = Path(os.environ.get("GEO_TEST_DATA", REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real photos: {folder} is absent (set GEO_TEST_DATA to a folder that has them)")
    return folder
