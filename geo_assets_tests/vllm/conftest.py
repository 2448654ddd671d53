"""These tests need vLLM (the pod, or the twin of runbook/cpu_twin.sh) and are skipped elsewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from geo_assets_tests.small_demo import adapter, demo

__all__ = ["adapter", "demo"]
HAS_VLLM = importlib.util.find_spec("vllm") is not None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.vllm)
            if not HAS_VLLM:
                item.add_marker(pytest.mark.skip(reason="vLLM is not installed (runbook/cpu_twin.sh)"))
