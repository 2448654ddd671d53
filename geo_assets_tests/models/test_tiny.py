"""The tiny Qwen3-VL: real class, real template, exact reload, the stated number of visual tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from transformers import AutoModelForImageTextToText, AutoProcessor, Qwen3VLForConditionalGeneration

from geo_assets.models import tiny
from geo_assets.models.loading import adapter_names, load_model, load_processor
from geo_assets.settings import BaseModelSection, Runtime, Task

TEXTS = ['<think>drives left</think><answer>{"country": "Japan", "lat": 36, "lon": 140}</answer>'] * 50
SECTION = BaseModelSection(
    source="tiny", hidden_size=64, layers=2, vision_hidden_size=32, vision_layers=2, vocab_size=330
)
TASK = Task(prompt="short", min_cells=1, max_cells=22)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    processor = tiny.build_processor(TEXTS, SECTION.vocab_size, TASK.min_cells, TASK.max_cells)
    model = tiny.build_model(processor, SECTION)
    folder = tmp_path_factory.mktemp("tiny")
    processor.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder, processor, model


def test_a_reloaded_model_gives_the_same_logits(saved: tuple[Path, Any, Any]) -> None:
    folder, processor, model = saved
    photo = Image.effect_noise((160, 128), 60).convert("RGB")
    chat = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Where?"}]}]
    text = processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
    inputs = processor(text=[text], images=[[photo]], return_tensors="pt")
    again = AutoModelForImageTextToText.from_pretrained(folder)
    assert type(again) is Qwen3VLForConditionalGeneration
    reloaded = AutoProcessor.from_pretrained(folder)(text=[text], images=[[photo]], return_tensors="pt")
    with torch.no_grad():
        assert torch.equal(model(**inputs).logits, again(**reloaded).logits)
    assert int((inputs["input_ids"] == model.config.image_token_id).sum()) == 20


def test_the_image_reaches_the_logits_through_every_layer(saved: tuple[Path, Any, Any]) -> None:
    _, processor, model = saved
    assert model.config.vision_config.deepstack_visual_indexes == [0]
    chat = [{"role": "user", "content": [{"type": "image"}]}]
    text = processor.apply_chat_template(chat, tokenize=False)
    photos = [Image.new("RGB", (160, 128), shade) for shade in (0, 0xFFFFFF)]
    black, white = (processor(text=[text], images=[[photo]], return_tensors="pt") for photo in photos)
    with torch.no_grad():
        assert not torch.allclose(model(**black).logits[0, -1], model(**white).logits[0, -1])


def test_the_seed_decides_the_weights(saved: tuple[Path, Any, Any]) -> None:
    _, processor, model = saved
    state = torch.random.get_rng_state()
    same, other = (tiny.build_model(processor, SECTION.model_copy(update={"seed": seed})) for seed in (0, 1))
    assert torch.equal(state, torch.random.get_rng_state())
    assert torch.equal(same.lm_head.weight, model.lm_head.weight)
    assert not torch.equal(other.lm_head.weight, model.lm_head.weight)


def test_tags_are_one_token_each_and_survive_decoding(saved: tuple[Path, Any, Any]) -> None:
    tokenizer = saved[1].tokenizer
    ids = tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
    for tag in tiny.TAGS:
        assert ids.count(tokenizer.convert_tokens_to_ids(tag)) == 1
    assert tokenizer.decode(ids, skip_special_tokens=True) == TEXTS[0]
    assert tokenizer.eos_token == "<|im_end|>" and tokenizer.padding_side == "left"


def test_any_text_survives_the_byte_level_tokenizer(saved: tuple[Path, Any, Any]) -> None:
    tokenizer = saved[1].tokenizer
    for text in ("Zürich, 東京, ไทย", "a\n\n  b", "🙂 ±90°"):
        assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_template_is_the_published_one(saved: tuple[Path, Any, Any]) -> None:
    from geo_assets.task.prompt import messages

    text = saved[1].apply_chat_template(messages("short"), add_generation_prompt=True, tokenize=False)
    assert text == (
        "<|im_start|>system\nYou are a geolocation expert.<|im_end|>\n<|im_start|>user\n<|vision_start|>"
        "<|image_pad|><|vision_end|>Where was this photo taken?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_the_patch_embedding_as_a_matrix_is_the_convolution(saved: tuple[Path, Any, Any]) -> None:
    folder, _, model = saved
    patches = torch.randn(80, 3 * 2 * 16 * 16)
    loaded = load_model(folder, Runtime(device="cpu"))
    assert "forward" in vars(loaded.model.visual.patch_embed)
    with torch.no_grad():
        one, other = (m.model.visual.patch_embed.forward(patches) for m in (model, loaded))
    assert torch.allclose(one, other, atol=1e-5)
    assert loaded.state_dict().keys() == model.state_dict().keys()


def test_loading_sets_the_pixel_budget_and_left_padding(saved: tuple[Path, Any, Any]) -> None:
    processor = load_processor(saved[0], Task(prompt="short", min_cells=4, max_cells=9))
    assert dict(processor.image_processor.size)["longest_edge"] == 9 * 1024
    assert processor.tokenizer.padding_side == "left"
    model = load_model(saved[0], Runtime(device="cpu"))
    assert model.dtype == torch.float32 and not model.training
    assert adapter_names(model) == []
