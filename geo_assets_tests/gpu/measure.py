"""Measures the pod's settings on one GPU in under ten minutes, with random weights and no download.

    python -m geo_assets_tests.gpu.measure --profile pod --folder /tmp/measure --steps 6

It builds a model of the profile's shape with random weights and a small tokenizer, draws photos of OSV-5M's
size, and runs the product's own code on them: GRPO with vLLM inside the trainer (seconds a step, peak memory,
rollout audit) and the vLLM backend (start, tokens a second, memory). Random weights answer at full length, so
times are upper bounds. `--tiny` takes a small model of the same family, to test the script without a GPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from geo_assets.profile import load_profile
from geo_assets.settings import Settings

PHOTO_PX = (683, 512)
PHOTOS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--profile", default="pod")
    parser.add_argument("--folder", type=Path, required=True, help="scratch folder; the 4B model takes 9 GB")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--requests", type=int, default=256)
    parser.add_argument(
        "--tokens", type=int, default=128, help="length of an answer in the backend's measurement"
    )
    parser.add_argument("--tiny", action="store_true", help="a small model of the same family")
    parser.add_argument("--part", choices=("training", "generation"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    overrides = {"GEO_RUNTIME__TRACKER": "none", "GEO_SMOKE__MIN_FORMAT_RATE": "0.0"}
    overrides["GEO_SMOKE__STEPS"] = str(arguments.steps)
    settings = load_profile(arguments.profile, overrides)
    if arguments.part:
        folders = {name: arguments.folder / name for name in ("warm_start", "train_learnable")}
        if arguments.part == "training":
            figures = measure_training(settings, folders, arguments.folder / "smoke")
        else:
            figures = measure_generation(settings, folders, arguments.requests, arguments.tokens)
        (arguments.folder / f"{arguments.part}.json").write_text(json.dumps(figures), encoding="utf-8")
        return
    prepare(settings, arguments.folder, arguments.tiny)
    # Each part is a process of its own: only its end gives all of the GPU's memory back.
    found: dict[str, Any] = {"machine": machine(), "profile": arguments.profile, "tiny": arguments.tiny}
    for part in ("training", "generation"):
        command = [sys.executable, "-m", "geo_assets_tests.gpu.measure", *sys.argv[1:], "--part", part]
        subprocess.run(command, check=True)
        found[part] = json.loads((arguments.folder / f"{part}.json").read_text(encoding="utf-8"))
    (arguments.folder / "figures.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found, indent=1))


def machine() -> dict[str, Any]:
    import torch

    if not torch.cuda.is_available():
        return {"gpu": None}
    properties = torch.cuda.get_device_properties(0)
    return {
        "gpu": properties.name,
        "memory_gib": round(properties.total_memory / 2**30, 1),
        "torch": torch.__version__,
    }


def prepare(settings: Settings, folder: Path, tiny: bool) -> None:
    """Artifact folders as training reads them: `warm_start/model` and `train_learnable`."""
    import torch

    warm_start, learnable = folder / "warm_start", folder / "train_learnable"
    (learnable / "images").mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    model, processor = random_model(settings, tiny)
    model.save_pretrained(warm_start / "model")
    processor.save_pretrained(warm_start / "model")
    print(f"a model of {sum(p.numel() for p in model.parameters()) / 1e9:.2f} billion random weights, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    del model
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    write_rows(learnable)


def random_model(settings: Settings, tiny: bool) -> tuple[Any, Any]:
    """A model of the profile's shape with random weights, and a processor with a small tokenizer."""
    import torch
    from transformers import AutoModelForImageTextToText, GenerationConfig

    from geo_assets.models.published import configuration
    from geo_assets.models.tiny import build_model, build_processor
    from geo_assets.settings import BaseModelSection
    from geo_assets.task.prompt import messages
    from geo_assets.world.clues import corpus

    task = settings.task
    prompt = json.dumps(list(messages(task.prompt)))
    processor = build_processor([*corpus(0, 500), *[prompt] * 20], 700, task.min_cells, task.max_cells)
    small = build_model(processor, BaseModelSection())
    config = configuration(settings.base_model.repo)
    linear_attention = getattr(config, "model_type", None) == "qwen3_5"
    if tiny and not linear_attention:
        return small, processor
    if tiny:
        config = small_qwen35(small.config)
    for name in ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id"):
        setattr(config, name, getattr(small.config, name))
    config.text_config.pad_token_id = processor.tokenizer.pad_token_id
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = AutoModelForImageTextToText.from_config(config, dtype=torch.bfloat16)
    torch.set_default_dtype(torch.float32)
    model.generation_config = GenerationConfig(**small.generation_config.to_diff_dict())
    return model.eval(), processor


def small_qwen35(other: Any) -> Any:
    """Four layers of Qwen3.5, three of them linear attention, with the vocabulary of `other`."""
    from transformers import Qwen3_5Config

    text = {
        "vocab_size": other.text_config.vocab_size, "hidden_size": 128, "intermediate_size": 256,
        "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "linear_num_key_heads": 4, "linear_num_value_heads": 4, "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
        "rope_parameters": {
            "rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.25,
            "mrope_section": [2, 1, 1], "mrope_interleaved": True,
        },
    }  # fmt: skip
    vision = {
        "depth": 2, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "out_hidden_size": 128,
        "num_position_embeddings": 144,
    }  # fmt: skip
    return Qwen3_5Config(text_config=text, vision_config=vision, tie_word_embeddings=True)


def write_rows(folder: Path) -> None:
    """Photos of noise with the size of OSV-5M's, and the columns that training reads."""
    import polars as pl

    generator = np.random.default_rng(0)
    rows = []
    for index in range(PHOTOS):
        coarse = generator.integers(0, 255, (16, 21, 3), dtype=np.uint8)
        path = f"images/{index:05d}.jpg"
        Image.fromarray(coarse).resize(PHOTO_PX, Image.Resampling.BICUBIC).save(folder / path, quality=85)
        rows.append(
            {
                "id": f"{index:05d}", "image_path": path, "latitude": float(index % 60),
                "longitude": float(index), "country_iso2": "FR", "region": None, "city": None,
                "sequence": None, "creator_id": None, "width": PHOTO_PX[0], "height": PHOTO_PX[1],
            }
        )  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None)
    frame.write_parquet(folder / "train_learnable.parquet")


def measure_training(settings: Settings, folders: Mapping[str, Path], out: Path) -> dict[str, Any]:
    """A smoke test: seconds a step from the fifth step on, memory, audit."""
    from geo_assets.graph import GRAPH, restricted
    from geo_assets.workers import train
    from geo_assets.workers.harness import Job

    out.mkdir(exist_ok=True)
    job = Job("smoke_test", out, restricted(GRAPH["smoke_test"], settings), upstream=dict(folders))
    began = time.monotonic()
    train.main(job)
    return {
        **job.collected,
        "seconds": round(time.monotonic() - began, 1),
        "gpu_memory_used_gib": gpu_memory_used_gib(),
    }


def measure_generation(
    settings: Settings, folders: Mapping[str, Path], n: int, tokens: int
) -> dict[str, Any]:
    """Tokens and photos a second of the vLLM backend, sampling, after one small call that warms it up."""
    from geo_assets.backends.base import Sampling
    from geo_assets.backends.vllm import VllmBackend
    from geo_assets.workers import scoring

    began = time.monotonic()
    backend = VllmBackend(settings.runtime, settings.task, folders["warm_start"] / "model")
    started = time.monotonic()
    rows = scoring.rows_of(folders["train_learnable"])
    sampling = Sampling(1.0, 1.0, 1, tokens, 0)
    requests = [
        request
        for turn in range(-(-n // len(rows)))
        for request in scoring.requests_of(
            folders["train_learnable"],
            [{**row, "id": f"{row['id']}-{turn}"} for row in rows],
            settings.task,
            sampling,
        )
    ][:n]
    backend.generate(requests[:8])
    warm = time.monotonic()
    made = sum(completion.n_tokens for row in backend.generate(requests) for completion in row)
    seconds = time.monotonic() - warm
    memory = gpu_memory_used_gib()
    backend.close()
    return {
        "start_seconds": round(started - began, 1),
        "answers": len(requests),
        "tokens_per_second": round(made / seconds, 1),
        "photos_per_second": round(len(requests) / seconds, 2),
        "gpu_memory_used_gib": memory,
    }


def gpu_memory_used_gib() -> float | None:
    """Memory in use on the GPU by all processes, engine included."""
    import torch

    if not torch.cuda.is_available():
        return None
    free, total = torch.cuda.mem_get_info()
    return round((total - free) / 2**30, 2)


if __name__ == "__main__":
    main()
