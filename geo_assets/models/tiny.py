"""The demo's base model: a Qwen3-VL of about two million parameters, built offline.

The architecture class, the special tokens and the chat template are the real ones, so everything that
works on it works on the published models; only the sizes and the vocabulary are small. The weights are
random: `workers/warm_start.py` teaches it to answer. Nothing here downloads anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any

import torch
from tokenizers import Regex, Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers import models as tokenizer_models
from transformers import (
    GenerationConfig,
    Qwen2Tokenizer,
    Qwen2VLImageProcessor,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLProcessor,
    Qwen3VLVideoProcessor,
)

from geo_assets.models.loading import PIXELS_PER_CELL
from geo_assets.settings import BaseModelSection

END_OF_TEXT, END_OF_TURN, IMAGE_PAD, VIDEO_PAD = (
    "<|endoftext|>",
    "<|im_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
SPECIAL_TOKENS = (
    "<|im_start|>",
    END_OF_TURN,
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    IMAGE_PAD,
    VIDEO_PAD,
)
TAGS = ("<think>", "</think>", "<answer>", "</answer>")
HEAD_DIM = 32
# Qwen2's own pre-tokenisation, digit by digit.
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def build_tokenizer(corpus: Iterable[str], vocab_size: int) -> Qwen2Tokenizer:
    """A byte-level BPE tokenizer trained on `corpus`, with Qwen's special tokens.

    The think and answer tags become one ordinary token each; they are cut out of the corpus, so
    that no merge crosses them. Ordinary, because decoding must keep them.
    """
    bpe = Tokenizer(tokenizer_models.BPE())
    bpe.normalizer = normalizers.NFC()
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        show_progress=False,
        min_frequency=2,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tag = re.compile("|".join(TAGS))
    bpe.train_from_iterator((tag.sub("\n", text) for text in corpus), trainer)
    state = json.loads(bpe.to_str())["model"]
    merges: list[Any] = [tuple(merge) for merge in state["merges"]]
    tokenizer = Qwen2Tokenizer(
        vocab=state["vocab"],
        merges=merges,
        unk_token=None,  # type: ignore[arg-type]  # a byte-level vocabulary has no unknown text
        eos_token=END_OF_TURN,
        pad_token=END_OF_TEXT,
        model_max_length=4096,
        extra_special_tokens=list(SPECIAL_TOKENS),
    )
    tokenizer.add_tokens(list(TAGS))
    tokenizer.padding_side = "left"
    return tokenizer


def build_processor(
    corpus: Iterable[str], vocab_size: int, min_cells: int, max_cells: int
) -> Qwen3VLProcessor:
    """Tokenizer, image processor and chat template; the cells bound a photo's visual tokens."""
    template = (resources.files("trl") / "chat_templates" / "qwen3_vl.jinja").read_text()
    tokenizer = build_tokenizer(corpus, vocab_size)
    tokenizer.chat_template = template
    image_processor = Qwen2VLImageProcessor(
        patch_size=16,
        temporal_patch_size=2,
        merge_size=2,
        image_mean=[0.5] * 3,
        image_std=[0.5] * 3,
        size={"shortest_edge": min_cells * PIXELS_PER_CELL, "longest_edge": max_cells * PIXELS_PER_CELL},
    )
    return Qwen3VLProcessor(
        image_processor=image_processor,
        tokenizer=tokenizer,
        video_processor=Qwen3VLVideoProcessor(),
        chat_template=template,
    )


def _configuration(tokenizer: Any, section: BaseModelSection) -> Qwen3VLConfig:
    vocab_size = -(-len(tokenizer) // 64) * 64
    third = HEAD_DIM // 2 // 3
    return Qwen3VLConfig(
        text_config={
            "vocab_size": vocab_size,
            "hidden_size": section.hidden_size,
            "intermediate_size": 3 * section.hidden_size,
            "num_hidden_layers": section.layers,
            "num_attention_heads": section.hidden_size // HEAD_DIM,
            "num_key_value_heads": max(1, section.hidden_size // (2 * HEAD_DIM)),
            "head_dim": HEAD_DIM,
            "max_position_embeddings": 4096,
            "tie_word_embeddings": True,
            "pad_token_id": tokenizer.pad_token_id,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                # The three parts (time, height, width) must sum to half a head.
                "mrope_section": [HEAD_DIM // 2 - 2 * third, third, third],
                "mrope_interleaved": True,
            },
        },
        vision_config={
            "depth": section.vision_layers,
            "hidden_size": section.vision_hidden_size,
            "intermediate_size": 3 * section.vision_hidden_size,
            "num_heads": section.vision_hidden_size // HEAD_DIM,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "in_channels": 3,
            "out_hidden_size": section.hidden_size,
            "num_position_embeddings": 144,
            "deepstack_visual_indexes": list(range(section.vision_layers - 1)),
        },
        image_token_id=tokenizer.convert_tokens_to_ids(IMAGE_PAD),
        video_token_id=tokenizer.convert_tokens_to_ids(VIDEO_PAD),
        vision_start_token_id=tokenizer.convert_tokens_to_ids("<|vision_start|>"),
        vision_end_token_id=tokenizer.convert_tokens_to_ids("<|vision_end|>"),
        tie_word_embeddings=True,
    )


def build_model(processor: Qwen3VLProcessor, section: BaseModelSection) -> Qwen3VLForConditionalGeneration:
    """A random model for `processor`, in float32; the same `section.seed` gives the same weights."""
    tokenizer = processor.tokenizer
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(section.seed)
        model = Qwen3VLForConditionalGeneration(_configuration(tokenizer, section))
    model.generation_config = GenerationConfig(
        eos_token_id=[
            tokenizer.convert_tokens_to_ids(END_OF_TURN),
            tokenizer.convert_tokens_to_ids(END_OF_TEXT),
        ],
        pad_token_id=tokenizer.pad_token_id,
        do_sample=True,
        temperature=0.7,
        top_p=0.8,
        top_k=20,
    )
    return model.eval()
