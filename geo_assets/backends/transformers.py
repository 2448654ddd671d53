"""Generation with transformers: left-padded batches, greedy or sampled, on CPU or GPU.

Sampling is the Gumbel-max trick with one generator per row, seeded by (seed, row, sample), so a row's
answer depends neither on the batch it is in nor on what ran before. The image placeholder token is
suppressed: a drifting model would otherwise emit it and break the next forward pass.
"""

from __future__ import annotations

import logging
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from PIL.Image import Image
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from geo_assets.backends.base import Completion, Request, Sampling, report_answers
from geo_assets.errors import ModelError
from geo_assets.models.loading import Photos, attach_adapter, load_model, load_processor
from geo_assets.settings import Runtime, Task

logger = logging.getLogger(__name__)

SECONDS_BETWEEN_REPORTS = 10.0


class RowNoise(LogitsProcessor):
    """Adds Gumbel noise of each row's own generator; the arg max is then a sample of the softmax.

    Gumbel (1954): arg max(logits + g) with g = -log(-log(u)) is distributed as softmax(logits).
    """

    def __init__(self, seeds: Sequence[int], temperature: float) -> None:
        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._temperature = temperature

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        width = scores.shape[-1]
        noise = torch.stack([torch.empty(width).exponential_(generator=g) for g in self._generators])
        return scores - noise.to(scores.device, torch.float32).log_()


class Temperature(LogitsProcessor):
    """Divides the logits by the temperature."""

    def __init__(self, temperature: float) -> None:
        self._temperature = temperature

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        return scores / self._temperature


@dataclass(frozen=True)
class _Unit:
    """One sample of one request."""

    request: Request
    index: int
    sample: int

    @property
    def seed(self) -> int:
        return zlib.crc32(f"{self.request.sampling.seed}/{self.request.key}/{self.sample}".encode())


class TransformersBackend:
    """Answers requests with a model in this process."""

    def __init__(self, model: Any, processor: Any, task: Task, batch_size: int) -> None:
        self.model = model
        self.processor = processor
        self._photos = Photos(task)
        self._texts: dict[str, str] = {}
        self._batch_size = batch_size
        tokenizer = processor.tokenizer
        stop = model.generation_config.eos_token_id
        self._stop = set(stop if isinstance(stop, list) else [stop])
        self._pad = tokenizer.pad_token_id
        # The model's own defaults (temperature, top_k, penalties) must not leak into what a request asks for.
        plain = GenerationConfig(
            do_sample=False,
            eos_token_id=sorted(self._stop),
            pad_token_id=self._pad,
            suppress_tokens=[model.config.image_token_id],
        )
        model.generation_config = plain
        if hasattr(model, "get_base_model"):  # a wrapper of PEFT may or may not hand its own on
            model.get_base_model().generation_config = plain

    @classmethod
    def load(
        cls, runtime: Runtime, task: Task, model_dir: Path, adapter_dir: Path | None = None
    ) -> TransformersBackend:
        """The model of `model_dir` with the adapter of `adapter_dir`, if any."""
        model = load_model(model_dir, runtime)
        if adapter_dir is not None:
            model = attach_adapter(model, adapter_dir)
            if model.dtype == torch.float32:  # nothing is lost, and a fifth of the time is won
                model = model.merge_and_unload()
        return cls(model, load_processor(model_dir, task), task, runtime.eval_batch_size)

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        """See `Backend.generate`. Progress goes to the log every ten seconds.

        Raises:
            ModelError: a batch does not fit the GPU's memory.
        """
        answers: list[list[Completion]] = [[] for _ in requests]
        total, done, tokens = sum(r.sampling.samples for r in requests), 0, 0
        began = reported = time.monotonic()
        for batch in self._batches(requests):
            try:
                completions = self._answer(batch)
            except torch.OutOfMemoryError as error:
                raise ModelError(
                    f"{len(batch)} answers at once do not fit the GPU; halve runtime.eval_batch_size"
                ) from error
            for unit, completion in zip(batch, completions, strict=True):
                answers[unit.index].append(completion)
                tokens += completion.n_tokens
            done += len(batch)
            now = time.monotonic()
            if now - reported > SECONDS_BETWEEN_REPORTS:
                reported = now
                report_answers(logger, done, total, tokens, now - began)
        return answers

    def close(self) -> None:
        """See `Backend.close`."""
        self.model = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _batches(self, requests: Sequence[Request]) -> Iterator[list[_Unit]]:
        """Batches of units that share how they are sampled and how many photos they carry."""
        batch: list[_Unit] = []
        for index, request in enumerate(requests):
            for sample in range(request.sampling.samples):
                unit = _Unit(request, index, sample)
                if batch and (len(batch) == self._batch_size or not _alike(batch[0].request, request)):
                    yield batch
                    batch = []
                batch.append(unit)
        if batch:
            yield batch

    def _open(self, photo: Path | Image) -> Image:
        return self._photos(photo) if isinstance(photo, Path) else photo

    @torch.inference_mode()
    def _answer(self, batch: list[_Unit]) -> list[Completion]:
        texts = [self._prompt_text(unit.request.messages) for unit in batch]
        photos = [[self._open(photo) for photo in unit.request.photos] for unit in batch]
        inputs = self.processor(text=texts, images=photos, padding=True, return_tensors="pt").to(
            self.model.device
        )
        sampling = batch[0].request.sampling
        output = self.model.generate(
            **inputs,
            max_new_tokens=sampling.max_tokens,
            logits_processor=_processors(sampling, [unit.seed for unit in batch]),
        )
        return [self._completion(row) for row in output[:, inputs["input_ids"].shape[1] :].tolist()]

    def _prompt_text(self, messages: Sequence[dict[str, Any]]) -> str:
        """The chat as text; a template costs milliseconds and most rows ask the same."""
        key = repr(messages)
        if key not in self._texts:
            self._texts[key] = self.processor.apply_chat_template(
                list(messages), add_generation_prompt=True, tokenize=False
            )
        return self._texts[key]

    def _completion(self, ids: list[int]) -> Completion:
        end = next((place for place, token in enumerate(ids) if token in self._stop), None)
        kept = ids if end is None else ids[:end]
        text = self.processor.tokenizer.decode(kept, skip_special_tokens=True)
        if end is None:
            return Completion(text, len(ids), "length")
        return Completion(text, end + 1, "stop")


def _alike(one: Request, other: Request) -> bool:
    same_sampling = replace(one.sampling, samples=1, seed=0) == replace(other.sampling, samples=1, seed=0)
    return same_sampling and len(one.photos) == len(other.photos)


def _processors(sampling: Sampling, seeds: Sequence[int]) -> LogitsProcessorList:
    processors = LogitsProcessorList()
    if sampling.temperature > 0:
        processors.append(Temperature(sampling.temperature))
        if sampling.top_k > 0:
            processors.append(TopKLogitsWarper(sampling.top_k))
        if sampling.top_p < 1:
            processors.append(TopPLogitsWarper(sampling.top_p))
        processors.append(RowNoise(seeds, sampling.temperature))
    return processors
