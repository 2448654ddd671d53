"""Plan B as far as a CPU goes: what a stand-in for unsloth is asked for, and what is said without it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from geo_assets import backends
from geo_assets.backends import unsloth
from geo_assets.doctor import packages
from geo_assets.errors import ModelError
from geo_assets.profile import load_profile


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stands in for unsloth and notes what it is asked for."""
    calls: dict[str, Any] = {}

    def note(name: str, answer: Any) -> Any:
        return staticmethod(lambda *given, **named: calls.update({name: (given, named)}) or answer)

    fake = type(
        "FastVisionModel",
        (),
        {
            "from_pretrained": note("from_pretrained", ("a model", "a processor")),
            "get_peft_model": note("get_peft_model", "an adapted model"),
            "for_inference": note("for_inference", None),
        },
    )
    monkeypatch.setitem(sys.modules, "unsloth", SimpleNamespace(FastVisionModel=fake))
    return calls


def test_training_adapts_the_language_model_alone(asked: dict[str, Any]) -> None:
    pod = load_profile("pod", {})
    assert unsloth.load_for_training(pod.runtime, pod.train, Path("model")) == "an adapted model"
    (model,), named = asked["get_peft_model"]
    assert model == "a model"
    assert named["finetune_vision_layers"] is False
    assert (named["r"], named["lora_alpha"], named["lora_dropout"]) == (32, 64, 0.0)
    assert named["target_modules"] == list(pod.train.lora.targets)
    assert asked["from_pretrained"][1]["load_in_4bit"] is False
    assert asked["from_pretrained"][1]["max_seq_length"] == 4096


def test_a_missing_unsloth_names_its_own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "unsloth", None)
    profile = load_profile("demo", {"GEO_RUNTIME__BACKEND": "unsloth"})
    with pytest.raises(ModelError, match=r"requirements-unsloth\.txt"):
        backends.make(profile.runtime, profile.task, tmp_path)


def test_doctor_knows_that_unsloth_has_limits_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = load_profile("demo", {"GEO_RUNTIME__BACKEND": "unsloth"})
    real = packages.installed_version
    older = {"trl": "1.15.0", "datasets": "4.8.5"}
    monkeypatch.setattr(packages, "installed_version", lambda name: older.get(name) or real(name))
    found = {finding.what: finding.level for finding in packages.installed(profile) if finding.level != "ok"}
    assert found["trl 1.15.0 is outside <1.17,>=1.16"] == "warn"
    assert found["unsloth is not installed"] == "fail"
