"""Made-up runs, written once a session: a small pod run, a demo run, and one without anything optional."""

from __future__ import annotations

from pathlib import Path

import pytest

from geo_assets.report.run import Run, read_run
from geo_assets.settings import BaseModelSection, Evaluate, OsvZips, Runtime, Settings, WarmStart
from geo_assets_tests.report.artifacts import DEMO_SCALE, Scale, write_run
from geo_assets_tests.report.places import COUNTRIES

FEW_RESAMPLES = Evaluate(resamples=500)
POD_SCALE = Scale(
    splits={"eval_osv": 240, "eval_quick": 120, "eval_pano": 60},
    gain=0.45,
    steps=60,
    save_steps=20,
    hostile=0.3,
)
BARE_SCALE = Scale(
    splits={"eval_osv": 150, "eval_quick": 60},
    countries=tuple(COUNTRIES)[:12],
    gain=0.0,
    samples=0,
    controls=False,
    steps=20,
    save_steps=10,
    thumbs=False,
)


def demo_settings() -> Settings:
    """The demo profile's sections that the report reads."""
    return Settings(
        name="demo",
        osv_zips=OsvZips(source="demo"),
        base_model=BaseModelSection(source="tiny"),
        warm_start=WarmStart(mode="sft", lookalike_share=0.6),
        evaluate=FEW_RESAMPLES,
        runtime=Runtime(device="cpu"),
    )


@pytest.fixture(scope="session")
def recipes() -> dict[str, str]:
    return {"base_metrics": "0123456789abcdef", "rl_metrics": "fedcba9876543210"}


@pytest.fixture(scope="session")
def pod_upstream(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_run(tmp_path_factory.mktemp("pod"), POD_SCALE)


@pytest.fixture(scope="session")
def demo_upstream(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    scale = Scale(
        **{**DEMO_SCALE.__dict__, "splits": {"eval_osv": 200, "eval_quick": 80, "eval_pano": 30}, "gain": 0.5}
    )
    return write_run(tmp_path_factory.mktemp("demo"), scale)


@pytest.fixture(scope="session")
def bare_upstream(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    upstream = write_run(tmp_path_factory.mktemp("bare"), BARE_SCALE)
    for path in (upstream["rl_metrics"] / "leaks").glob("*"):
        path.unlink()
    for path in (
        upstream["train_learnable"] / "filter_stats.json",
        upstream["train_learnable"] / "dropped.json",
        upstream["lora_checkpoints"] / "log_history.jsonl",
        upstream["lora_checkpoints"] / "train_stats.json",
        upstream["checkpoint_metrics"] / "checkpoints.json",
    ):
        path.unlink()
    return upstream


@pytest.fixture(scope="session")
def pod_run(pod_upstream: dict[str, Path], recipes: dict[str, str]) -> Run:
    return read_run(pod_upstream, Settings(name="pod", evaluate=FEW_RESAMPLES), recipes)


@pytest.fixture(scope="session")
def demo_run(demo_upstream: dict[str, Path], recipes: dict[str, str]) -> Run:
    return read_run(demo_upstream, demo_settings(), recipes)


@pytest.fixture(scope="session")
def bare_run(bare_upstream: dict[str, Path]) -> Run:
    return read_run(bare_upstream, Settings(name="pod", evaluate=FEW_RESAMPLES), {})
