"""Which modules of a model a LoRA adapter would take, without building it. PEFT's own matching decides."""

from __future__ import annotations

from typing import Any

from geo_assets.errors import ModelError
from geo_assets.settings import Lora


def lora_config(lora: Lora) -> Any:
    """PEFT's configuration for the adapter of the profile."""
    from peft import LoraConfig

    return LoraConfig(
        r=lora.r,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        bias="none",
        task_type="CAUSAL_LM",
        target_modules=list(lora.targets),
        exclude_modules=lora.exclude,
    )


def lora_targets(model: Any, lora: Lora) -> list[str]:
    """Names of the modules of `model` that the adapter would take, in order. `model` may lack weights.

    Raises:
        ModelError: a target matches nothing, or a module of the vision tower is among them.
    """
    from peft.tuners.tuners_utils import check_target_module_exists

    config = lora_config(lora)
    modules = {name: module for name, module in model.named_modules() if name}
    names = [name for name in modules if check_target_module_exists(config, name) is True]
    unmatched = [target for target in lora.targets if not any(name.endswith("." + target) for name in names)]
    if unmatched:
        linear = {
            name.rpartition(".")[2] for name, module in modules.items() if type(module).__name__ == "Linear"
        }
        raise ModelError(
            f"train.lora.targets names {', '.join(unmatched)}, which this model does not have; "
            f"choose among its linear modules: {', '.join(sorted(linear))}"
        )
    if visual := [name for name in names if "visual" in name]:
        raise ModelError(
            f"{len(visual)} LoRA modules would be in the vision tower, such as {visual[0]}; "
            "set train.lora.exclude: '.*visual.*'"
        )
    return names
