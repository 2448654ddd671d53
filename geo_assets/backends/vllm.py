"""Generation with vLLM: continuous batching in an engine process of its own, with or without an adapter.

The engine sees exactly what the transformers backend sees: photos at their final size, the same prompt, the
same numbers of visual tokens; the counts are compared for every answer. Every sample has its own seed. What
it leaves out: the engine inside the trainer (`workers/rollout_engine.py`) and any fall-back: a profile that
asks for vLLM gets vLLM or an error.
"""

from __future__ import annotations

import logging
import time
import weakref
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL.Image import Image

from geo_assets.backends import vllm_engine
from geo_assets.backends.base import Completion, Request, Sampling, report_answers
from geo_assets.errors import ModelError
from geo_assets.models import saved
from geo_assets.models.loading import PIXELS_PER_CELL, Photos, device_of, load_processor
from geo_assets.settings import Runtime, Task

logger = logging.getLogger(__name__)

CHUNKS_IN_FLIGHT = 4
PROMPTS_COMPARED = 8
TOKENS_OF_A_CPU_BATCH = 8192


class VllmBackend:
    """Answers requests with a vLLM engine. Call `close` to end the engine's process and free its memory."""

    def __init__(
        self, runtime: Runtime, task: Task, model_dir: Path, adapter_dir: Path | None = None
    ) -> None:
        llm_class = vllm_engine.import_vllm(runtime)
        options = vllm_engine.engine_options(runtime, task, model_dir, runtime.vllm_eval_memory_share)
        if device_of(runtime) == "cpu":
            # A seeded request whose prompt is read in two parts fails on a CPU: generators cannot step back.
            whole = max(runtime.vllm_max_model_length, TOKENS_OF_A_CPU_BATCH)
            options |= {"enable_chunked_prefill": False, "max_num_batched_tokens": whole}
            if saved.has_linear_attention(model_dir):  # vLLM caches states only where prompts are in parts
                options["enable_prefix_caching"] = False
        self._lora = None
        if adapter_dir is not None:
            options |= {
                "enable_lora": True,
                "max_loras": 1,
                "max_lora_rank": vllm_engine.room_for(vllm_engine.adapter_rank(adapter_dir)),
            }
            self._lora = _lora_request(adapter_dir, 1)
        began = time.monotonic()
        with vllm_engine.remedies():
            self._llm = llm_class(
                model=str(model_dir), gpu_memory_utilization=runtime.vllm_eval_memory_share, **options
            )
        logger.info("the vLLM engine took %.0f s to start", time.monotonic() - began)
        self._end = weakref.finalize(self, _shut_down, self._llm)
        self.processor = load_processor(model_dir, task)
        self._photos = Photos(task)
        self._chunk = runtime.eval_batch_size * CHUNKS_IN_FLIGHT
        self._stop = saved.stop_tokens(model_dir)
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
            if (done := sum(map(len, answers))) < total:
                report_answers(logger, done, total, tokens, time.monotonic() - began)
        return answers

    def use_adapter(self, adapter_dir: Path) -> None:
        """Answer with another adapter of the shape that the engine was started with, from now on."""
        if self._lora is None:
            raise ModelError("this engine was started without an adapter; start one with it")
        if Path(self._lora.lora_path) != adapter_dir:  # vLLM knows an adapter by its number alone
            self._lora = _lora_request(adapter_dir, self._lora.lora_int_id + 1)

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
            logit_bias={self._image_token: vllm_engine.SUPPRESSED},
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


def seed_of(key: str, sampling: Sampling) -> int:
    """Seed of a request's first sample; vLLM counts on from it for the others.

    >>> seed_of("a", Sampling(seed=1)) != seed_of("b", Sampling(seed=1))
    True
    """
    return zlib.crc32(f"{sampling.seed}/{key}".encode())


def _lora_request(adapter_dir: Path, number: int) -> Any:
    from vllm.lora.request import LoRARequest

    return LoRARequest(f"policy-{number}", number, str(adapter_dir))


def _shut_down(llm: Any) -> None:
    """End the engine's process. Its memory is free once it is gone."""
    core = getattr(llm.llm_engine, "engine_core", None)
    if core is not None:
        core.shutdown()
