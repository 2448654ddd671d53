"""`gc` lists what the profile does not name, and deletes it only when told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geo_assets.__main__ import main
from geo_assets.artifacts import Artifact, Recipe, Store
from geo_assets.graph import recipe
from geo_assets.profile import load_profile


def build(store: Store, recipe_: Recipe) -> Artifact:
    def fill(partial: Path, _lock: int) -> dict[str, Any]:
        (partial / "file").write_text("x" * 2**20)
        return {}

    return store.materialise(recipe_, fill)


def test_old_artifacts_and_leftovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEO_HOME", str(tmp_path))
    monkeypatch.delenv("GEO_PROFILE", raising=False)
    store = Store(tmp_path)
    current = build(store, recipe("osv_zips", load_profile("demo", {}), {}))
    old = build(store, recipe("osv_zips", load_profile("demo", {"GEO_OSV_ZIPS__SEED": "7"}), {}))
    killed = tmp_path / "train_pool" / "0123456789abcdef.partial"
    killed.mkdir(parents=True)
    assert main(["gc"]) == 0
    listed = capsys.readouterr().out
    assert f"osv_zips/{old.path.name}" in listed
    assert "train_pool/0123456789abcdef.partial" in listed
    assert current.path.name not in listed
    assert old.path.exists()
    assert main(["gc", "--yes"]) == 0
    assert (current.path.exists(), old.path.exists(), killed.exists()) == (True, False, False)


def test_answers_that_a_warm_up_learns_from_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEO_HOME", str(tmp_path))
    store = Store(tmp_path)
    answers = build(store, Recipe("train_learnable", "1", {"run": "earlier"}))
    for mode, kept in (("own", True), ("sft", False)):
        monkeypatch.setenv("GEO_WARM_START__MODE", mode)
        monkeypatch.setenv("GEO_WARM_START__ANSWERS", str(answers.path) if mode == "own" else "null")
        assert main(["gc"]) == 0
        assert (answers.path.name not in capsys.readouterr().out) == kept
