"""A full disk is noticed before a checkpoint is written."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch import nn

from geo_assets.errors import TrainingError
from geo_assets.workers.disk_watch import RESERVE_BYTES, DiskWatch

Usage = namedtuple("Usage", "total used free")


def free(monkeypatch: pytest.MonkeyPatch, n_bytes: int) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(0, 0, n_bytes))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> DiskWatch:
    free(monkeypatch, RESERVE_BYTES + 16 * 110)
    watch = DiskWatch(tmp_path)
    watch.on_train_begin(None, None, None, model=nn.Linear(10, 10))  # 110 weights of 4 bytes, four times
    return watch


def step(watch: DiskWatch, saves: bool) -> None:
    watch.on_step_end(None, SimpleNamespace(global_step=400), SimpleNamespace(should_save=saves))


def test_enough_room_is_no_news(watch: DiskWatch) -> None:
    step(watch, saves=True)


def test_too_little_room_ends_the_run_before_the_save(
    monkeypatch: pytest.MonkeyPatch, watch: DiskWatch
) -> None:
    free(monkeypatch, RESERVE_BYTES + 16 * 110 - 1)
    step(watch, saves=False)
    with pytest.raises(
        TrainingError, match=r"for checkpoint-400.*gc --yes.*continues from its last checkpoint"
    ):
        step(watch, saves=True)


def test_it_is_said_before_hours_of_training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    free(monkeypatch, 1000)
    with pytest.raises(TrainingError, match="for checkpoints"):
        DiskWatch(tmp_path).on_train_begin(None, None, None, model=nn.Linear(10, 10))
