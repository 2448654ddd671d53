"""What the JSON files of a saved model say, read without loading it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from geo_assets.errors import ModelError


def dtype(model_dir: Path) -> str:
    """The dtype that the weights were saved in; engines left to themselves choose another one."""
    config = _read(model_dir / "config.json")
    named = config.get("dtype") or config.get("torch_dtype") or config.get("text_config", {}).get("dtype")
    return str(named or "bfloat16")


def has_linear_attention(model_dir: Path) -> bool:
    """Whether some layers keep a state instead of keys and values (Qwen3.5)."""
    text = _read(model_dir / "config.json").get("text_config", {})
    return "linear_attention" in text.get("layer_types", ())


def stop_tokens(model_dir: Path) -> list[int]:
    """End tokens of the model's generation configuration.

    Raises:
        ModelError: the model was saved without one.
    """
    path = model_dir / "generation_config.json"
    found = _read(path).get("eos_token_id") if path.is_file() else None
    if found is None:
        raise ModelError(
            f"{path} names no eos_token_id; choose a model saved with its generation configuration"
        )
    return [found] if isinstance(found, int) else list(found)


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
