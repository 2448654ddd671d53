"""The rollout audit on made-up rollouts: what it lets pass, what it refuses, and with which remedy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import nn

from geo_assets.workers import audit_limits, engine_weights
from geo_assets.workers.adapter_sync import adapted_layers, merged_weight
from geo_assets.workers.audit_limits import AuditError
from geo_assets.workers.rollout_audit import RolloutAudit

IMAGE = 9
PROMPT = [1, IMAGE, IMAGE, 2]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (
            nn.Linear(8, 8, False),
            nn.Linear(8, 4, False),
            nn.Linear(8, 4, False),
        )
        self.o_proj = nn.Linear(8, 8, False)


class Language(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.language_model = Layer()
        self.visual = nn.Linear(8, 8)


class Network(nn.Module):
    dtype = torch.float32

    def __init__(self) -> None:
        super().__init__()
        self.model = Language()


class Engine(nn.Module):
    """A model as vLLM holds it: q, k and v in one weight."""

    def __init__(self, policy: Any) -> None:
        super().__init__()
        weights = {
            name.rpartition(".")[2]: merged_weight(layer, torch.float32)
            for name, layer in adapted_layers(policy)
        }
        self.language_model = nn.Module()
        self.language_model.model = nn.Module()
        self.language_model.model.qkv_proj = nn.Linear(8, 16, False)
        self.language_model.model.o_proj = nn.Linear(8, 8, False)
        fused = torch.cat([weights["q_proj"], weights["k_proj"], weights["v_proj"]])
        self.language_model.model.qkv_proj.weight.data = fused
        self.language_model.model.o_proj.weight.data = weights["o_proj"]


@pytest.fixture
def trainer() -> Any:
    torch.manual_seed(0)
    config = LoraConfig(
        r=2, lora_alpha=4, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], lora_dropout=0.0
    )
    model = get_peft_model(Network(), config)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.normal_()
    arguments = SimpleNamespace(
        top_p=1.0, top_k=0, min_p=None, repetition_penalty=1.0, generation_kwargs=None, disable_dropout=False
    )
    llm = SimpleNamespace(
        last=SimpleNamespace(seen=[list(PROMPT) for _ in range(4)]),
        llm_engine=SimpleNamespace(model_config=SimpleNamespace(dtype=torch.float32)),
    )
    return SimpleNamespace(
        args=arguments,
        model=model,
        num_generations=2,
        state=SimpleNamespace(global_step=3),
        processing_class=SimpleNamespace(image_token_id=IMAGE, image_processor=SimpleNamespace(merge_size=2)),
        vllm_generation=SimpleNamespace(llm=llm, runner=SimpleNamespace(model=Engine(model))),
    )


@pytest.fixture
def batch() -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    logps = -torch.rand(4, 6, generator=generator)
    return {
        "prompt_ids": torch.tensor([[0, *PROMPT]] * 4),
        "prompt_mask": torch.tensor([[0, 1, 1, 1, 1]] * 4),
        "completion_ids": torch.randint(10, 50, (4, 6), generator=generator),
        "completion_mask": torch.ones(4, 6, dtype=torch.long),
        "sampling_per_token_logps": logps,
        "old_per_token_logps": logps + 1e-6 * torch.randn(4, 6, generator=generator),
        "importance_sampling_ratio": torch.ones(4),
        "image_grid_thw": torch.tensor([[1, 2, 4]] * 4),
        "num_images": [1] * 4,
    }


def audited(trainer: Any, **options: Any) -> RolloutAudit:
    audit = RolloutAudit(options.pop("strict_rollouts", 8), **options)
    audit.before_training(trainer)
    return audit


def test_a_healthy_rollout_passes(trainer: Any, batch: dict[str, Any]) -> None:
    audit = audited(trainer)
    audit.after_rollout(trainer, batch)
    found = audit.summary()
    assert found["rollouts"] == 1 and found["warnings"] == 0
    assert found["mean_abs_gap"] < 1e-5
    assert found["engine_weight_gap"] < 1e-6
    assert found["mean_sequence_ratio"] == pytest.approx(1.0, abs=1e-4)
    assert "1 rollouts audited" in str(audit)


def expanded(trainer: Any, batch: dict[str, Any]) -> None:
    trainer.vllm_generation.llm.last.seen[1] = [1, IMAGE, IMAGE, IMAGE, 2]


def other_photo_size(trainer: Any, batch: dict[str, Any]) -> None:
    trainer.vllm_generation.llm.last.seen[1] = [1, IMAGE, 2]


def other_words(trainer: Any, batch: dict[str, Any]) -> None:
    trainer.vllm_generation.llm.last.seen[2] = [1, IMAGE, IMAGE, 3]


def placeholder(trainer: Any, batch: dict[str, Any]) -> None:
    batch["completion_ids"][0, 0] = IMAGE


def twins(trainer: Any, batch: dict[str, Any]) -> None:
    batch["completion_ids"][1], batch["completion_ids"][3] = (
        batch["completion_ids"][0],
        batch["completion_ids"][2],
    )


def noise(trainer: Any, batch: dict[str, Any]) -> None:
    batch["old_per_token_logps"] = batch["sampling_per_token_logps"] + torch.tensor([[0.004, -0.004] * 3] * 4)


def one_far_token(trainer: Any, batch: dict[str, Any]) -> None:
    batch["old_per_token_logps"][0, 0] += 0.021


def renormalised(trainer: Any, batch: dict[str, Any]) -> None:
    batch["old_per_token_logps"] = batch["sampling_per_token_logps"] - 0.05


def other_policy(trainer: Any, batch: dict[str, Any]) -> None:
    batch["old_per_token_logps"] = batch["sampling_per_token_logps"].clone()
    batch["old_per_token_logps"][0, 0] += 2.0


def masked(trainer: Any, batch: dict[str, Any]) -> None:
    batch["importance_sampling_ratio"] = torch.tensor([0.0, 1.0, 1.0, 1.0])


def stale(trainer: Any, batch: dict[str, Any]) -> None:
    for name, parameter in trainer.model.named_parameters():
        if "lora_B" in name:
            parameter.data += 1e-5


def drifted(trainer: Any, batch: dict[str, Any]) -> None:
    weight = trainer.model.base_model.model.model.visual.weight.data
    weight[0, 0] = torch.nextafter(weight[0, 0], torch.tensor(9.0))


@pytest.mark.parametrize(
    ("plant", "check"),
    [
        (expanded, "prompt tokens"), (other_photo_size, "visual tokens"), (other_words, "prompt tokens"),
        (placeholder, "completion placeholder"), (twins, "identical group"), (noise, "log-probabilities"),
        (one_far_token, "log-probabilities"), (renormalised, "distribution"), (masked, "importance ratio"),
        (stale, "engine weights"), (drifted, "frozen weights"),
    ],
)  # fmt: skip
def test_each_fault_is_named_with_its_remedy(
    trainer: Any, batch: dict[str, Any], plant: Any, check: str
) -> None:
    audit = audited(trainer)
    plant(trainer, batch)
    with pytest.raises(AuditError) as raised:
        audit.after_rollout(trainer, batch)
    assert raised.value.check == check
    assert str(raised.value).endswith(audit_limits.REMEDIES[check])
    assert "at step 3" in str(raised.value)


def test_another_policy_shows_in_the_ratio(
    monkeypatch: pytest.MonkeyPatch, trainer: Any, batch: dict[str, Any]
) -> None:
    lifted = audit_limits.Limits(mean_abs=9.0, far=9.0, far_share=0.0, bias=9.0)
    monkeypatch.setitem(audit_limits.LIMITS, torch.float32, lifted)
    other_policy(trainer, batch)
    with pytest.raises(AuditError, match="mean ratio of a sequence"):
        audited(trainer).after_rollout(trainer, batch)


def test_padding_and_unscored_tokens_do_not_count(trainer: Any, batch: dict[str, Any]) -> None:
    batch["completion_mask"][:, 4:] = 0
    batch["old_per_token_logps"][:, 4:] += 5.0
    batch["sampling_per_token_logps"][0, 0] = float("nan")
    audit = audited(trainer)
    audit.after_rollout(trainer, batch)
    assert audit.summary()["tokens"] == 15


@pytest.mark.parametrize(
    ("name", "value", "check"),
    [
        ("top_p", 0.95, "sampling"), ("top_k", 20, "sampling"), ("min_p", 0.1, "sampling"),
        ("repetition_penalty", 1.1, "sampling"), ("generation_kwargs", {"logit_bias": {1: 1.0}}, "sampling"),
        ("generation_kwargs", {"seed": 1}, "identical group"),
    ],
)  # fmt: skip
def test_biased_sampling_is_refused_before_the_first_step(
    trainer: Any, name: str, value: Any, check: str
) -> None:
    setattr(trainer.args, name, value)
    with pytest.raises(AuditError) as raised:
        audited(trainer)
    assert raised.value.check == check


def test_other_trainable_weights_are_refused(trainer: Any) -> None:
    trainer.model.base_model.model.model.visual.weight.requires_grad_(True)
    with pytest.raises(AuditError, match=r"1 trainable tensors are not the language model's adapter.*visual"):
        audited(trainer)


def test_dropout_and_dtype_are_refused(trainer: Any) -> None:
    trainer.model.peft_config["default"].lora_dropout = 0.1
    with pytest.raises(AuditError, match="LoRA dropout"):
        audited(trainer)
    trainer.model.peft_config["default"].lora_dropout = 0.0
    trainer.vllm_generation.llm.llm_engine.model_config.dtype = torch.bfloat16
    with pytest.raises(AuditError, match=r"the engine computes in torch\.bfloat16"):
        audited(trainer)


def test_late_in_a_run_one_odd_rollout_is_a_warning_and_three_are_the_end(
    trainer: Any, batch: dict[str, Any]
) -> None:
    audit = audited(trainer, strict_rollouts=1)
    audit.after_rollout(trainer, batch)
    good = batch["old_per_token_logps"]
    bad = good - 0.05
    for _ in range(2):
        batch["old_per_token_logps"] = bad
        audit.after_rollout(trainer, batch)
        batch["old_per_token_logps"] = good
        audit.after_rollout(trainer, batch)
    assert audit.summary()["warnings"] == 2
    batch["old_per_token_logps"] = bad
    audit.after_rollout(trainer, batch)
    audit.after_rollout(trainer, batch)
    with pytest.raises(AuditError):
        audit.after_rollout(trainer, batch)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_checksum_sees_any_change(dtype: torch.dtype) -> None:
    tensors = [torch.randn(1000, generator=torch.Generator().manual_seed(n)).to(dtype) for n in range(3)]
    before = engine_weights.checksum(tensors)
    assert engine_weights.checksum([tensor.clone() for tensor in tensors]) == before
    assert engine_weights.checksum(tensors[::-1]) != before
    for position in (0, 500, 999):
        changed = [tensor.clone() for tensor in tensors]
        integer = torch.int16 if dtype == torch.bfloat16 else torch.int32
        changed[1].view(integer)[position] ^= 1
        assert engine_weights.checksum(changed) != before
    swapped = [tensor.clone() for tensor in tensors]
    swapped[0][[1, 2]] = swapped[0][[2, 1]]
    assert engine_weights.checksum(swapped) != before
