"""Plan B for the pod: a model loaded and patched by unsloth; all else as with the transformers backend.

Unsloth limits TRL to 1.15, so it lives in an environment of its own (requirements-unsloth.txt), and its
import needs a GPU. This module has been tested against a stand-in for unsloth only, never on a GPU. What it
leaves out: unsloth's own vLLM; rollouts come from the patched model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geo_assets.backends.transformers import TransformersBackend
from geo_assets.errors import ModelError
from geo_assets.models.loading import attach_adapter, load_processor
from geo_assets.settings import Runtime, Task, Train


def fast_model() -> Any:
    """Unsloth's class for models that see.

    Raises:
        ModelError: unsloth is not installed, or finds no GPU.
    """
    try:
        from unsloth import FastVisionModel
    except (ImportError, NotImplementedError) as error:  # the second is what it raises without a GPU
        raise ModelError(
            f"runtime.backend is unsloth, which cannot be imported ({error}); make its own environment from "
            "requirements-unsloth.txt on a GPU machine, or set runtime.backend: vllm"
        ) from error
    return FastVisionModel


def load_for_inference(
    runtime: Runtime, task: Task, model_dir: Path, adapter_dir: Path | None = None
) -> TransformersBackend:
    """A backend that generates with the model as unsloth patches it, in the dtype it was saved in."""
    fast = fast_model()
    model, _ = fast.from_pretrained(
        model_name=str(model_dir),
        max_seq_length=runtime.vllm_max_model_length,
        dtype=None,
        load_in_4bit=False,
    )
    if adapter_dir is not None:
        model = attach_adapter(model, adapter_dir)
    fast.for_inference(model)
    return TransformersBackend(model, load_processor(model_dir, task), task, runtime.eval_batch_size)


def load_for_training(runtime: Runtime, train: Train, model_dir: Path) -> Any:
    """The model in 16 bits with the profile's adapter on the language model alone."""
    fast = fast_model()
    model, _ = fast.from_pretrained(
        model_name=str(model_dir),
        max_seq_length=runtime.vllm_max_model_length,
        dtype=None,
        load_in_4bit=False,
        use_gradient_checkpointing="unsloth",
    )
    return fast.get_peft_model(
        model,
        finetune_vision_layers=False,
        finetune_language_layers=True,
        finetune_attention_modules=True,
        finetune_mlp_modules=True,
        target_modules=list(train.lora.targets),
        r=train.lora.r,
        lora_alpha=train.lora.alpha,
        lora_dropout=train.lora.dropout,
        bias="none",
        random_state=train.seed,
    )
