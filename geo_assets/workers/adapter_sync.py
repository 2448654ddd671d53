"""Hand the trainer's LoRA adapter to an engine, exactly, without writing to the trainer's weights.

Two ways. `adapter` copies A and B into the engine's adapter slot, so that nothing is rounded away. `merge`
loads base + scaling·B·A, computed out of place in float32 and rounded once; with a bfloat16 engine, the
rounding swallows a fresh adapter's effect for some steps. TRL's own way (merge in place, load, unmerge)
changes the base weights a little each time and is not used. Layers are named as in the model's checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from geo_assets.errors import TrainingError

ADAPTER = "default"
SLOT = 1
"""Number under which the engine knows the policy's adapter."""


def adapted_layers(model: Any) -> Iterator[tuple[str, Any]]:
    """(checkpoint name, LoRA layer) of every layer that carries the adapter.

    Raises:
        TrainingError: a layer uses a variant of LoRA that base + scaling·B·A does not describe.
    """
    for name, module in model.named_modules():
        if ADAPTER not in getattr(module, "lora_A", {}):
            continue
        variant = ADAPTER in getattr(module, "lora_variant", {})
        if variant or module.lora_bias[ADAPTER] or module.fan_in_fan_out:
            raise TrainingError(f"{name} uses a LoRA variant that the engine cannot mirror; use plain LoRA")
        yield name.removeprefix("base_model.model."), module


def merged_weight(layer: Any, dtype: torch.dtype) -> torch.Tensor:
    """base + scaling·B·A of one layer, in a new tensor: float32 arithmetic, one rounding to `dtype`."""
    delta = layer.lora_B[ADAPTER].weight.data.float() @ layer.lora_A[ADAPTER].weight.data.float()
    base = layer.get_base_layer().weight.data
    return torch.add(base.float(), delta, alpha=layer.scaling[ADAPTER]).to(dtype)


def merged_weights(model: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """(checkpoint name, merged weight) of every adapted layer; one at a time, so that memory stays flat."""
    for name, layer in adapted_layers(model):
        yield f"{name}.weight", merged_weight(layer, layer.get_base_layer().weight.dtype)


def push_adapter(model: Any, runner: Any) -> None:
    """Copy the adapter of `model` into the engine's slot.

    Raises:
        TrainingError: the engine has no slot for a layer (it would drop that layer without a word).
    """
    from vllm.lora.lora_model import LoRAModel
    from vllm.lora.peft_helper import PEFTHelper

    worker_manager = getattr(runner, "lora_manager", None)
    if worker_manager is None:
        raise TrainingError("this vLLM gives no access to its adapters; set train.rollout_sync: merge")
    manager = worker_manager._adapter_manager
    config = model.peft_config[ADAPTER]
    # The engine scales lora_B in place; without a copy it would scale the trainer's.
    tensors = {
        f"base_model.model.{name}.lora_{side}.weight": getattr(layer, f"lora_{side}")[
            ADAPTER
        ].weight.data.clone()
        for name, layer in adapted_layers(model)
        for side in ("A", "B")
    }
    helper = PEFTHelper(
        r=config.r, lora_alpha=config.lora_alpha, target_modules=[], use_rslora=config.use_rslora
    )
    mapper = getattr(runner.model, "hf_to_vllm_mapper", None)
    lora = LoRAModel.from_lora_tensors(
        SLOT,
        tensors,
        helper,
        device="cpu",
        dtype=worker_manager.lora_config.lora_dtype,
        weights_mapper=mapper.get_rename_mapper() if mapper else None,
    )
    if missing := sorted(set(lora.loras) - _slots(manager)):
        raise TrainingError(
            f"the engine has no adapter slot for {len(missing)} layers, such as {missing[0]}; "
            "set train.lora.exclude: '.*visual.*', or train.rollout_sync: merge"
        )
    manager.remove_adapter(SLOT)
    manager.add_adapter(lora)
    manager.activate_adapter(SLOT)


def _slots(manager: Any) -> set[str]:
    """Names of the layers that the engine can adapt, fused ones under the names of their parts too."""
    names = set(manager.modules)
    for name in manager.modules:
        head, _, leaf = name.rpartition(".")
        names |= {f"{head}.{part}" for part in manager.packed_modules_mapping.get(leaf, [])}
    return names
