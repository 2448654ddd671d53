"""These tests need the environment of runbook/unsloth_setup.sh and are skipped elsewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from geo_assets_tests.small_demo import adapter, demo

__all__ = ["adapter", "demo"]
HAS_UNSLOTH = importlib.util.find_spec("unsloth") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.unsloth)
            if not HAS_UNSLOTH:
                item.add_marker(pytest.mark.skip(reason="no unsloth (runbook/unsloth_setup.sh)"))
