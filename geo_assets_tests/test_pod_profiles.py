"""The pod's profiles hold every value that the specification of training names."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from geo_assets.models.loading import PIXELS_PER_CELL
from geo_assets.profile import BUILT_IN, load_profile

PODS = ("pod", "pod-2b", "pod-8b", "pod-qwen35", "pod-unsloth")

TRAINING = {
    "seed": 42, "learning_rate": 1e-5, "lr_scheduler": "constant_with_warmup", "warmup_steps": 20,
    "max_grad_norm": 0.2, "per_device_train_batch_size": 8, "gradient_accumulation_steps": 4,
    "num_generations": 8, "generation_batch_size": 64, "max_steps": 1200, "save_steps": 200,
    "keep_checkpoints": 3, "loss_type": "dapo", "beta": 0.0, "scale_rewards": "group",
    "mask_truncated_completions": True, "temperature": 1.0, "top_p": 1.0, "dtype": "bfloat16",
    "attention": "flash_attention_2", "rollout_engine": "vllm",
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), TRAINING.items())
def test_training_values(name: str, value: Any) -> None:
    assert getattr(load_profile("pod", {}).train, name) == value


def test_adapter_engine_and_photo_values() -> None:
    pod = load_profile("pod", {})
    lora = pod.train.lora
    assert (lora.r, lora.alpha, lora.dropout, lora.exclude) == (32, 64, 0.0, ".*visual.*")
    assert lora.targets == ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    assert (pod.task.max_completion_length, pod.runtime.vllm_max_model_length) == (512, 4096)
    assert (pod.runtime.backend, pod.runtime.vllm_memory_share) == ("vllm", 0.35)
    assert pod.task.max_cells * PIXELS_PER_CELL == 1024 * 32 * 32
    assert pod.task.min_cells * PIXELS_PER_CELL == 256 * 32 * 32
    assert pod.base_model.repo == "Qwen/Qwen3-VL-4B-Instruct"


def test_the_pods_file_alone_says_what_a_training_run_does() -> None:
    written = yaml.safe_load((BUILT_IN / "pod.yaml").read_text(encoding="utf-8"))["train"]
    assert set(TRAINING) <= set(written)


@pytest.mark.parametrize("name", PODS)
def test_every_pod_learns_from_32_completions_a_step(name: str) -> None:
    train = load_profile(name, {}).train
    assert train.per_device_train_batch_size * train.gradient_accumulation_steps == 32
    assert train.generation_batch_size % train.num_generations == 0
    cycle = train.generation_batch_size // 32
    assert train.save_steps % cycle == 0 and train.max_steps % train.save_steps == 0


@pytest.mark.parametrize("name", PODS)
def test_filtering_samples_as_training_does(name: str) -> None:
    settings = load_profile(name, {})
    learnable, train = settings.learnable, settings.train
    assert (learnable.temperature, learnable.top_p) == (train.temperature, train.top_p)
    assert (learnable.rows, learnable.cap_per_country, learnable.completions) == (8000, 200, 4)
