"""Weights as they stand in vLLM's model, under checkpoint names, and exact checksums of many tensors.

vLLM fuses q, k, v and gate, up; with an adapter it wraps each layer. One GPU (tensor parallel size 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from geo_assets.workers.adapter_sync import ADAPTER, merged_weight

PART = {"q_proj": 0, "k_proj": 1, "v_proj": 2, "gate_proj": 0, "up_proj": 1}
"""Place of a layer inside its fused layer."""
FUSED = {
    "q_proj": "qkv_proj", "k_proj": "qkv_proj", "v_proj": "qkv_proj",
    "gate_proj": "gate_up_proj", "up_proj": "gate_up_proj",
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
    weight = _weight(modules, head, leaf, module)
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


def _weight(modules: dict[str, Any], head: str, leaf: str, module: Any) -> torch.Tensor:
    """The weight of one layer, cut out of its fused layer."""
    weight = getattr(module, "base_layer", module).weight.data
    if leaf in ("gate_proj", "up_proj"):
        half = weight.shape[0] // 2
        return weight[:half] if leaf == "gate_proj" else weight[half:]
    if FUSED.get(leaf) != "qkv_proj":
        return weight
    output = modules[f"{head}.o_proj"]
    queries = getattr(output, "base_layer", output).weight.shape[1]
    keys = (weight.shape[0] - queries) // 2
    first, last = {
        "q_proj": (0, queries),
        "k_proj": (queries, queries + keys),
        "v_proj": (queries + keys, None),
    }[leaf]
    return weight[first:last]


def _distance(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one.float() - other.to(one.device).float()).abs().max())
