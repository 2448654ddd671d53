"""Loading models, processors, adapters and photos, the same way everywhere.

A photo is brought to its final size once, when it is opened (`Photos`), so that filter, trainer, every
backend and evaluation see the same pixels and the same number of visual tokens. Sizes are in cells of
32 x 32 px: one cell is one visual token. What it leaves out: how text is generated (`backends`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MethodType
from typing import Any

from PIL import Image

from geo_assets.errors import ModelError
from geo_assets.settings import Runtime, Task

logger = logging.getLogger(__name__)

CELL_PX = 32
PIXELS_PER_CELL = CELL_PX * CELL_PX
MODEL_DIR = "model"
PASSTHROUGH = "passthrough.json"


def device_of(runtime: Runtime) -> str:
    """`cuda` or `cpu`; `auto` takes the GPU where there is one.

    Raises:
        ModelError: the profile asks for a GPU that torch does not see.
    """
    import torch

    if runtime.device == "cuda" and not torch.cuda.is_available():
        raise ModelError(
            "torch sees no GPU, but runtime.device is cuda; set runtime.device: auto or install a CUDA torch"
        )
    if runtime.device == "cpu" or not torch.cuda.is_available():
        # One thread: on a shared machine two are slower than one, and the result must not depend on it.
        torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
        return "cpu"
    return "cuda"


def start_model_dir(warm_start: Path) -> Path:
    """The folder of the model that RL starts from, given the artifact of warm_start.

    Where warm_start passed the base model through, its `passthrough.json` says where that is.
    """
    passthrough = warm_start / PASSTHROUGH
    if passthrough.exists():
        return (warm_start / json.loads(passthrough.read_text())["model"]).resolve()
    return warm_start / MODEL_DIR


def attention_of(preferred: str, device: str) -> str:
    """`preferred`, or `sdpa` where flash attention cannot run."""
    if preferred != "flash_attention_2":
        return preferred
    if device == "cuda" and importlib.util.find_spec("flash_attn") is not None:
        return preferred
    if device == "cuda":
        logger.info("flash-attn is not installed: attention falls back to sdpa")
    return "sdpa"


def load_processor(folder: Path, task: Task) -> Any:
    """The processor in `folder` with the pixel budget of `task`, padding on the left.

    Raises:
        ModelError: the folder holds no processor.
    """
    from transformers import AutoProcessor

    try:
        processor = AutoProcessor.from_pretrained(folder, padding_side="left", local_files_only=True)
    except (OSError, ValueError) as error:
        raise ModelError(f"no processor in {folder} ({error}); rebuild base_model with force") from error
    processor.tokenizer.padding_side = "left"
    processor.image_processor.size = {
        "shortest_edge": task.min_cells * PIXELS_PER_CELL,
        "longest_edge": task.max_cells * PIXELS_PER_CELL,
    }
    return processor


def load_model(
    folder: Path, runtime: Runtime, dtype: str = "auto", attention: str = "flash_attention_2"
) -> Any:
    """The model in `folder`, on the device of `runtime`, in evaluation mode.

    `dtype` is `auto` (as the model was saved), `float32` or `bfloat16`.

    Raises:
        ModelError: the folder holds no loadable model.
    """
    from transformers import AutoModelForImageTextToText
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    device = device_of(runtime)
    try:
        model: Any = AutoModelForImageTextToText.from_pretrained(
            folder,
            dtype=dtype,
            attn_implementation=attention_of(attention, device),
            local_files_only=True,
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"no loadable model in {folder} ({error}); rebuild base_model with force") from error
    _embed_patches_by_matrix(model)
    return model.to(device).eval()


def _embed_patches_by_matrix(model: Any) -> None:
    """Compute the patch embedding as the matrix product that it is.

    The kernel of Qwen3-VL's Conv3d equals its stride, and as a convolution it is several times slower.
    Weights, names and results stay the same.
    """
    embedding: Any = getattr(getattr(getattr(model, "model", None), "visual", None), "patch_embed", None)
    convolution = getattr(embedding, "proj", None)
    if convolution is not None and tuple(convolution.kernel_size) == tuple(convolution.stride):
        embedding.forward = MethodType(_embed_patches, embedding)


def _embed_patches(self: Any, patches: Any) -> Any:
    from torch.nn.functional import linear

    weight = self.proj.weight.flatten(1)
    return linear(patches.view(-1, weight.shape[1]).to(weight.dtype), weight, self.proj.bias)


@contextlib.contextmanager
def merged_for_generation(model: Any) -> Iterator[None]:
    """Inside, `model` generates with its LoRA merged; after, its matrices are the very same tensors again.

    One matrix product instead of three in each adapted layer. Only for float32: in bfloat16 the sum
    would round a young adapter away. PEFT's own merge and unmerge would leave rounding behind.
    """
    layers = [layer for layer in model.modules() if getattr(layer, "lora_A", None)]
    plain = [layer.get_base_layer().weight.data for layer in layers]
    for layer, weight in zip(layers, plain, strict=True):
        layer.get_base_layer().weight.data = weight + layer.get_delta_weight("default")
    try:
        with model.disable_adapter():
            yield
    finally:
        for layer, weight in zip(layers, plain, strict=True):
            layer.get_base_layer().weight.data = weight


def attach_adapter(model: Any, folder: Path) -> Any:
    """`model` with the LoRA adapter of `folder`, for inference."""
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, folder).eval()
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"the adapter in {folder} does not fit the model ({error}); rebuild lora_checkpoints"
        ) from error


def fitted_size(width: int, height: int, min_cells: int, max_cells: int) -> tuple[int, int]:
    """(width, height) in px that Qwen3-VL's processor gives a photo under this budget.

    >>> fitted_size(683, 512, 1, 22)
    (160, 128)
    """
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

    rows, columns = smart_resize(
        height, width, CELL_PX, min_pixels=min_cells * PIXELS_PER_CELL, max_pixels=max_cells * PIXELS_PER_CELL
    )
    return columns, rows


def fit(photo: Image.Image, min_cells: int, max_cells: int) -> Image.Image:
    """`photo` as RGB at its fitted size, so that the processor has nothing left to resize."""
    size = fitted_size(*photo.size, min_cells, max_cells)
    photo.draft("RGB", size)  # an unread JPEG is decoded at half its size where that is enough
    return photo.convert("RGB").resize(size, Image.Resampling.BICUBIC)


def open_photo(path: Path, min_cells: int, max_cells: int) -> Image.Image:
    """The photo at `path`, fitted."""
    with Image.open(path) as photo:
        return fit(photo, min_cells, max_cells)


class Photos:
    """Opens photos at their fitted size and keeps recent ones, up to `limit_bytes` of pixels."""

    def __init__(self, task: Task, limit_bytes: int = 2**28) -> None:
        self._budget = (task.min_cells, task.max_cells)
        self._limit_bytes = limit_bytes
        self._kept: dict[Path, Image.Image] = {}
        self._bytes = 0

    def __call__(self, path: Path) -> Image.Image:
        if path not in self._kept:
            photo = open_photo(path, *self._budget)
            self._bytes += photo.width * photo.height * 3
            self._kept[path] = photo
            while self._bytes > self._limit_bytes and len(self._kept) > 1:
                oldest = self._kept.pop(next(iter(self._kept)))
                self._bytes -= oldest.width * oldest.height * 3
        return self._kept[path]

    def all(self, paths: Iterable[Path]) -> tuple[Image.Image, ...]:
        return tuple(self(path) for path in paths)


def adapter_names(model: Any) -> list[str]:
    """Names of the modules that carry LoRA weights."""
    return sorted(name for name, module in model.named_modules() if getattr(module, "lora_A", None))


def refuse_visual_adapter(model: Any, targets: Iterable[str]) -> list[str]:
    """The LoRA module names of `model`, after making sure that none is in the vision tower.

    Raises:
        ModelError: no module was matched, or one of them belongs to the vision tower.
    """
    names = adapter_names(model)
    if not names:
        raise ModelError(
            f"LoRA matched no module; train.lora.targets is {', '.join(targets)}: name modules the model has"
        )
    visual = [name for name in names if "visual" in name]
    if visual:
        raise ModelError(
            f"{len(visual)} LoRA modules are in the vision tower, such as {visual[0]}; "
            "set train.lora.exclude: '.*visual.*'"
        )
    return names


def files_of(folder: Path) -> Mapping[str, int]:
    """Relative path and size in bytes of every file under `folder`, sorted."""
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
