"""What unsloth is asked for, and what is said without it; geo_assets_tests/unsloth runs the real one."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from geo_assets import backends
from geo_assets.backends import unsloth
from geo_assets.doctor import packages
from geo_assets.errors import ModelError
from geo_assets.profile import load_profile

TARGETS = load_profile("pod", {}).train.lora.targets


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands in for unsloth, which loads everything in float16, and notes what it is asked for."""
    calls: dict[str, Any] = {}
    layers = {f"model.language_model.layers.0.{name}": torch.nn.Linear(2, 2) for name in TARGETS}
    model = SimpleNamespace(dtype=torch.float16, named_modules=lambda: layers.items())

    def note(name: str, answer: Any) -> Any:
        return staticmethod(lambda *given, **named: calls.update({name: named}) or answer)

    fake = SimpleNamespace(
        from_pretrained=note("from_pretrained", (model, "a processor")),
        get_peft_model=note("get_peft_model", "an adapted model"),
    )
    monkeypatch.setattr(unsloth, "fast_model", lambda: fake)
    return calls


def test_training_adapts_the_language_model_alone(asked: dict[str, Any]) -> None:
    pod = load_profile("pod", {})
    half = pod.train.model_copy(update={"dtype": "float16"})
    assert unsloth.load_for_training(pod.runtime, half, Path("model")) == "an adapted model"
    assert asked["get_peft_model"]["finetune_vision_layers"] is False
    assert asked["get_peft_model"]["target_modules"] == list(pod.train.lora.targets)
    assert asked["from_pretrained"]["load_in_4bit"] is False


def test_another_dtype_than_asked_for_is_refused(asked: dict[str, Any]) -> None:
    pod = load_profile("pod", {})
    with pytest.raises(ModelError, match=r"float16 where torch\.bfloat16 was asked for"):
        unsloth.load_for_training(pod.runtime, pod.train, Path("model"))


def test_a_missing_unsloth_names_its_own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "unsloth", None)
    profile = load_profile("demo", {"GEO_RUNTIME__BACKEND": "unsloth"})
    with pytest.raises(ModelError, match=r"unsloth_setup\.sh"):
        backends.make(profile.runtime, profile.task, tmp_path)


def test_doctor_knows_that_unsloth_has_limits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = load_profile("demo", {"GEO_RUNTIME__BACKEND": "unsloth"})
    real = packages.installed_version
    older = {"trl": "1.15.0", "datasets": "4.8.5"}
    monkeypatch.setattr(packages, "installed_version", lambda name: older.get(name) or real(name))
    found = {finding.what: finding.level for finding in packages.installed(profile) if finding.level != "ok"}
    assert found["trl 1.15.0 is outside <1.17,>=1.16"] == "warn"
    assert found["unsloth is not installed"] == "fail"
