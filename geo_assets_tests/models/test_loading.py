"""Photos at their final size, the start model's folder, and clear errors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from geo_assets.errors import ModelError
from geo_assets.models import loading
from geo_assets.settings import Runtime, Task


@pytest.mark.parametrize(
    ("size", "cells", "expected"),
    [
        ((683, 512), (1, 22), (160, 128)),
        ((512, 800), (256, 1024), (512, 800)),
        ((1024, 768), (256, 1024), (1024, 768)),
        ((1016, 561), (256, 1024), (1024, 576)),
        ((4000, 3000), (256, 1024), (1152, 864)),
        ((64, 48), (256, 1024), (608, 448)),
    ],
)
def test_fitted_size_is_what_the_processor_would_choose(
    size: tuple[int, int], cells: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert loading.fitted_size(*size, *cells) == expected
    assert loading.fitted_size(*expected, *cells) == expected, "fitting twice changes nothing"


def test_a_photo_is_opened_at_its_final_size(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (512, 683, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "a.jpg")
    Image.fromarray(noise).convert("L").save(tmp_path / "grey.png")
    for name in ("a.jpg", "grey.png"):
        photo = loading.open_photo(tmp_path / name, 1, 22)
        assert (photo.mode, photo.size) == ("RGB", (160, 128))


def test_photos_are_kept_within_their_limit(tmp_path: Path) -> None:
    paths = []
    for shade in range(4):
        Image.new("RGB", (64, 64), (shade, 0, 0)).save(tmp_path / f"{shade}.png")
        paths.append(tmp_path / f"{shade}.png")
    photos = loading.Photos(Task(min_cells=1, max_cells=4), limit_bytes=2 * 64 * 64 * 3)
    first = photos(paths[0])
    assert photos(paths[0]) is first
    assert [photo.getpixel((0, 0))[0] for photo in photos.all(paths)] == [0, 1, 2, 3]
    assert len(photos._kept) == 2 and photos(paths[0]) is not first


def test_start_model_dir_follows_a_pass_through(tmp_path: Path) -> None:
    warm, base = tmp_path / "warm_start" / "ab", tmp_path / "base_model" / "cd" / "model"
    warm.mkdir(parents=True)
    base.mkdir(parents=True)
    assert loading.start_model_dir(warm) == warm / "model"
    (warm / "passthrough.json").write_text(json.dumps({"model": "../../base_model/cd/model"}))
    assert loading.start_model_dir(warm) == base


def test_errors_end_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match=r"no processor in .*rebuild base_model with force"):
        loading.load_processor(tmp_path, Task())
    with pytest.raises(ModelError, match=r"no loadable model in .*rebuild base_model with force"):
        loading.load_model(tmp_path, Runtime(device="cpu"))
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ModelError, match=r"torch sees no GPU.*runtime\.device: auto"):
        loading.device_of(Runtime(device="cuda"))


def test_flash_attention_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert loading.attention_of("flash_attention_2", "cpu") == "sdpa"
    assert loading.attention_of("flash_attention_2", "cuda") == "sdpa"
    assert loading.attention_of("eager", "cuda") == "eager"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert loading.attention_of("flash_attention_2", "cuda") == "flash_attention_2"
