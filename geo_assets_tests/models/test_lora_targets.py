"""Which modules a LoRA adapter takes, on the shapes of the published models."""

from __future__ import annotations

from collections import Counter

import pytest

from geo_assets.errors import ModelError
from geo_assets.models.lora_targets import lora_targets
from geo_assets.models.published import configuration, skeleton
from geo_assets.profile import load_profile
from geo_assets.settings import Lora


@pytest.fixture(scope="module")
def four_billion() -> object:
    return skeleton(configuration("Qwen/Qwen3-VL-4B-Instruct"))


@pytest.mark.parametrize(
    ("repo", "parameters"),
    [
        ("Qwen/Qwen3-VL-2B-Instruct", 2_127_532_032),
        ("Qwen/Qwen3-VL-4B-Instruct", 4_437_815_808),
        ("Qwen/Qwen3-VL-8B-Instruct", 8_767_123_696),
    ],
)
def test_shapes_have_the_published_number_of_parameters(repo: str, parameters: int) -> None:
    assert sum(p.numel() for p in skeleton(configuration(repo)).parameters()) == parameters


@pytest.mark.parametrize(
    ("profile", "count"), [("pod", 7 * 36), ("pod-2b", 7 * 28), ("pod-8b", 7 * 36), ("pod-qwen35", 200)]
)
def test_every_pod_adapts_the_language_model_alone(profile: str, count: int) -> None:
    settings = load_profile(profile, {})
    names = lora_targets(skeleton(configuration(settings.base_model.repo)), settings.train.lora)
    assert len(names) == count
    assert not [name for name in names if "visual" in name]
    kinds = Counter(name.rpartition(".")[2] for name in names)
    assert set(kinds) == set(settings.train.lora.targets)


def test_a_target_in_the_vision_tower_is_refused(four_billion: object) -> None:
    lora = Lora(targets=("q_proj", "linear_fc1"), exclude="nothing")
    with pytest.raises(ModelError, match=r"vision tower, such as model\.visual.*set train\.lora\.exclude"):
        lora_targets(four_billion, lora)


def test_the_exclusion_keeps_the_vision_tower_out(four_billion: object) -> None:
    with pytest.raises(ModelError, match="names linear_fc1, which this model does not have; choose among"):
        lora_targets(four_billion, Lora(targets=("q_proj", "linear_fc1")))


def test_an_unknown_target_lists_what_the_model_has(four_billion: object) -> None:
    with pytest.raises(ModelError, match=r"names c_attn.*down_proj, gate_proj.*q_proj"):
        lora_targets(four_billion, Lora(targets=("c_attn",)))


def test_an_unknown_repository_has_no_shape() -> None:
    assert configuration("someone/other-7B") is None
