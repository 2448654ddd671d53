"""Proof, during the first rollouts, that the engine samples the very policy that the trainer trains.

Each check has a limit and a remedy; the first that fails ends the run. Log-probabilities are natural
logarithms (nats). Before the first step: sampling settings, dropout, dtype, what is trainable. After a
rollout: prompt and visual tokens, differences of log-probabilities, importance ratios, the engine's weights
read back, frozen weights unchanged. After the first rollouts, weights are read back now and then, and one
odd rollout is a warning: only `PATIENCE` of them in a row end a run that has been going for hours. What it
leaves out: whether learning is good (`callbacks.py`, `smoke.py`).
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field
from typing import Any

import torch

from geo_assets.workers import engine_weights
from geo_assets.workers.adapter_sync import adapted_layers
from geo_assets.workers.audit_limits import (
    BIAS_Z,
    CLOSE_EVERY,
    LIMITS,
    LOG_MEAN_RATIO,
    MASKED_SHARE,
    PATIENCE,
    SHAPING,
    WEIGHT_TOLERANCE,
    AuditError,
)

logger = logging.getLogger(__name__)


@dataclass
class RolloutAudit:
    """Audits the rollouts of a trainer with an engine.

    In the first `strict_rollouts` a fault raises `AuditError`; later, `PATIENCE` faulty rollouts in a row do.
    """

    strict_rollouts: int
    mean_abs_limit: float | None = None
    """Limit of mean |Δlogp| in nats; unset takes the limit of the dtype."""
    layers: int = 6
    """How many adapted layers are read back from the engine each time."""
    figures: list[dict[str, float]] = field(default_factory=list)
    warnings: int = 0
    _faulty_in_a_row: int = 0
    _frozen: int = 0

    def before_training(self, trainer: Any) -> None:
        """Check what can be known before the first rollout, and remember the frozen weights."""
        arguments, model = trainer.args, trainer.model
        extra = dict(arguments.generation_kwargs or {})
        neutral = {
            "top_p": (1.0,),
            "top_k": (0, -1, None),
            "min_p": (None, 0.0),
            "repetition_penalty": (1.0,),
        }
        for name, allowed in neutral.items():
            if getattr(arguments, name) not in allowed:
                what = f"{name} is {getattr(arguments, name)}, and only the engine applies it"
                raise AuditError("sampling", what, None)
        if shaping := sorted(set(extra) & set(SHAPING)):
            raise AuditError(
                "sampling", f"{', '.join(shaping)} would change the engine's distribution alone", None
            )
        if "seed" in extra:
            raise AuditError("identical group", "one seed is set for all requests", None)
        if (
            any(config.lora_dropout for config in model.peft_config.values())
            and not arguments.disable_dropout
        ):
            raise AuditError("dropout", "the trainer scores with LoRA dropout, the engine without", None)
        names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
        if outside := [name for name in names if ".lora_" not in name or "visual" in name]:
            what = (
                f"{len(outside)} trainable tensors are not the language model's adapter, such as {outside[0]}"
            )
            raise AuditError("trainable", what, None)
        engine = trainer.vllm_generation.llm.llm_engine.model_config
        if engine.dtype != model.dtype:
            raise AuditError(
                "dtype", f"the engine computes in {engine.dtype}, the trainer holds {model.dtype}", None
            )
        self._dtype = engine.dtype
        self._frozen = engine_weights.checksum(engine_weights.frozen(model))

    @torch.no_grad()
    def after_rollout(self, trainer: Any, batch: dict[str, Any]) -> None:
        """Check one rollout, given what TRL made of it.

        Raises:
            AuditError: see the class.
        """
        strict = len(self.figures) < self.strict_rollouts
        try:
            figures = self._check(trainer, batch, closely=strict or len(self.figures) % CLOSE_EVERY == 0)
        except AuditError as error:
            self.warnings += 1
            self._faulty_in_a_row += 1
            if strict or self._faulty_in_a_row >= PATIENCE:
                raise
            logger.warning("%s (one of %d that end the run)", error, PATIENCE)
            return
        self._faulty_in_a_row = 0
        self.figures.append(figures)

    def _check(self, trainer: Any, batch: dict[str, Any], closely: bool) -> dict[str, float]:
        # Causes come before symptoms, so that the remedy is the right one.
        step = trainer.state.global_step
        figures = {"step": float(step)}
        self._check_prompts(trainer, batch, step)
        if closely:
            if engine_weights.checksum(engine_weights.frozen(trainer.model)) != self._frozen:
                raise AuditError("frozen weights", "the base weights are not what they were", step)
            figures["engine_weight_gap"] = self._check_weights(trainer, step)
        self._check_completions(trainer, batch, step)
        return figures | self._check_probabilities(batch, step)

    def summary(self) -> dict[str, float]:
        """Figures over all audited rollouts."""
        names = ("mean_abs_gap", "max_abs_gap", "engine_weight_gap")
        worst = {name: max((f[name] for f in self.figures if name in f), default=0.0) for name in names}
        ratios = [f["mean_sequence_ratio"] for f in self.figures] or [math.nan]
        return {
            **worst,
            "mean_sequence_ratio": sum(ratios) / len(ratios),
            "least_sequence_ratio": min(ratios),
            "most_sequence_ratio": max(ratios),
            "rollouts": float(len(self.figures)),
            "warnings": float(self.warnings),
            "tokens": sum(f["tokens"] for f in self.figures),
        }

    def __str__(self) -> str:
        found = self.summary()
        return (
            f"{found['rollouts']:.0f} rollouts audited: prompts and photos equal, mean |Δlogp| at most "
            f"{found['mean_abs_gap']:.2g} nats, importance ratio {found['least_sequence_ratio']:.4f} to "
            f"{found['most_sequence_ratio']:.4f}, frozen weights unchanged"
        )

    def _check_prompts(self, trainer: Any, batch: dict[str, Any], step: int) -> None:
        masks = batch["prompt_mask"].bool()
        trained = [row[mask].tolist() for row, mask in zip(batch["prompt_ids"], masks, strict=True)]
        seen = trainer.vllm_generation.llm.last.seen
        image_token = getattr(trainer.processing_class, "image_token_id", None)
        photos = _visual_tokens(trainer, batch)
        for index, (one, other) in enumerate(zip(seen, trained, strict=True)):
            if photos is not None and (found := one.count(image_token)) != photos[index]:
                what = f"the engine sees {found} visual tokens, the trainer {photos[index]}"
                if found == 2 * photos[index] - int(batch["num_images"][index]):
                    raise AuditError("prompt tokens", f"placeholders are expanded twice: {what}", step)
                raise AuditError("visual tokens", what, step)
            if one != other:
                what = f"the engine's prompt {index} has {len(one)} tokens, the trainer's {len(other)}"
                raise AuditError("prompt tokens", what, step)

    def _check_completions(self, trainer: Any, batch: dict[str, Any], step: int) -> None:
        mask = batch["completion_mask"].bool()
        image_token = getattr(trainer.processing_class, "image_token_id", None)
        if image_token is not None and bool((batch["completion_ids"][mask] == image_token).any()):
            raise AuditError("completion placeholder", "a completion holds an image placeholder", step)
        texts = [tuple(row[kept].tolist()) for row, kept in zip(batch["completion_ids"], mask, strict=True)]
        size = trainer.num_generations if trainer.model.training else 1
        groups = [texts[first : first + size] for first in range(0, len(texts), size)]
        if size > 1 and all(len(set(group)) == 1 for group in groups):
            raise AuditError("identical group", f"{len(groups)} groups of {size} equal answers", step)

    def _check_probabilities(self, batch: dict[str, Any], step: int) -> dict[str, float]:
        limits = LIMITS[self._dtype]
        mask = batch["completion_mask"].bool()
        gap = (batch["old_per_token_logps"] - batch["sampling_per_token_logps"]).float()
        kept = gap[mask & gap.isfinite()]
        sequences = (gap.nan_to_num() * mask).sum(-1).exp()
        # Sampled from the engine, E[trainer - engine] = -KL, and for pure noise KL is half the variance.
        bias = float(kept.mean() + 0.5 * kept.var())
        z = bias / max(float(kept.std()) / math.sqrt(kept.numel()), 1e-9)
        figures = {
            "mean_abs_gap": float(kept.abs().mean()),
            "max_abs_gap": float(kept.abs().max()),
            "far_share": float((kept.abs() > limits.far).float().mean()),
            "bias": bias,
            "mean_sequence_ratio": float(sequences.mean()),
            "masked_share": float((batch["importance_sampling_ratio"] == 0).float().mean()),
            "tokens": float(kept.numel()),
        }
        if abs(bias) > limits.bias and abs(z) > BIAS_Z:
            raise AuditError(
                "distribution", f"log-probabilities are off by {bias:+.2g} nats a token (z {z:.1f})", step
            )
        mean_limit = self.mean_abs_limit or limits.mean_abs
        if figures["mean_abs_gap"] > mean_limit:
            what = f"mean |Δlogp| is {figures['mean_abs_gap']:.2g} nats a token (limit {mean_limit:g})"
            raise AuditError("log-probabilities", what, step)
        if figures["far_share"] > limits.far_share:
            what = f"{figures['far_share']:.2%} of the tokens differ by over {limits.far:g} nats"
            raise AuditError("log-probabilities", what, step)
        ratio = figures["mean_sequence_ratio"]
        if abs(math.log(max(ratio, 1e-9))) > LOG_MEAN_RATIO:
            raise AuditError("importance ratio", f"the mean ratio of a sequence is {ratio:.3g}, not 1", step)
        if figures["masked_share"] > MASKED_SHARE:
            raise AuditError(
                "importance ratio", f"{figures['masked_share']:.0%} of the sequences weigh nothing", step
            )
        return figures

    def _check_weights(self, trainer: Any, step: int) -> float:
        layers = list(adapted_layers(trainer.model))
        chosen = layers[:: max(1, len(layers) // self.layers)]
        worst = engine_weights.largest_gap(trainer.vllm_generation.runner.model, chosen)
        if worst > WEIGHT_TOLERANCE[self._dtype]:
            what = f"the engine's weights differ from the trainer's policy by up to {worst:.2g}"
            raise AuditError("engine weights", what, step)
        return worst


def _visual_tokens(trainer: Any, batch: dict[str, Any]) -> list[int] | None:
    """Visual tokens of each prompt as the trainer's image features count them."""
    if "image_grid_thw" not in batch:
        return None
    merge = trainer.processing_class.image_processor.merge_size**2
    each = (batch["image_grid_thw"].prod(-1) // merge).tolist()
    counts, first = [], 0
    for n in batch["num_images"]:
        counts.append(sum(each[first : first + n]))
        first += n
    return counts
