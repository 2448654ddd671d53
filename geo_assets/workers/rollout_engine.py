"""vLLM inside the trainer's process: the same prompts, photos and policy as the trainer, or an error.

TRL starts the engine; this module stands in for two of its classes while the trainer is built
(`with rollout_engine(...)`) and repairs what TRL 1.16 leaves open for models that see photos:

- TRL sends prompts whose image placeholders are expanded already, and vLLM expands them again. Here each run
  of placeholders is collapsed to one before; the audit compares the engine's prompt with the trainer's after.
- TRL passes no dtype, photo size or cap on photos. Here the engine gets the profile's.
- TRL merges the adapter into the base weights in place. Here `adapter_sync` hands it over exactly.
- The image placeholder is never sampled: a completion that holds one breaks the next forward pass.

What it leaves out: comparing log-probabilities and weights (`rollout_audit.py`), several GPUs, sleep mode.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import trl.generation.vllm_generation as trl_generation
import trl.trainer.grpo_trainer as trl_trainer
from vllm import LLM
from vllm.lora.request import LoRARequest

from geo_assets.backends import vllm_engine
from geo_assets.settings import Settings
from geo_assets.workers import adapter_sync, rollout_settings
from geo_assets.workers.audit_limits import AuditError

logger = logging.getLogger(__name__)

LOAD_LIMIT_SECONDS = 20.0
"""A sync that takes longer than this is worth a line in the log."""


@dataclass(frozen=True)
class Rollout:
    """The last call of the engine: what it was sent and what it saw, as token ids."""

    sent: list[list[int]]
    seen: list[list[int]]


class RolloutLLM(LLM):
    """The engine as TRL calls it, with repaired prompts, the policy's adapter and no sampled placeholder."""

    image_token: int | None = None
    adapter: LoRARequest | None = None
    last: Rollout | None = None

    def generate(self, prompts: Any, sampling_params: Any = None, **options: Any) -> Any:
        sent = [list(prompt["prompt_token_ids"]) for prompt in prompts]
        repaired = prompts
        if self.image_token is not None:
            repaired = [
                {**prompt, "prompt_token_ids": rollout_settings.collapse_placeholders(ids, self.image_token)}
                if prompt.get("multi_modal_data")
                else prompt
                for prompt, ids in zip(prompts, sent, strict=True)
            ]
            bias = {self.image_token: vllm_engine.SUPPRESSED, **(sampling_params.logit_bias or {})}
            sampling_params.logit_bias = bias
        if self.adapter is not None:
            options["lora_request"] = self.adapter
        outputs = super().generate(repaired, sampling_params, **options)
        self.last = Rollout(sent, [list(output.prompt_token_ids) for output in outputs])
        if any(self.image_token in sample.token_ids for output in outputs for sample in output.outputs):
            raise AuditError("completion placeholder", "the engine sampled an image placeholder", None)
        return outputs


class RolloutEngine(trl_generation.VLLMGeneration):
    """TRL's engine handling with exact weight sync."""

    settings: Settings
    model_dir: Path

    def _init_vllm(self) -> None:
        runtime, train = self.settings.runtime, self.settings.train
        options = vllm_engine.engine_options(
            runtime, self.settings.task, self.model_dir, runtime.vllm_memory_share
        )
        options |= {"dtype": train.dtype, "seed": train.seed}
        options.pop("max_num_seqs")  # TRL knows how many completions a rollout has
        if train.rollout_sync == "adapter":
            options |= {
                "enable_lora": True,
                "max_loras": 1,
                "max_lora_rank": vllm_engine.room_for(train.lora.r),
            }

        def start(**given: Any) -> RolloutLLM:
            return RolloutLLM(**{**given, **options, "model": str(self.model_dir)})

        began = time.monotonic()
        with mock.patch.object(trl_generation, "LLM", start), vllm_engine.remedies():
            super()._init_vllm()
        logger.info("the vLLM engine beside the trainer took %.0f s to start", time.monotonic() - began)
        self.llm.image_token = getattr(self.processing_class, "image_token_id", None)

    @property
    def runner(self) -> Any:
        """vLLM's model runner, which holds the model and its adapters."""
        return self.llm.llm_engine.model_executor.driver_worker.model_runner

    @torch.no_grad()
    def sync_weights(self) -> None:
        """Bring the engine to the trainer's policy. The trainer's weights are only read."""
        began = time.monotonic()
        if self.settings.train.rollout_sync == "adapter":
            adapter_sync.push_adapter(self.model, self.runner)
            self.llm.adapter = LoRARequest("policy", adapter_sync.SLOT, "in-memory")
        else:
            self.runner.model.load_weights(adapter_sync.merged_weights(self.model))
        self.llm.reset_prefix_cache()
        self.llm.llm_engine.reset_encoder_cache()
        if (seconds := time.monotonic() - began) > LOAD_LIMIT_SECONDS:
            logger.info("handing the policy to the engine took %.0f s", seconds)


@contextlib.contextmanager
def rollout_engine(settings: Settings, model_dir: Path) -> Iterator[type[RolloutEngine]]:
    """Build the trainer inside this block: its engine is then a `RolloutEngine`.

    Raises:
        TrainingError: the profile cannot be trained on-policy with this engine.
    """
    rollout_settings.refuse_biased_sampling(settings)
    _choose_port()
    if not torch.cuda.is_available():
        _keep_weights_loadable()
    engine = type("ProfileEngine", (RolloutEngine,), {"settings": settings, "model_dir": model_dir})
    with mock.patch.object(trl_trainer, "VLLMGeneration", engine):
        yield engine


def _choose_port() -> None:
    """A rendezvous port of this process alone, so that two runs on one machine do not meet."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(probe.getsockname()[1])


def _keep_weights_loadable() -> None:
    """On a CPU, vLLM repacks linear weights into a form that cannot be loaded again; keep them plain.

    Convolutions of linear attention are repacked as ever: their kernel reads no other form.
    """
    import vllm.model_executor.layers.utils as layers

    repack = layers.dispatch_cpu_unquantized_gemm

    def plain(layer: Any, remove_weight: bool) -> None:
        if layer.weight.ndim == 2:
            layer.cpu_linear = torch.nn.functional.linear
        else:
            repack(layer, remove_weight)

    layers.dispatch_cpu_unquantized_gemm = plain


__all__ = ["Rollout", "RolloutEngine", "RolloutLLM", "rollout_engine"]
