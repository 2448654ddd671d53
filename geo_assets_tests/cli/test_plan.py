"""`plan` on the pod's profile: budget, schema, LoRA targets."""

from __future__ import annotations

from pathlib import Path

import pytest

from geo_assets.__main__ import main


@pytest.fixture
def pod(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GEO_PROFILE", "pod")
    monkeypatch.setenv("GEO_HOME", str(tmp_path))


def test_eight_hours_at_twenty_seconds_are_1440_steps(pod: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--seconds-per-step", "20", "--budget-hours", "8"]) == 0
    out = capsys.readouterr().out
    assert "recommended max_steps = 1440" in out
    assert "$6.32" in out and "million tokens" in out
    assert "252 modules, 66.1 million parameters, 0 in the vision tower" in out
    assert "q_proj x 36" in out
    assert "country_iso2 String" in out and "views List(String)" in out
    assert "smoke_test           build    after train_learnable, warm_start" in out


def test_without_a_measurement_it_says_so(pod: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "unknown until smoke_test has run" in out
    assert "LoRA" not in out


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_bad_usage_exits_2(pod: None, value: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--seconds-per-step", value])
    assert ended.value.code == 2


def test_a_demo_without_base_model_says_when_the_list_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEO_PROFILE", "demo")
    monkeypatch.setenv("GEO_HOME", str(tmp_path))
    assert main(["plan"]) == 0
    assert "the list is known once base_model is built" in capsys.readouterr().out
