"""A small demo run to test vLLM on: drawn photos, the tiny model after a short warm-up, learnable rows.

These tests need vLLM (the pod, or the CPU twin that runbook/cpu_twin.sh makes) and are skipped elsewhere.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from geo_assets.profile import load_profile
from geo_assets.settings import Settings

HAS_VLLM = importlib.util.find_spec("vllm") is not None
SMALL = {
    "GEO_OSV_ZIPS__TRAIN_SCENES": "400", "GEO_OSV_ZIPS__TEST_SCENES": "60", "GEO_PANO_SOURCE__SCENES": "4",
    "GEO_WARM_START__SCENES": "320", "GEO_WARM_START__STEPS": "160", "GEO_WARM_START__CHECK_ROWS": "16",
    "GEO_LEARNABLE__ROWS": "48", "GEO_LEARNABLE__COMPLETIONS": "2", "GEO_LEARNABLE__FALLBACK_BELOW": "0",
    "GEO_LEARNABLE__SHARE_OF_REST": "1.0", "GEO_TASK__MAX_COMPLETION_LENGTH": "40",
    "GEO_TRAIN__PER_DEVICE_TRAIN_BATCH_SIZE": "16", "GEO_TRAIN__GENERATION_BATCH_SIZE": "16",
    "GEO_TRAIN__TEMPERATURE": "1.0", "GEO_LEARNABLE__TEMPERATURE": "1.0",
    "GEO_RUNTIME__EVAL_BATCH_SIZE": "16", "GEO_RUNTIME__WORKERS": "1", "GEO_RUNTIME__TRACKER": "none",
    "GEO_SMOKE__MIN_FORMAT_RATE": "0.0", "GEO_TRAIN__MASK_TRUNCATED_COMPLETIONS": "false",
}  # fmt: skip
"""A demo that takes a minute or two: what is tested is agreement of engine and trainer, not skill."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.vllm)
            if not HAS_VLLM:
                item.add_marker(pytest.mark.skip(reason="vLLM is not installed (runbook/cpu_twin.sh)"))


@dataclass(frozen=True)
class Demo:
    """The settings and artifact folders of a small demo run."""

    settings: Settings
    folders: dict[str, Path]

    @property
    def model(self) -> Path:
        return self.folders["warm_start"] / "model"


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Every artifact that training reads, made by the product's own code."""
    from geo_assets.osv import sets, sources
    from geo_assets.workers import base_model, learnable, warm_start

    settings = load_profile("demo", SMALL)
    home = tmp_path_factory.mktemp("demo")
    folders: dict[str, Path] = {}

    def make(asset: str, build: Any) -> None:
        folders[asset] = home / asset
        folders[asset].mkdir()
        build(folders[asset])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(warm_start, "MIN_FORMAT_RATE", 0.0)
        make("osv_zips", lambda out: sources.build_osv_zips(settings.osv_zips, out, settings.runtime))
        make(
            "train_pool", lambda out: sets.build_train_pool(folders["osv_zips"], out, settings.train_pool, 1)
        )
        make("eval_osv", lambda out: sets.build_eval_osv(folders["osv_zips"], out, settings.eval_osv, 1))
        for worker, asset in (
            (base_model, "base_model"),
            (warm_start, "warm_start"),
            (learnable, "train_learnable"),
        ):
            make(asset, lambda out, w=worker, a=asset: w.main(job_of(a, out, settings, folders)))
    return Demo(settings, folders)


def job_of(asset: str, out: Path, settings: Settings, folders: dict[str, Path]) -> Any:
    """A job for `asset` that reads what lies in `folders`."""
    from geo_assets.graph import GRAPH, restricted
    from geo_assets.workers.harness import Job

    out.mkdir(parents=True, exist_ok=True)
    wanted = (*GRAPH[asset].upstream, *GRAPH[asset].borrows)
    upstream = {name: folders[name] for name in wanted if name in folders}
    return Job(asset, out, restricted(GRAPH[asset], settings), upstream=upstream)
