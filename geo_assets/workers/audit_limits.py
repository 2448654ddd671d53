"""What the rollout audit holds against a run: limits, and for each check the remedy that its error ends with.

Log-probabilities are natural logarithms (nats a token). The limits come from healthy and faulty runs of the
demo's model; docs/log-pod.md has the figures.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from geo_assets.errors import TrainingError


@dataclass(frozen=True)
class Limits:
    """What healthy runs stay below, in nats a token. `far_share` of the tokens may differ by over `far`."""

    mean_abs: float
    far: float
    far_share: float
    bias: float


LIMITS = {
    torch.float32: Limits(mean_abs=1e-3, far=2e-2, far_share=0.0, bias=5e-4),
    torch.bfloat16: Limits(mean_abs=3e-2, far=1.0, far_share=2e-3, bias=1e-2),
}
BIAS_Z = 4.0
LOG_MEAN_RATIO = 0.3
"""Limit of |ln(mean importance ratio of a sequence)|."""
MASKED_SHARE = 0.05
PATIENCE = 3
CLOSE_EVERY = 25
"""After the strict rollouts, every so many the weights are read back."""
WEIGHT_TOLERANCE = {torch.float32: 1e-6, torch.bfloat16: 0.0}
"""Rounding of the adapter's scale, which the engine folds into B."""

REMEDIES = {
    "prompt tokens": "TRL or vLLM has changed: install the versions of requirements.lock",
    "visual tokens": "engine and trainer resize photos differently: rebuild base_model with force",
    "completion placeholder": "install the versions of requirements.lock, with which it is never sampled",
    "identical group": "remove `seed` from the generation arguments",
    "log-probabilities": "check train.dtype, train.top_p: 1.0 and the versions of requirements.lock",
    "distribution": "set train.top_p: 1.0, and no bias or penalty on tokens",
    "importance ratio": "set train.rollout_sync: merge and run smoke_test again",
    "engine weights": "the adapter in it is stale: set train.rollout_sync to the other of adapter and merge",
    "frozen weights": "use train.rollout_sync: adapter or merge, which never write to them",
    "trainable": "set train.lora.exclude: '.*visual.*'",
    "sampling": "set train.top_p: 1.0 and no other generation arguments",
    "dropout": "set train.lora.dropout: 0.0",
    "dtype": "set train.dtype to the engine's, or rebuild base_model with force",
}
SHAPING = (
    "top_p", "top_k", "min_p", "temperature", "logit_bias", "bad_words", "allowed_token_ids",
    "presence_penalty", "frequency_penalty", "repetition_penalty", "structured_outputs",
)  # fmt: skip


class AuditError(TrainingError):
    """The engine does not sample the policy that is trained."""

    def __init__(self, check: str, what: str, step: int | None) -> None:
        where = "" if step is None else f" at step {step}"
        super().__init__(f"rollout audit, {check}{where}: {what}; {REMEDIES[check]}")
        self.check = check
