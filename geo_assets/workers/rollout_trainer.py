"""The trainer with vLLM in its process: built with an exact engine, audited at every rollout.

What it leaves out: what is audited (`rollout_audit.py`) and how the engine is fed (`rollout_engine.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from geo_assets.backends.vllm_engine import SUPPRESSED
from geo_assets.settings import Settings
from geo_assets.workers.grpo_trainer import GeoTrainer
from geo_assets.workers.rollout_audit import RolloutAudit
from geo_assets.workers.rollout_engine import rollout_engine

STRICT_ROLLOUTS = 8
LOGGED = ("engine_weight_gap", "bias", "far_share")


class RolloutTrainer(GeoTrainer):
    """`GeoTrainer` whose rollouts come from vLLM and pass the audit before anything is learned from them."""

    rollout_audit: RolloutAudit

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        batch = super()._generate_and_score_completions(inputs)
        if self.model is not None and self.model.training:
            self.rollout_audit.after_rollout(self, batch)
            figures = self.rollout_audit.figures[-1] if self.rollout_audit.figures else {}
            for name in LOGGED:
                if name in figures:
                    self._metrics["train"][f"audit/{name}"].append(figures[name])
        return batch


def build(settings: Settings, model_dir: Path, strict: bool, **arguments: Any) -> RolloutTrainer:
    """A trainer with its engine, audited once before training. `arguments` are those of TRL's GRPOTrainer.

    With `strict` any faulty rollout ends the run, else only one of the first `STRICT_ROLLOUTS`.
    """
    with rollout_engine(settings, model_dir):
        trainer = RolloutTrainer(**arguments)
    suppress_placeholder(trainer.model, trainer.processing_class)
    strict_rollouts = settings.train.max_steps if strict else STRICT_ROLLOUTS
    trainer.rollout_audit = RolloutAudit(strict_rollouts, settings.smoke.max_mean_logprob_gap)
    trainer.rollout_audit.before_training(trainer)
    return trainer


def suppress_placeholder(model: Any, processor: Any) -> None:
    """Lower the logit of the image placeholder as the engine does, so that both mean the same distribution.

    A trained model gives it no probability anyway; a random one gives it as much as any other token.
    The head gets a constant bias, because TRL scores with the head's weight and bias and never calls it.
    It is a buffer: no weight to train, to save or to load into the engine.
    """
    head = model.get_base_model().get_output_embeddings()
    bias = torch.zeros(head.weight.shape[0], dtype=head.weight.dtype, device=head.weight.device)
    bias[processor.image_token_id] = SUPPRESSED
    del head.bias
    head.register_buffer("bias", bias, persistent=False)
