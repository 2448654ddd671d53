"""Supervised steps of small models: Muon for the matrices, AdamW for the rest, a cosine after a warm-up.

Both warm-ups take their steps here. What it leaves out: what is learned (`lesson.py`, `gym_warm_up.py`), and
adapters: every weight is trained, in float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

WARMUP_STEPS = 30
WEIGHT_DECAY = 0.01
MAX_GRAD_NORM = 1.0
SMOOTHED_STEPS = 50


def build_optimizers(model: Any, muon_learning_rate: float, adamw_learning_rate: float) -> list[Any]:
    """Muon for the 2-D matrices (Jordan et al. 2024), AdamW for embeddings, biases and norms."""
    import torch

    named = list(model.named_parameters())
    matrices = [p for name, p in named if p.ndim == 2 and "embed" not in name and "lm_head" not in name]
    ids = {id(parameter) for parameter in matrices}
    rest = [p for _, p in named if id(p) not in ids]
    adamw = torch.optim.AdamW(rest, lr=adamw_learning_rate, betas=(0.9, 0.98), weight_decay=WEIGHT_DECAY)
    muon = torch.optim.Muon(
        matrices, lr=muon_learning_rate, weight_decay=WEIGHT_DECAY, momentum=0.95, ns_steps=4
    )
    return [adamw, muon]


def set_learning_rates(optimizers: Sequence[Any], step: int, steps: int) -> None:
    """Linear warm-up, then a cosine down to 2% of the peak."""
    decay = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps))
    factor = min(1.0, (step + 1) / WARMUP_STEPS) * decay
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group.setdefault("initial_lr", group["lr"]) * factor


def take_step(model: Any, optimizers: Sequence[Any], batch: Mapping[str, Any], **arguments: Any) -> float:
    """One step of every optimizer on the mean cross-entropy of a batch with labels; the loss before it."""
    import torch

    loss = model(**batch, **arguments).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRAD_NORM)
    for optimizer in optimizers:
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return loss.item()


def recent_loss(losses: Sequence[float]) -> float:
    """Mean loss of the last `SMOOTHED_STEPS` steps.

    >>> recent_loss([9.0] + [1.0] * 50)
    1.0
    """
    recent = losses[-SMOOTHED_STEPS:]
    return sum(recent) / len(recent)
