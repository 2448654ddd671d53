"""Generation with vLLM: continuous batching in an engine process of its own, with or without an adapter.

The engine sees exactly what the transformers backend sees: photos at their final size, the same prompt, the
same numbers of visual tokens; the counts are compared for every answer. Every sample has its own seed. What
it leaves out: the engine inside the trainer (`workers/rollout_engine.py`) and any fall-back: a profile that
asks for vLLM gets vLLM or an error.
"""

from __future__ import annotations

import json
import logging
import os
import time
import weakref
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL.Image import Image

from geo_assets.backends.base import Completion, Request, Sampling
from geo_assets.errors import ModelError
from geo_assets.models.loading import PIXELS_PER_CELL, Photos, device_of, load_processor
from geo_assets.settings import Runtime, Task

logger = logging.getLogger(__name__)

MOST_PHOTOS = 3
"""Photos in one prompt: the views of a panorama."""
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Ranks that vLLM has room for; an adapter takes the next one up."""
SUPPRESSED = -100.0
CHUNKS_IN_FLIGHT = 4
PROMPTS_COMPARED = 8
GIB_OF_CPU_CACHE = "1"
TOKENS_OF_A_CPU_BATCH = 8192
MOST_OF_A_MESSAGE = 240


class VllmBackend:
    """Answers requests with a vLLM engine. Call `close` to end the engine's process and free its memory."""

    def __init__(
        self, runtime: Runtime, task: Task, model_dir: Path, adapter_dir: Path | None = None
    ) -> None:
        llm_class = import_vllm(runtime)
        options = engine_options(runtime, task, model_dir, runtime.vllm_eval_memory_share)
        if device_of(runtime) == "cpu":
            # A seeded request whose prompt is read in two parts fails on a CPU: generators cannot step back.
            whole = max(runtime.vllm_max_model_length, TOKENS_OF_A_CPU_BATCH)
            options |= {"enable_chunked_prefill": False, "max_num_batched_tokens": whole}
        self._lora = None
        if adapter_dir is not None:
            options |= {
                "enable_lora": True,
                "max_loras": 1,
                "max_lora_rank": room_for(adapter_rank(adapter_dir)),
            }
            self._lora = _lora_request(adapter_dir)
        began = time.monotonic()
        with remedies():
            self._llm = llm_class(
                model=str(model_dir), gpu_memory_utilization=runtime.vllm_eval_memory_share, **options
            )
        logger.info("the vLLM engine took %.0f s to start", time.monotonic() - began)
        self._end = weakref.finalize(self, _shut_down, self._llm)
        self.processor = load_processor(model_dir, task)
        self._photos = Photos(task)
        self._chunk = runtime.eval_batch_size * CHUNKS_IN_FLIGHT
        self._stop = stop_tokens(model_dir)
        self._image_token = self.processor.image_token_id
        self._unchecked = PROMPTS_COMPARED

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        """See `Backend.generate`. Progress goes to the log after each chunk."""
        answers: list[list[Completion]] = []
        total, tokens, began = sum(r.sampling.samples for r in requests), 0, time.monotonic()
        for chunk in self._chunks(requests):
            made = self._answer(chunk)
            answers += made
            tokens += sum(completion.n_tokens for completions in made for completion in completions)
            done, seconds = sum(map(len, answers)), time.monotonic() - began
            if done < total:
                logger.info(
                    "%d of %d answers, %.1f a second, %.0f tokens a second, %.0f s left",
                    done, total, done / seconds, tokens / seconds, (total - done) * seconds / done,
                )  # fmt: skip
        return answers

    def close(self) -> None:
        """See `Backend.close`. Happens by itself when the backend is dropped."""
        self._end()

    def _chunks(self, requests: Sequence[Request]) -> Iterator[Sequence[Request]]:
        for first in range(0, len(requests), self._chunk):
            yield requests[first : first + self._chunk]

    def _answer(self, requests: Sequence[Request]) -> list[list[Completion]]:
        photos = [[self._open(photo) for photo in request.photos] for request in requests]
        texts = [
            self.processor.apply_chat_template(
                list(request.messages), add_generation_prompt=True, tokenize=False
            )
            for request in requests
        ]
        prompts = [
            {"prompt": text, "multi_modal_data": {"image": group}} if group else {"prompt": text}
            for text, group in zip(texts, photos, strict=True)
        ]
        outputs = self._llm.generate(
            prompts,
            [self._parameters(request) for request in requests],
            use_tqdm=False,
            lora_request=self._lora,
        )
        self._compare_prompts(texts, photos, outputs)
        return [[self._completion(sample) for sample in output.outputs] for output in outputs]

    def _open(self, photo: Path | Image) -> Image:
        return self._photos(photo) if isinstance(photo, Path) else photo

    def _parameters(self, request: Request) -> Any:
        from vllm import SamplingParams

        sampling = request.sampling
        return SamplingParams(
            n=sampling.samples,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            max_tokens=sampling.max_tokens,
            seed=seed_of(request.key, sampling) if sampling.temperature > 0 else None,
            stop_token_ids=self._stop,
            logit_bias={self._image_token: SUPPRESSED},
            detokenize=False,
        )

    def _completion(self, sample: Any) -> Completion:
        ids = list(sample.token_ids)
        ended = bool(ids) and ids[-1] in self._stop
        text = self.processor.tokenizer.decode(ids[:-1] if ended else ids, skip_special_tokens=True)
        return Completion(text, len(ids), "stop" if ended else "length")

    def _compare_prompts(
        self, texts: Sequence[str], photos: Sequence[Sequence[Image]], outputs: Sequence[Any]
    ) -> None:
        """Refuse answers to a prompt that the trainer's processor would not have made.

        Raises:
            ModelError: the engine saw another number of visual tokens, or other tokens.
        """
        for group, output in zip(photos, outputs, strict=True):
            expected = sum(photo.width * photo.height // PIXELS_PER_CELL for photo in group)
            seen = list(output.prompt_token_ids).count(self._image_token)
            if seen != expected:
                raise ModelError(
                    f"vLLM made {seen} visual tokens of {len(group)} photos, the trainer makes {expected}: "
                    "another pixel budget; rebuild base_model with force"
                )
        compared = range(min(self._unchecked, len(outputs)))
        self._unchecked -= len(compared)
        for index in compared:
            inputs = self.processor(text=[texts[index]], images=list(photos[index]) or None)
            if list(inputs["input_ids"][0]) != list(outputs[index].prompt_token_ids):
                raise ModelError(
                    "vLLM's prompt tokens differ from the trainer's; install the versions of "
                    "requirements.lock, or set runtime.backend: transformers"
                )


def import_vllm(runtime: Runtime) -> Any:
    """vLLM's LLM class, after setting the variables that it reads once.

    Raises:
        ModelError: vLLM is not installed.
    """
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_WORKER_MULTIPROCESSING_METHOD", "spawn")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    # The runner that a CPU has too, so that what is tested without a GPU is what runs on one.
    os.environ.setdefault("VLLM_USE_V2_MODEL_RUNNER", "0")
    if device_of(runtime) == "cpu":
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", GIB_OF_CPU_CACHE)
    try:
        from vllm import LLM
    except ImportError as error:
        raise ModelError(
            f"runtime.backend is vllm, which cannot be imported ({error}); install requirements.lock on a "
            "GPU machine, run runbook/cpu_twin.sh elsewhere, or set runtime.backend: transformers"
        ) from error
    return LLM


def engine_options(runtime: Runtime, task: Task, model_dir: Path, memory_share: float) -> dict[str, Any]:
    """What an engine is told beside its model: dtype as saved, photo sizes, lengths, caps on photos."""
    cpu = device_of(runtime) == "cpu"
    return {
        "dtype": saved_dtype(model_dir),
        "max_model_len": runtime.vllm_max_model_length,
        "max_num_seqs": runtime.eval_batch_size,
        "limit_mm_per_prompt": {"image": MOST_PHOTOS, "video": 0},
        "mm_processor_kwargs": {"size": pixel_budget(task)},
        "enforce_eager": cpu,
        "seed": 0,
    }


def pixel_budget(task: Task) -> dict[str, int]:
    """The image processor's `size`: least and most pixels of a photo."""
    return {
        "shortest_edge": task.min_cells * PIXELS_PER_CELL,
        "longest_edge": task.max_cells * PIXELS_PER_CELL,
    }


def saved_dtype(model_dir: Path) -> str:
    """The dtype that the weights were saved in. vLLM's own `auto` would turn float32 into bfloat16."""
    config = json.loads((model_dir / "config.json").read_text(encoding="utf-8"))
    named = config.get("dtype") or config.get("torch_dtype") or config.get("text_config", {}).get("dtype")
    return str(named or "bfloat16")


def stop_tokens(model_dir: Path) -> list[int]:
    """End tokens of the model's generation configuration."""
    path = model_dir / "generation_config.json"
    found = json.loads(path.read_text(encoding="utf-8")).get("eos_token_id") if path.is_file() else None
    if found is None:
        raise ModelError(
            f"{path} names no eos_token_id; choose a model saved with its generation configuration"
        )
    return [found] if isinstance(found, int) else list(found)


def seed_of(key: str, sampling: Sampling) -> int:
    """Seed of a request's first sample; vLLM counts on from it for the others.

    >>> seed_of("a", Sampling(seed=1)) != seed_of("b", Sampling(seed=1))
    True
    """
    return zlib.crc32(f"{sampling.seed}/{key}".encode())


def adapter_rank(adapter_dir: Path) -> int:
    """Rank of a saved adapter, after making sure that vLLM can use all of it.

    Raises:
        ModelError: there is no adapter, or it reaches into the vision tower (vLLM would drop that part).
    """
    from safetensors import safe_open

    try:
        rank = int(json.loads((adapter_dir / "adapter_config.json").read_text(encoding="utf-8"))["r"])
        with safe_open(adapter_dir / "adapter_model.safetensors", "pt") as file:
            visual = [name for name in file.keys() if "visual" in name]  # noqa: SIM118 - no mapping
    except (OSError, KeyError, ValueError) as error:
        raise ModelError(f"no adapter in {adapter_dir} ({error}); rebuild lora_checkpoints") from error
    if visual:
        raise ModelError(
            f"the adapter in {adapter_dir} has {len(visual)} tensors in the vision tower, which vLLM drops "
            "without a word; set train.lora.exclude: '.*visual.*' and train again"
        )
    return rank


def room_for(rank: int) -> int:
    """The smallest rank that vLLM has room for and that holds `rank`.

    >>> room_for(4), room_for(32), room_for(33)
    (8, 32, 64)
    """
    return next(room for room in LORA_RANKS if room >= rank)


def _lora_request(adapter_dir: Path) -> Any:
    from vllm.lora.request import LoRARequest

    return LoRARequest("policy", 1, str(adapter_dir))


def _shut_down(llm: Any) -> None:
    """End the engine's process. Its memory is free once it is gone."""
    core = getattr(llm.llm_engine, "engine_core", None)
    if core is not None:
        core.shutdown()


class remedies:  # reads as a statement: `with remedies():`
    """Turns what vLLM says when it cannot start into one line with the remedy."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None or not isinstance(error, Exception):
            return
        text = " ".join(str(error).split())[:MOST_OF_A_MESSAGE]
        raise ModelError(
            f"vLLM cannot start ({type(error).__name__}: {text}); read its lines above. If the "
            "GPU's memory is short, lower runtime.vllm_eval_memory_share (evaluation) or set "
            "runtime.vllm_memory_share: 0.25 (training)"
        ) from error
