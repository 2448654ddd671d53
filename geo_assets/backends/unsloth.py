"""Plan B for the pod: a model loaded and patched by unsloth; all else as with the transformers backend.

Unsloth limits TRL to 1.15, so it lives in an environment of its own (runbook/unsloth_setup.sh). What it
leaves out: unsloth's own vLLM and unsloth's own trainer; rollouts come from the patched model, and TRL's
trainer learns from them. For that, TRL must be imported before unsloth, which replaces trainers when it is
imported: it warns about the order, and the warning can be ignored.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from geo_assets.backends.transformers import TransformersBackend
from geo_assets.errors import ModelError
from geo_assets.models import saved
from geo_assets.models.loading import attach_adapter, load_processor
from geo_assets.models.lora_targets import lora_targets
from geo_assets.settings import Runtime, Task, Train

_ENVIRONMENT = {
    # Without a GPU unsloth offers text models only, and would refuse this one later and less clearly.
    "UNSLOTH_DISABLE_CPU_FALLBACK": "1",
    "UNSLOTH_DISABLE_STATISTICS": "1",  # a download from the Hub at each load, to be counted
    "UNSLOTH_COMPILE_LOCATION": str(Path.home() / ".cache" / "unsloth" / "compiled"),  # not where you stand
}


def fast_model() -> Any:
    """Unsloth's class for models that see.

    Raises:
        ModelError: unsloth is not installed, or finds no GPU.
    """
    import trl.trainer.grpo_trainer  # noqa: F401  (before unsloth: see the module)

    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        from unsloth import FastVisionModel
    except (ImportError, NotImplementedError) as error:  # the second is what it raises without a GPU
        raise ModelError(
            f"runtime.backend is unsloth, which cannot be imported ({error}); make its own environment with "
            "runbook/unsloth_setup.sh on a GPU machine, or set runtime.backend: vllm"
        ) from error
    return FastVisionModel


def load_for_inference(
    runtime: Runtime, task: Task, model_dir: Path, adapter_dir: Path | None = None
) -> TransformersBackend:
    """A backend that generates with the model as unsloth patches it, in the dtype it was saved in.

    Raises:
        ModelError: unsloth cannot be used here, or the folder holds no processor.
    """
    fast, processor = fast_model(), load_processor(model_dir, task)
    model = _load(fast, runtime, model_dir, saved.dtype(model_dir))
    if adapter_dir is not None:
        model = attach_adapter(model, adapter_dir)
    fast.for_inference(model)
    return TransformersBackend(model, processor, task, runtime.eval_batch_size)


def load_for_training(runtime: Runtime, train: Train, model_dir: Path) -> Any:
    """The model in `train.dtype` with the profile's adapter on the language model alone.

    Raises:
        ModelError: the adapter's targets are not in the model, or in its vision tower.
    """
    fast = fast_model()
    model = _load(fast, runtime, model_dir, train.dtype, use_gradient_checkpointing="unsloth")
    lora_targets(model, train.lora)
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


def _load(fast: Any, runtime: Runtime, model_dir: Path, dtype: str, **options: Any) -> Any:
    """The patched model in `dtype`; left to itself, unsloth chooses one.

    Raises:
        ModelError: unsloth took another dtype all the same.
    """
    import torch

    wanted = getattr(torch, dtype)
    model, _ = fast.from_pretrained(
        model_name=str(model_dir),
        max_seq_length=runtime.vllm_max_model_length,
        dtype=wanted,
        load_in_4bit=False,
        local_files_only=True,
        **options,
    )
    if model.dtype != wanted:  # float16 in place of bfloat16, on a GPU older than Ampere
        raise ModelError(
            f"unsloth loaded the model in {model.dtype} where {wanted} was asked for, which this GPU lacks: "
            "rent one that has it, or set runtime.backend: transformers"
        )
    return model
