"""The run's callbacks on a fake trainer."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from geo_assets.errors import TrainingError
from geo_assets.progress import figures_of
from geo_assets.workers import callbacks


def state(step: int) -> SimpleNamespace:
    return SimpleNamespace(global_step=step, max_steps=100)


def test_no_answer_in_form_for_long_ends_the_run_and_shows_ten(caplog: pytest.LogCaptureFixture) -> None:
    failures = callbacks.Failures()
    failures.trainer = SimpleNamespace(recent_completions=[f"gibberish {k}" for k in range(16)])
    with pytest.raises(TrainingError, match=r"no answer .* lower train\.learning_rate or train\.temperature"):
        for step in range(1, 60):
            failures.on_log(None, state(step), None, {callbacks.FORMAT_KEY: 0.0, "loss": 0.1})
    assert caplog.text.count("raw completion: 'gibberish") == 10


def test_a_run_that_finds_its_form_goes_on() -> None:
    failures = callbacks.Failures()
    for step in range(1, 60):
        failures.on_log(None, state(step), None, {callbacks.FORMAT_KEY: 0.5 if step % 10 == 0 else 0.0})


@pytest.mark.parametrize("key", ["loss", "grad_norm"])
def test_a_loss_that_is_not_finite_ends_the_run(key: str) -> None:
    with pytest.raises(TrainingError, match=rf"{key} is nan at step 3; lower train\.learning_rate"):
        callbacks.Failures().on_log(None, state(3), None, {key: float("nan")})


def test_a_signal_waits_for_the_end_of_the_rollout_cycle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(callbacks, "stop_requested", lambda: 15)
    whole = callbacks.WholeCheckpoints(tmp_path, keep=3, cycle=2)
    for step, stops in ((3, False), (4, True)):
        control = SimpleNamespace(should_save=False, should_training_stop=False)
        whole.on_step_end(None, state(step), control)
        assert (control.should_save, control.should_training_stop) == (stops, stops)


def test_progress_lines_carry_means_of_the_last_ten_steps(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 10_000, 4))
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: next(clock))
    reports = callbacks.Progress()
    with caplog.at_level("INFO"):
        for step in range(1, 21):
            reports.on_step_begin(None, state(step), None)
            reports.on_step_end(None, state(step), None)
            reports.on_log(None, state(step), None, {"reward": step / 100, callbacks.FORMAT_KEY: 1.0})
    figures = figures_of(caplog.records[-1])
    assert figures["step"] == 20
    assert figures["reward"] == pytest.approx(sum(range(11, 21)) / 1000)
    assert figures["format_rate"] == 1.0
    assert figures["seconds_per_step"] == 4.0
    assert figures["seconds_left"] == 80 * 4.0
    assert "reward 0.200" in caplog.records[-1].getMessage()


def test_the_last_step_is_always_reported(caplog: pytest.LogCaptureFixture) -> None:
    reports = callbacks.Progress()
    with caplog.at_level("INFO"):
        for step in (99, 100):
            reports.on_step_begin(None, state(step), None)
            reports.on_step_end(None, state(step), None)
            reports.on_log(None, state(step), None, {"reward": 0.5})
    assert [figures_of(record)["step"] for record in caplog.records] == [99, 100]
    assert figures_of(caplog.records[-1])["seconds_left"] == 0
