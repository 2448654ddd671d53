"""Generation: the same answers whatever the batch, seeded samples, endings, no image tokens."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from geo_assets.backends import make
from geo_assets.backends.base import Completion, Request, Sampling
from geo_assets.backends.transformers import RowNoise, TransformersBackend
from geo_assets.errors import ModelError
from geo_assets.models import tiny
from geo_assets.settings import BaseModelSection, Runtime, Task
from geo_assets.task.prompt import messages

TASK = Task(prompt="short", min_cells=1, max_cells=6)
RUNTIME = Runtime(device="cpu", eval_batch_size=8)


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    section = BaseModelSection(
        hidden_size=64, layers=2, vision_hidden_size=32, vision_layers=2, vocab_size=300, seed=3
    )
    processor = tiny.build_processor(["drives left"] * 9, section.vocab_size, 1, 6)
    model = tiny.build_model(processor, section)
    for parameter in model.parameters():  # small random weights answer alike; larger ones do not
        parameter.data.mul_(4)
    folder = tmp_path_factory.mktemp("model")
    processor.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def backend(model_dir: Path, batch_size: int) -> TransformersBackend:
    made = make(RUNTIME.model_copy(update={"eval_batch_size": batch_size}), TASK, model_dir)
    assert isinstance(made, TransformersBackend)
    return made


def requests(n: int, sampling: Sampling, views: int = 1) -> list[Request]:
    made = []
    for index in range(n):
        noise = np.random.default_rng(index).integers(0, 255, (64, 96, 3), dtype=np.uint8)
        # Photos of two sizes: prompts of two lengths share a batch and are padded on the left.
        photo = Image.fromarray(noise if index % 2 else noise[:32])
        made.append(Request(f"r{index}", messages("short", views), (photo,) * views, sampling))
    return made


def test_greedy_answers_do_not_depend_on_the_batch(model_dir: Path) -> None:
    asked = requests(5, Sampling(max_tokens=10))
    together = backend(model_dir, 8).generate(asked)
    alone = [answers for request in asked for answers in backend(model_dir, 1).generate([request])]
    assert together == alone
    assert len({answers[0].text for answers in together}) > 1, "the photo must matter"


def test_samples_depend_on_row_and_seed_alone(model_dir: Path) -> None:
    sampling = Sampling(temperature=1.0, samples=3, max_tokens=10, seed=7)
    asked = requests(4, sampling)
    whole = backend(model_dir, 8).generate(asked)
    assert backend(model_dir, 5).generate(asked[::-1])[::-1] == whole
    assert len({completion.text for answers in whole for completion in answers}) == 12
    reseeded = [replace(request, sampling=replace(sampling, seed=8)) for request in asked]
    assert backend(model_dir, 8).generate(reseeded) != whole


def test_requests_of_several_kinds_come_back_in_order(model_dir: Path) -> None:
    greedy, sampled = Sampling(max_tokens=4), Sampling(temperature=0.7, top_p=0.9, samples=2, max_tokens=6)
    mixed = [requests(2, greedy)[0], requests(2, sampled)[1], requests(3, greedy, views=3)[2]]
    answers = backend(model_dir, 8).generate(mixed)
    assert [len(completions) for completions in answers] == [1, 2, 1]
    assert answers[0] == backend(model_dir, 8).generate(mixed[:1])[0]
    assert answers[2] == backend(model_dir, 8).generate(mixed[2:])[0]


def test_endings_are_told_apart(model_dir: Path) -> None:
    made = backend(model_dir, 8)
    stop, pad = made.processor.tokenizer.eos_token_id, made.processor.tokenizer.pad_token_id
    word = made.processor.tokenizer("ab")["input_ids"]
    assert made._completion([*word, stop, pad, pad]) == Completion("ab", len(word) + 1, "stop")
    assert made._completion(word) == Completion("ab", len(word), "length")


def test_the_image_placeholder_is_never_generated(model_dir: Path) -> None:
    made = backend(model_dir, 8)
    image_token = made.model.config.image_token_id
    head = made.model.lm_head.weight
    with torch.no_grad():
        made.model.lm_head.weight = torch.nn.Parameter(head.clone())
        made.model.lm_head.weight[image_token] = 50 * made.model.lm_head.weight.abs().max()
    seen: list[int] = []
    keep = made._completion
    made._completion = lambda ids: seen.extend(ids) or keep(ids)  # type: ignore[method-assign]
    made.generate(requests(3, Sampling(temperature=1.0, samples=2, max_tokens=8)))
    assert seen and image_token not in seen


def test_a_batch_too_large_for_the_gpu_says_what_to_set(
    model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backend(model_dir, 8)
    monkeypatch.setattr(made, "_answer", _out_of_memory)
    with pytest.raises(ModelError, match=r"8 answers at once .*halve runtime\.eval_batch_size"):
        made.generate(requests(9, Sampling(max_tokens=4)))


def _out_of_memory(batch: object) -> None:
    raise torch.OutOfMemoryError


def test_row_noise_samples_the_softmax() -> None:
    logits = torch.tensor([2.0, 0.5, 0.0, -1.0])
    rows = 20_000
    noise = RowNoise(range(rows), 1.0)
    drawn = noise(torch.empty(rows, 0), logits.expand(rows, -1)).argmax(-1)
    shares = torch.bincount(drawn, minlength=4) / rows
    assert shares.tolist() == pytest.approx(logits.softmax(-1).tolist(), abs=0.012)


def test_an_adapter_of_another_model_is_one_clear_line(model_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA"}')
    with pytest.raises(ModelError, match=r"does not fit the model .*rebuild lora_checkpoints"):
        make(RUNTIME, TASK, model_dir, tmp_path)
