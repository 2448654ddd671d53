"""A minute world for the workers: real code and a real (tiny) Qwen3-VL, plain coloured photos."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from geo_assets.osv.schema import SET_SCHEMA, write_parquet
from geo_assets.settings import Settings
from geo_assets.workers.harness import Job

PLACES = {"JP": (35.7, 139.7), "FR": (48.9, 2.4), "KE": (-1.3, 36.8), "BR": (-23.5, -46.6)}
VALUES = {
    "name": "test",
    "task": {"prompt": "short", "min_cells": 1, "max_cells": 6, "max_completion_length": 12},
    "base_model": {
        "source": "tiny",
        "hidden_size": 64,
        "layers": 2,
        "vision_hidden_size": 32,
        "vision_layers": 2,
        "vocab_size": 400,
    },
    "warm_start": {
        "mode": "sft",
        "scenes": 24,
        "steps": 6,
        "batch_size": 4,
        "check_rows": 4,
        "lookalike_share": 0.5,
    },
    "evaluate": {"samples": 2},
    "learnable": {"rows": 10, "completions": 3, "share_of_rest": 1.0},
    "smoke": {"steps": 3, "min_format_rate": 0.0, "format_after_step": 1, "max_mean_logprob_gap": 0.01},
    "train": {
        "lora": {"r": 2, "alpha": 4},
        "learning_rate": 1e-2,
        "lr_scheduler": "linear",
        "warmup_steps": 1,
        "per_device_train_batch_size": 8,
        "gradient_accumulation_steps": 1,
        "num_generations": 4,
        "generation_batch_size": 8,
        "max_steps": 6,
        "save_steps": 2,
        "keep_checkpoints": 2,
        "scale_rewards": "none",
        "mask_truncated_completions": False,
        "dtype": "float32",
        "attention": "sdpa",
    },
    "merge": {"dtype": "float32", "verify_rows": 4},
    "runtime": {"device": "cpu", "eval_batch_size": 4, "tracker": "none"},
}


class Killed(BaseException):
    """Stands for SIGKILL: nothing in the worker may catch it."""


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """The training inside this block is killed as it begins the step after `step`."""
    from geo_assets.workers.callbacks import Progress

    def kill(_progress: Progress, _arguments: Any, state: Any, *_: Any, **__: Any) -> None:
        if state.global_step == step:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Progress, "on_step_begin", kill)
        with pytest.raises(Killed):
            yield


@pytest.fixture(scope="session")
def settings() -> Settings:
    return Settings.model_validate(VALUES)


@pytest.fixture(scope="session")
def make_set(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Path]:
    """A function that writes a set of n photos and gives its folder."""

    def make(name: str, n: int) -> Path:
        folder = tmp_path_factory.mktemp("set") / name
        (folder / "images").mkdir(parents=True)
        rows = []
        for index in range(n):
            iso2 = list(PLACES)[index % len(PLACES)]
            row_id = f"{name}{index:03d}"
            shade = hashlib.sha256(row_id.encode()).digest()
            photo = Image.new("RGB", (96, 64), tuple(shade[:3]))
            photo.paste(tuple(shade[3:6]), (0, 32, 96, 64))
            photo.save(folder / "images" / f"{row_id}.jpg")
            latitude, longitude = PLACES[iso2]
            row = {
                "id": row_id,
                "image_path": f"images/{row_id}.jpg",
                "latitude": latitude,
                "longitude": longitude,
                "country_iso2": iso2,
                "creator_id": f"c{index % 3}",
                "width": 96,
                "height": 64,
            }
            rows.append({column: row.get(column) for column in SET_SCHEMA})
        write_parquet(pl.DataFrame(rows, schema=SET_SCHEMA), folder / f"{name}.parquet")
        (folder / "dropped.json").write_text(json.dumps({"rows": n}))
        (folder / "dropped.json").write_text("{}")
        return folder

    return make


@pytest.fixture(scope="session")
def pool(make_set: Callable[[str, int], Path]) -> Path:
    """train_pool with traces."""
    folder = make_set("train_pool", 32)
    ids = pl.read_parquet(folder / "train_pool.parquet")["id"]
    write_parquet(pl.DataFrame({"id": ids, "think": ["drives left"] * len(ids)}), folder / "traces.parquet")
    return folder


@pytest.fixture(scope="session")
def base(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of base_model."""
    from geo_assets.workers import base_model

    out = tmp_path_factory.mktemp("base_model")
    base_model.main(Job("base_model", out, settings))
    return out


@pytest.fixture(scope="session")
def start(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of warm_start that passes the base model through."""
    from geo_assets.workers import warm_start

    out = tmp_path_factory.mktemp("warm_start")
    plain = Settings.model_validate({**VALUES, "warm_start": {"mode": "none"}})
    warm_start.main(Job("warm_start", out, plain, {"base_model": base}))
    return out


@pytest.fixture(scope="session")
def learnable(make_set: Callable[[str, int], Path]) -> Path:
    """train_learnable."""
    folder = make_set("eval_osv", 12)
    rows = pl.read_parquet(folder / "eval_osv.parquet")
    scored = rows.with_columns(
        reward_mean=pl.lit(0.4), reward_std=pl.lit(0.2), hits=pl.lit(1, pl.Int64), set=pl.lit("A")
    )
    write_parquet(scored, folder / "train_learnable.parquet")
    (folder / "filter_stats.json").write_text(json.dumps({"rows": len(rows)}))
    return folder
