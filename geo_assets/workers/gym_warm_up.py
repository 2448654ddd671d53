"""Supervised warm-up on the solutions of an environment, for a start model that has never seen its task.

Cross-entropy on the answer alone, in the steps of `supervised.py`. A stated share of the answers belongs
to another task (`answer_noise`), so that the start is unsure and RL has something to show; GRPO never sees
these answers. Progress is not saved: a killed warm-up begins again, it takes seconds on the models it is for.
What it leaves out: large models, which need none.
"""

from __future__ import annotations

import json
import logging
import math
import random
from pathlib import Path
from typing import Any

from geo_assets.errors import TrainingError
from geo_assets.gym.environment import Environment
from geo_assets.gym.play import fit
from geo_assets.settings import GymWarmUp, Runtime, Task
from geo_assets.workers import supervised

logger = logging.getLogger(__name__)

DONE = "warm_up.json"


def warm_up(
    environment: Environment, section: GymWarmUp, task: Task, runtime: Runtime, folder: Path, out: Path
) -> dict[str, Any]:
    """Train the model in `folder` on the environment's solutions and save it to `out`; figures of the run.

    Raises:
        TrainingError: the loss is not finite.
    """
    import torch

    from geo_assets.models.loading import device_of, load_model, load_processor

    if (out / DONE).exists():
        return json.loads((out / DONE).read_text(encoding="utf-8"))
    torch.manual_seed(section.seed)
    processor = load_processor(folder, task)
    model = load_model(folder, runtime, dtype="float32", attention="sdpa").train()
    lessons = Lessons(environment, section, task, processor)
    optimizers = supervised.build_optimizers(model, section.muon_learning_rate, section.adamw_learning_rate)
    losses: list[float] = []
    for step in range(section.steps):
        supervised.set_learning_rates(optimizers, step, section.steps)
        batch = {name: value.to(device_of(runtime)) for name, value in lessons.batch(step).items()}
        losses.append(supervised.take_step(model, optimizers, batch))
        if (step + 1) % 25 == 0 or step + 1 == section.steps:
            loss = supervised.recent_loss(losses)
            logger.info("warm-up step %d of %d: loss %.3f", step + 1, section.steps, loss)
    if not math.isfinite(losses[-1]):
        raise TrainingError("the warm-up's loss is not finite; lower gym.warm_up.muon_learning_rate")
    model.eval()
    processor.save_pretrained(out)
    model.save_pretrained(out)
    figures = {
        "steps": section.steps,
        "final_loss": round(supervised.recent_loss(losses), 4),
        "answer_noise": section.answer_noise,
    }
    (out / DONE).write_text(json.dumps(figures) + "\n", encoding="utf-8")
    return figures


class Lessons:
    """The batch of any step, from the seed alone."""

    def __init__(self, environment: Environment, section: GymWarmUp, task: Task, processor: Any) -> None:
        self._environment, self._section, self._task, self._processor = environment, section, task, processor
        self._order = list(range(len(environment)))
        random.Random(section.seed).shuffle(self._order)

    def answer(self, index: int) -> str:
        """The solution of a task, or by a stated chance that of another one."""
        rng = random.Random(f"{self._section.seed}/answer/{index}")
        other = rng.random() < self._section.answer_noise
        return self._environment.solution(rng.randrange(len(self._environment)) if other else index)

    def batch(self, step: int) -> dict[str, Any]:
        """Model inputs, right-padded, with labels on the answer tokens alone."""
        size, n = self._section.batch_size, len(self._order)
        indices = [self._order[place % n] for place in range(step * size, (step + 1) * size)]
        tokenizer = self._processor.tokenizer
        texts, images, lengths = [], [], []
        for index in indices:
            _, seen = self._environment.reset(index)
            answer = self.answer(index) + tokenizer.eos_token
            prompt = self._processor.apply_chat_template(
                list(seen.messages), add_generation_prompt=True, tokenize=False
            )
            texts.append(prompt + answer)
            images.append([fit(image, self._task) for image in seen.images])
            lengths.append(len(tokenizer(answer, add_special_tokens=False)["input_ids"]))
        inputs = self._processor(
            text=texts, images=images, padding=True, padding_side="right", return_tensors="pt"
        )
        labels = inputs["input_ids"].clone()
        for row, (ends, length) in enumerate(
            zip(inputs["attention_mask"].sum(1).tolist(), lengths, strict=True)
        ):
            labels[row, : ends - length] = -100
            labels[row, ends:] = -100
        return {**inputs, "labels": labels}
