"""`doctor` as a command: what it prints and how it exits."""

from __future__ import annotations

from pathlib import Path

import pytest

from geo_assets.__main__ import main
from geo_assets.artifacts import Recipe, Store


@pytest.fixture(autouse=True)
def _demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GEO_PROFILE", "demo")
    monkeypatch.setenv("GEO_HOME", str(tmp_path / "artifacts"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))


def test_the_demo_needs_no_gpu_and_no_network(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor"])
    out = capsys.readouterr().out
    assert "this profile downloads nothing" in out
    assert "none is needed" in out or "GPU 0" in out
    assert code == (1 if "\nfail" in out else 0)
    assert out.splitlines()[-1].startswith(f"{out.count('fail  ')} to repair")


def test_every_fault_comes_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEO_PROFILE", "pod")
    monkeypatch.setenv("GEO_TRAIN__TOP_P", "0.95")
    assert main(["doctor", "--offline"]) == 1
    lines = capsys.readouterr().out.splitlines()
    faults = [index for index, line in enumerate(lines) if line.startswith(("fail", "warn"))]
    assert faults
    assert all(lines[index + 1].startswith("      -> ") for index in faults)
    assert any("importance ratio is biased" in lines[index] for index in faults)


def test_verify_finds_a_file_that_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fill(partial: Path, _lock: int) -> dict:
        (partial / "data.txt").write_text("right")
        return {}

    artifact = Store(tmp_path / "artifacts").materialise(Recipe("eval_photos", "1", {}), fill)
    (artifact.path / "data.txt").write_text("wrong")
    assert main(["doctor", "--verify"]) == 1
    out = capsys.readouterr().out
    assert "1 damaged files, first data.txt" in out
    assert "0 of 1 artifacts" in out


def test_keys_are_named_and_never_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "a-secret-value")
    main(["doctor"])
    out = capsys.readouterr().out
    assert "WANDB_API_KEY is set" in out and "a-secret-value" not in out
