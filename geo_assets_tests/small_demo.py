"""A small demo run to test backends and training on: drawn photos, a tiny model warmed up, learnable rows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from geo_assets.backends.base import Request, Sampling
from geo_assets.profile import load_profile
from geo_assets.settings import Settings
from geo_assets.task.prompt import messages
from geo_assets.workers import scoring

GREEDY = Sampling(max_tokens=40)
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


@pytest.fixture(scope="session")
def adapter(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An adapter with an effect: random A and B on the language model."""
    import torch
    from peft import get_peft_model

    from geo_assets.models.loading import load_model
    from geo_assets.models.lora_targets import lora_config

    torch.manual_seed(0)
    model = get_peft_model(
        load_model(demo.model, demo.settings.runtime), lora_config(demo.settings.train.lora)
    )
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_(std=0.05)
    folder = tmp_path_factory.mktemp("adapter")
    model.save_pretrained(folder)
    return folder


def job_of(asset: str, out: Path, settings: Settings, folders: dict[str, Path]) -> Any:
    """A job for `asset` that reads what lies in `folders`."""
    from geo_assets.graph import GRAPH, restricted
    from geo_assets.workers.harness import Job

    out.mkdir(parents=True, exist_ok=True)
    wanted = (*GRAPH[asset].upstream, *GRAPH[asset].borrows)
    upstream = {name: folders[name] for name in wanted if name in folders}
    return Job(asset, out, restricted(GRAPH[asset], settings), upstream=upstream)


def requests_of(demo: Demo, n: int, sampling: Sampling = GREEDY, photos: int = 1) -> list[Request]:
    """Questions about the first rows of eval_osv; further photos of one come from the rows that follow."""
    folder = demo.folders["eval_osv"]
    rows = scoring.rows_of(folder)
    paths = [folder / row["image_path"] for row in rows]
    style = demo.settings.task.prompt
    return [
        Request(row["id"], messages(style, photos), tuple(paths[index : index + photos]), sampling)
        for index, row in enumerate(rows[:n])
    ]
