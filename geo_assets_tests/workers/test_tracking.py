"""Training curves: the same names in W&B and TensorBoard, a resumed run, a tracker that fails, no key."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from geo_assets.settings import Settings
from geo_assets.workers import tracking, train
from geo_assets.workers.harness import Job

KEY = "0123456789abcdef" * 2 + "fedcba98"
AT_THE_END = (
    "train_runtime", "train_samples_per_second", "train_steps_per_second", "train_loss", "total_flos",
)  # fmt: skip
"""What W&B keeps as the run's summary, not as curves."""
needs_wandb = pytest.mark.skipif(
    importlib.util.find_spec("wandb") is None, reason="no wandb: pip install 'geo_assets[wandb]'"
)


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    home = tmp_path_factory.mktemp("home")
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL", "WANDB_PROJECT", "TENSORBOARD_LOGGING_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "WANDB_CONFIG_DIR", "NETRC"):
        monkeypatch.setenv(name, str(home / name.lower()))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    yield
    if wandb := sys.modules.get("wandb"):
        wandb.teardown()  # it reads the environment once


def job(out: Path, settings: Settings, learnable: Path, start: Path, **train_values: Any) -> Job:
    out.mkdir(parents=True, exist_ok=True)
    values = {
        "runtime": settings.runtime.model_copy(update={"tracker": "auto"}),
        "train": settings.train.model_copy(update={"max_steps": 2, **train_values}),
    }
    upstream = {"train_learnable": learnable, "warm_start": start}
    return Job("lora_checkpoints", out, settings.model_copy(update=values), upstream)


def tensorboard_curves(folder: Path) -> set[str]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(next(iter(folder.rglob("events.out.*"))).parent))
    events.Reload()
    return set(events.Tags()["scalars"])


def wandb_records(folder: Path) -> list[Any]:
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    store = DataStore()
    store.open_for_scan(str(next(folder.glob("*.wandb"))))
    records = []
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        records.append(record)
    return records


def wandb_history(folder: Path) -> list[dict[str, Any]]:
    histories = [record.history.item for record in wandb_records(folder) if record.HasField("history")]
    return [
        {item.key or item.nested_key[0]: json.loads(item.value_json) for item in items} for items in histories
    ]


def test_without_a_key_curves_go_to_tensorboard(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path
) -> None:
    order = job(tmp_path / "run", settings, learnable, start)
    train.main(order)
    assert order.collected["tracker"] == "tensorboard"
    curves = tensorboard_curves(order.out / order.collected["tracker_run"])
    assert {"train/reward", "train/rewards/format_reward/mean", "train/rewards/dist_reward/mean"} <= curves


@needs_wandb
@pytest.mark.slow
def test_wandb_gets_the_curves_of_tensorboard_under_the_same_names(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = job(tmp_path / "board", settings, learnable, start)
    train.main(board)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    order = job(tmp_path / "wandb", settings, learnable, start)
    train.main(order)
    assert order.collected["tracker"] == "wandb"
    folder = order.out / order.collected["tracker_run"]
    history = wandb_history(folder)
    assert [row["train/global_step"] for row in history if "train/reward" in row] == [1, 2]
    plotted = {name for row in history for name in row if name.startswith("train/")} - {"train/global_step"}
    once = {f"train/{name}" for name in AT_THE_END}
    assert plotted == tensorboard_curves(board.out / "tensorboard") - once


@needs_wandb
@pytest.mark.slow
def test_a_key_is_in_no_file_and_nothing_dangles(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("HF_TOKEN", "hf_" + KEY)
    order = job(tmp_path / "run", settings, learnable, start)
    with caplog.at_level("DEBUG"):
        train.main(order)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".wandb" for path in files)
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []
    assert [path for path in tmp_path.rglob("*") if path.is_symlink()] == []
    captured = capfd.readouterr()
    assert KEY not in captured.out + captured.err + caplog.text + json.dumps(order.collected)


@needs_wandb
@pytest.mark.slow
def test_a_resumed_run_continues_its_wandb_run(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wandb

    monkeypatch.setenv("WANDB_MODE", "offline")
    order, ids = job(tmp_path / "run", settings, learnable, start), []
    with pytest.raises(SystemExit), tracking.Tracking(order):
        ids.append(wandb.run.id)
        raise SystemExit(143)
    with tracking.Tracking(order):
        ids.append(wandb.run.id)
    assert ids[0] == ids[1]


@needs_wandb
@pytest.mark.slow
def test_a_tracker_that_cannot_start_does_not_end_the_run(
    tmp_path: Path, settings: Settings, learnable: Path, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(tracking, "START_SECONDS", 3.0)
    order = job(tmp_path / "run", settings, learnable, start)
    train.main(order)
    assert order.collected["tracker"] == "tensorboard"
    assert "check WANDB_API_KEY and the network" in order.collected["tracker_note"]
    assert KEY not in order.collected["tracker_note"]
    assert "train/reward" in tensorboard_curves(order.out / "tensorboard")


def test_the_smoke_test_is_not_tracked(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    order, callbacks = Job("smoke_test", tmp_path, settings), []
    with tracking.Tracking(order) as tracker:
        tracker.watch(SimpleNamespace(add_callback=callbacks.append))
    assert (order.collected, callbacks) == ({}, [])


def test_an_absent_library_is_said(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking.importlib.util, "find_spec", lambda name: None)
    order = Job("lora_checkpoints", tmp_path, settings.model_copy(
        update={"runtime": settings.runtime.model_copy(update={"tracker": "wandb"})}
    ))  # fmt: skip
    with tracking.Tracking(order):
        assert order.collected["tracker"] == "tensorboard"
    assert "pip install 'geo_assets[wandb]'" in order.collected["tracker_note"]
