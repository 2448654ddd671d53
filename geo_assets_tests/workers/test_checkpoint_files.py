"""Which checkpoints count as whole, their order, and what stays of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geo_assets.workers import checkpoint_files as files


def checkpoint(out: Path, step: int, complete: bool = True) -> Path:
    folder = out / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / files.ADAPTER_WEIGHTS).write_bytes(b"weights" * step)
    (folder / files.ADAPTER_CONFIG).write_text(
        json.dumps(
            {"target_modules": ["v_proj", "k_proj"], "base_model_name_or_path": "/home/me/model", "r": 4}
        )
    )
    (folder / "optimizer.pt").write_bytes(b"state")
    if complete:
        files.mark_complete(folder)
    return folder


def test_order_is_by_number_not_by_name(tmp_path: Path) -> None:
    for step in (200, 1000, 90):
        checkpoint(tmp_path, step)
    assert [files.step_of(folder) for folder in files.checkpoints(tmp_path)] == [90, 200, 1000]
    assert files.last_complete(tmp_path) == tmp_path / "checkpoint-1000"


def test_an_unfinished_checkpoint_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    checkpoint(tmp_path, 200)
    checkpoint(tmp_path, 400, complete=False)
    assert files.last_complete(tmp_path) == tmp_path / "checkpoint-200"
    assert "checkpoint-400 was cut off" in caplog.text
    assert (tmp_path / "incomplete-checkpoint-400").is_dir()


def test_a_file_cut_off_after_the_marker_is_noticed(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 200)
    (folder / "optimizer.pt").write_bytes(b"st")
    assert not files.is_complete(folder)
    assert files.last_complete(tmp_path) is None


def test_prune_keeps_the_highest_steps(tmp_path: Path) -> None:
    for step in (1000, 200, 400):
        checkpoint(tmp_path, step)
    files.prune(tmp_path, keep=2)
    assert [files.step_of(folder) for folder in files.checkpoints(tmp_path)] == [400, 1000]


def test_strip_leaves_the_adapter_alone_without_a_path_of_this_machine(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 200)
    checkpoint(tmp_path, 300, complete=False)
    files.last_complete(tmp_path)
    files.strip(tmp_path, "warm_start")
    assert sorted(path.name for path in tmp_path.rglob("*")) == [
        files.ADAPTER_CONFIG, files.ADAPTER_WEIGHTS, "checkpoint-200",
    ]  # fmt: skip
    config = json.loads((folder / files.ADAPTER_CONFIG).read_text())
    assert config == {"base_model_name_or_path": "warm_start", "r": 4, "target_modules": ["k_proj", "v_proj"]}
