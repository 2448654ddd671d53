"""Weights as they stand in vLLM's model, under checkpoint names, and exact checksums of many tensors.

vLLM fuses q, k, v and gate, up; with an adapter it wraps each layer. One GPU (tensor parallel size 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from geo_assets.workers.adapter_sync import ADAPTER, merged_weight

PART = {"q_proj": 0, "k_proj": 1, "v_proj": 2, "gate_proj": 0, "up_proj": 1, "in_proj_qkv": 0, "in_proj_z": 1}
"""Place of a layer inside its fused layer."""
FUSED = {
    "q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj", "up_proj": "gate_up_proj",
    "in_proj_qkv": "in_proj_qkvz", "in_proj_z": "in_proj_qkvz",
}  # fmt: skip
CHUNK = 1 << 24


def frozen(model: Any) -> Iterator[torch.Tensor]:
    """Every weight that training must not touch, in the model's order."""
    return (parameter.data for name, parameter in model.named_parameters() if ".lora_" not in name)


def checksum(tensors: Iterable[torch.Tensor]) -> int:
    """A checksum of all bytes and their order, computed where the tensors are.

    Sum of (position weight · bit pattern) modulo 2^64: one element that changes cannot leave the sum equal.
    """
    total = 0
    for number, tensor in enumerate(tensors):
        bits = (
            tensor.detach()
            .contiguous()
            .flatten()
            .view(torch.int16 if tensor.element_size() == 2 else torch.int32)
        )
        for first in range(0, bits.numel(), CHUNK):
            part = bits[first : first + CHUNK].to(torch.int64)
            weights = (
                torch.arange(first + number, first + number + part.numel(), device=part.device) % 65_521 + 1
            )
            total += int((part * weights).sum())
    return total % 2**64


def largest_gap(engine: Any, layers: Iterable[tuple[str, Any]]) -> float:
    """Largest |difference| between engine and trainer over these (checkpoint name, LoRA layer) pairs."""
    modules = dict(engine.named_modules())
    return max((_gap(modules, name, layer) for name, layer in layers), default=0.0)


def _gap(modules: dict[str, Any], name: str, layer: Any) -> float:
    head, _, leaf = engine_name(name).rpartition(".")
    module = modules.get(f"{head}.{FUSED.get(leaf, leaf)}") or modules[f"{head}.{leaf}"]
    base = layer.get_base_layer().weight.data
    weight = _part(getattr(module, "base_layer", module).weight.data, leaf, base.shape[0])
    if not hasattr(module, "lora_a_stacked"):
        return _distance(weight, merged_weight(layer, weight.dtype))
    part = PART.get(leaf, 0)
    a, b = module.lora_a_stacked[part][0, 0], module.lora_b_stacked[part][0, 0]
    rank, rows = layer.r[ADAPTER], layer.lora_B[ADAPTER].weight.shape[0]
    scaled = layer.lora_B[ADAPTER].weight.data.to(b.dtype) * layer.scaling[ADAPTER]
    gaps = (
        _distance(a[:rank], layer.lora_A[ADAPTER].weight.data.to(a.dtype)),
        _distance(b[:rows, :rank], scaled),
        _distance(weight, base.to(weight.dtype)),
    )
    return max(gaps)


def engine_name(name: str) -> str:
    """A checkpoint's name of a layer as vLLM's model calls it.

    >>> engine_name("model.language_model.layers.0.self_attn.q_proj")
    'language_model.model.layers.0.self_attn.q_proj'
    """
    return name.replace("model.visual.", "visual.").replace("model.language_model.", "language_model.model.")


def _part(weight: torch.Tensor, leaf: str, rows: int) -> torch.Tensor:
    """The `rows` rows of a fused weight that belong to one layer; k and v are equally tall."""
    if leaf not in PART:
        return weight
    if PART[leaf] == 0:
        return weight[:rows]
    return weight[-2 * rows : -rows] if leaf == "k_proj" else weight[-rows:]


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one.float() - other.to(one.device).float()).abs().max())
