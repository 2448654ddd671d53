"""The vLLM backend answers as the transformers backend does."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from geo_assets.backends.base import Sampling
from geo_assets.errors import ModelError
from geo_assets_tests.small_demo import Demo, requests_of

pytestmark = [pytest.mark.slow, pytest.mark.vllm]


@pytest.fixture(scope="module")
def transformers_backend(demo: Demo):
    from geo_assets.backends.transformers import TransformersBackend

    return TransformersBackend.load(demo.settings.runtime, demo.settings.task, demo.model)


@pytest.fixture(scope="module")
def vllm_backend(demo: Demo, adapter: Path) -> Iterator[object]:
    from geo_assets.backends.vllm import VllmBackend

    backend = VllmBackend(demo.settings.runtime, demo.settings.task, demo.model, adapter)
    yield backend
    backend.close()


@pytest.mark.parametrize("photos", [1, 3])
def test_greedy_answers_with_an_adapter_are_the_same(
    demo: Demo, adapter: Path, vllm_backend, photos: int
) -> None:
    from geo_assets.backends.transformers import TransformersBackend

    reference = TransformersBackend.load(demo.settings.runtime, demo.settings.task, demo.model, adapter)
    requests = requests_of(demo, 12, photos=photos)
    assert vllm_backend.generate(requests) == reference.generate(requests)


@pytest.mark.parametrize("photos", [1, 3])
def test_greedy_answers_without_it_are_the_same(
    demo: Demo, transformers_backend, vllm_backend, photos: int
) -> None:
    requests = requests_of(demo, 16, photos=photos)
    kept, vllm_backend._lora = vllm_backend._lora, None
    try:
        bare = vllm_backend.generate(requests)
    finally:
        vllm_backend._lora = kept
    assert bare == transformers_backend.generate(requests)
    assert bare != vllm_backend.generate(requests), (
        "the adapter must have an effect, or parity proves nothing"
    )


def test_one_engine_serves_the_adapters_of_a_run(demo: Demo, adapter: Path, tmp_path: Path) -> None:
    """An engine that kept the first adapter would answer alike for both."""
    from safetensors.torch import load_file, save_file

    from geo_assets.backends import with_adapters
    from geo_assets.backends.transformers import TransformersBackend

    other = tmp_path / "checkpoint-2"
    shutil.copytree(adapter, other)
    file = other / "adapter_model.safetensors"
    save_file({name: -w if "lora_B" in name else w for name, w in load_file(file).items()}, file)
    runtime = demo.settings.runtime.model_copy(update={"backend": "vllm"})
    requests, answers = requests_of(demo, 12), []
    folders = [adapter, other, adapter]
    for folder, backend in with_adapters(runtime, demo.settings.task, demo.model, folders):
        answers.append(backend.generate(requests))
        assert folder == folders[len(answers) - 1]
    for folder, given in zip(folders, answers, strict=True):
        reference = TransformersBackend.load(demo.settings.runtime, demo.settings.task, demo.model, folder)
        assert given == reference.generate(requests)
    assert answers[0] != answers[1]


def test_samples_depend_on_the_row_alone(demo: Demo, vllm_backend) -> None:
    requests = requests_of(demo, 8, Sampling(1.0, 1.0, 3, 40, seed=7))
    answers = vllm_backend.generate(requests)
    assert vllm_backend.generate(requests[::-1])[::-1] == answers
    assert vllm_backend.generate(requests[3:5]) == answers[3:5]
    assert all(len(row) == 3 for row in answers)
    assert len({completion.text for row in answers for completion in row}) > 8


def test_a_limit_ends_an_answer(demo: Demo, vllm_backend) -> None:
    requests = requests_of(demo, 4, Sampling(max_tokens=3))
    answers = [row[0] for row in vllm_backend.generate(requests)]
    assert {(answer.n_tokens, answer.finish_reason) for answer in answers} == {(3, "length")}


def test_photos_of_another_size_are_refused(demo: Demo, vllm_backend) -> None:
    """A photo that was not fitted would be resized by the engine's processor, out of the trainer's sight."""
    request = replace(requests_of(demo, 1)[0], photos=(Image.new("RGB", (700, 500)),))
    with pytest.raises(ModelError, match=r"visual tokens of 1 photos, the trainer makes"):
        vllm_backend.generate([request])


def test_an_adapter_in_the_vision_tower_is_refused(demo: Demo, tmp_path: Path) -> None:
    from peft import get_peft_model

    from geo_assets.backends.vllm_engine import adapter_rank
    from geo_assets.models.loading import load_model
    from geo_assets.models.lora_targets import lora_config

    lora = demo.settings.train.lora.model_copy(update={"targets": ("linear_fc1",), "exclude": "nothing"})
    get_peft_model(load_model(demo.model, demo.settings.runtime), lora_config(lora)).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="vision tower, which vLLM drops"):
        adapter_rank(tmp_path)


def test_closing_ends_the_engines_process(demo: Demo) -> None:
    import psutil

    from geo_assets.backends.vllm import VllmBackend

    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    backend = VllmBackend(demo.settings.runtime, demo.settings.task, demo.model)
    assert len(backend.generate(requests_of(demo, 2))) == 2
    backend.close()
    gone = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    left = [p for p in me.children(recursive=True) if p.pid not in before and p.status() not in gone]
    _, alive = psutil.wait_procs(
        [child for child in left if "resource_tracker" not in " ".join(child.cmdline())], timeout=20
    )
    assert alive == []
