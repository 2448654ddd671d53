"""Rollouts with vLLM: which engine a profile means, what it is told, and what is refused."""

from __future__ import annotations

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from geo_assets.errors import ModelError, TrainingError
from geo_assets.profile import load_profile
from geo_assets.workers import adapter_sync
from geo_assets.workers.rollout_settings import (
    collapse_placeholders,
    engine_arguments,
    refuse_biased_sampling,
    uses_vllm,
)


@pytest.mark.parametrize(
    ("profile", "override", "expected"),
    [
        ("pod", {}, True),
        ("demo", {}, False),
        ("demo", {"GEO_RUNTIME__BACKEND": "vllm"}, True),
        ("demo", {"GEO_RUNTIME__BACKEND": "vllm", "GEO_TRAIN__ROLLOUT_ENGINE": "transformers"}, False),
        ("pod", {"GEO_TRAIN__ROLLOUT_ENGINE": "auto", "GEO_RUNTIME__BACKEND": "transformers"}, False),
    ],
)
def test_which_engine(profile: str, override: dict[str, str], expected: bool) -> None:
    assert uses_vllm(load_profile(profile, override)) is expected


def test_what_the_pods_engine_is_told() -> None:
    told = engine_arguments(load_profile("pod", {}))
    assert told["vllm_mode"] == "colocate"
    assert (told["vllm_gpu_memory_utilization"], told["vllm_max_model_length"]) == (0.35, 4096)
    assert told["vllm_importance_sampling_correction"] is True


@pytest.mark.parametrize(
    ("override", "remedy"),
    [
        ({"GEO_TRAIN__TOP_P": "0.95"}, "train.top_p: 1.0"),
        ({"GEO_TRAIN__LORA__DROPOUT": "0.1"}, "dropout: 0.0"),
    ],
)
def test_what_biases_the_ratio_is_refused(override: dict[str, str], remedy: str) -> None:
    refuse_biased_sampling(load_profile("pod", {}))
    with pytest.raises(TrainingError, match=remedy):
        refuse_biased_sampling(load_profile("pod", override))


@pytest.mark.parametrize(
    ("ids", "collapsed"),
    [
        ([], []),
        ([9], [9]),
        ([9, 9, 9], [9]),
        ([1, 9, 9, 2, 9, 9, 9, 3], [1, 9, 2, 9, 3]),
        ([1, 1, 2], [1, 1, 2]),
    ],
)
def test_placeholders_collapse_run_by_run(ids: list[int], collapsed: list[int]) -> None:
    assert collapse_placeholders(ids, 9) == collapsed


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.other = nn.Linear(16, 12, bias=False), nn.Linear(12, 3)


@pytest.fixture
def policy() -> nn.Module:
    torch.manual_seed(0)
    model = get_peft_model(Small(), LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj"]))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_()
    return model


def test_the_merged_weight_is_pefts_and_the_base_is_not_touched(policy: nn.Module) -> None:
    before = {name: weight.clone() for name, weight in policy.state_dict().items()}
    merged = dict(adapter_sync.merged_weights(policy))
    assert all(torch.equal(before[name], weight) for name, weight in policy.state_dict().items())
    expected = policy.merge_and_unload().q_proj.weight
    torch.testing.assert_close(merged["q_proj.weight"], expected, rtol=0, atol=1e-6)


def test_names_are_those_of_the_checkpoint(policy: nn.Module) -> None:
    assert [name for name, _ in adapter_sync.adapted_layers(policy)] == ["q_proj"]


def test_a_bfloat16_merge_rounds_once(policy: nn.Module) -> None:
    layer = dict(adapter_sync.adapted_layers(policy))["q_proj"]
    exact = adapter_sync.merged_weight(layer, torch.float32)
    assert torch.equal(adapter_sync.merged_weight(layer, torch.bfloat16), exact.to(torch.bfloat16))


def test_vllm_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    import sys

    from geo_assets import backends

    monkeypatch.setitem(sys.modules, "vllm", None)
    profile = load_profile("demo", {"GEO_RUNTIME__BACKEND": "vllm", "GEO_RUNTIME__DEVICE": "cpu"})
    with pytest.raises(ModelError, match=r"cpu_twin\.sh.*or set runtime\.backend: transformers"):
        backends.make(profile.runtime, profile.task, tmp_path)  # type: ignore[arg-type]
