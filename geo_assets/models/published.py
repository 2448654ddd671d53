"""The shapes of the published models: memory, LoRA targets and speed can be examined without a download.

Shapes only: no weights, no tokenizer. Widths and depths are those of each repository's config.json.
"""

from __future__ import annotations

from typing import Any

_TEXT = {
    "vocab_size": 151936,
    "head_dim": 128,
    "num_key_value_heads": 8,
    "max_position_embeddings": 262144,
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 5_000_000,
        "mrope_section": [24, 20, 20],
        "mrope_interleaved": True,
    },
}
# hidden size, intermediate size, layers, attention heads
_TEXT_SHAPES = {
    "Qwen/Qwen3-VL-2B-Instruct": (2048, 6144, 28, 16),
    "Qwen/Qwen3-VL-4B-Instruct": (2560, 9728, 36, 32),
    "Qwen/Qwen3-VL-8B-Instruct": (4096, 12288, 36, 32),
}
# depth, hidden size, intermediate size, layers that feed the language model's first layers
_VISION_SHAPES = {
    "Qwen/Qwen3-VL-2B-Instruct": (24, 1024, 4096, [5, 11, 17]),
    "Qwen/Qwen3-VL-4B-Instruct": (24, 1024, 4096, [5, 11, 17]),
    "Qwen/Qwen3-VL-8B-Instruct": (27, 1152, 4304, [8, 16, 24]),
}
_UNTIED = {"Qwen/Qwen3-VL-8B-Instruct"}
_QWEN35 = {
    "Qwen/Qwen3.5-4B": {
        "hidden_size": 2560, "intermediate_size": 9216, "num_hidden_layers": 32, "num_attention_heads": 16,
        "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 248320,
    },
}  # fmt: skip


def configuration(repo: str) -> Any:
    """The configuration of a published model, or None where its shape is not known here."""
    if repo in _TEXT_SHAPES:
        return _qwen3_vl(repo)
    if repo in _QWEN35:
        from transformers import Qwen3_5Config

        return Qwen3_5Config(
            text_config={**_QWEN35[repo], "tie_word_embeddings": True}, tie_word_embeddings=True
        )
    return None


def _qwen3_vl(repo: str) -> Any:
    from transformers import Qwen3VLConfig

    hidden, intermediate, layers, heads = _TEXT_SHAPES[repo]
    depth, vision_hidden, vision_intermediate, deepstack = _VISION_SHAPES[repo]
    text = {
        **_TEXT,
        "hidden_size": hidden,
        "intermediate_size": intermediate,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "tie_word_embeddings": repo not in _UNTIED,
    }
    vision = {
        "depth": depth,
        "hidden_size": vision_hidden,
        "intermediate_size": vision_intermediate,
        "num_heads": 16,
        "deepstack_visual_indexes": deepstack,
        "out_hidden_size": hidden,
        "num_position_embeddings": 2304,
    }
    return Qwen3VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=repo not in _UNTIED)


def skeleton(config: Any) -> Any:
    """A model of this configuration without weights (on torch's meta device)."""
    import torch
    from transformers import AutoModelForImageTextToText

    with torch.device("meta"):
        return AutoModelForImageTextToText.from_config(config)
