"""TRL's GRPOTrainer with what this product watches: sample answers, guesses, and a control.

It adds three things around the rollout and changes nothing in the algorithm: it keeps one group of
answers per rollout (`samples.jsonl`), logs how varied the guesses are, and, as a control, can hand every
reward to a random row. `logprob_gap` measures once whether what generates and what trains agree.
"""

from __future__ import annotations

import copy
import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from trl import GRPOTrainer
from trl.trainer.utils import RepeatSampler

from geo_assets.models.loading import merged_for_generation
from geo_assets.task.answer import parse_answer
from geo_assets.task.collapse import effective_number
from geo_assets.task.rewards import completion_text

RECENT_GUESSES = 512


class EpochSampler(RepeatSampler):
    """TRL's sampler with an order that depends on seed and epoch alone.

    The stock one draws each epoch's order from a generator that starts again in a new process, so a run that
    is resumed in its second epoch would see the first one's order.
    """

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the trainer before each epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        if self.shuffle:
            self.generator.manual_seed((self.seed or 0) + self.epoch)
        yield from super().__iter__()


class GeoTrainer(GRPOTrainer):
    """See the module. `watch` must be called before training."""

    def watch(self, samples: Path, shuffle_rewards: bool) -> None:
        """Where sample answers go, and whether rewards are shuffled."""
        self._samples = samples
        self._shuffle_rewards = shuffle_rewards
        self.recent_guesses: deque[str | None] = deque(maxlen=RECENT_GUESSES)
        self.recent_completions: deque[str] = deque(maxlen=16)

    @staticmethod
    def text_of(completion: Any) -> str:
        """What samples and guesses take from a completion."""
        return completion_text(completion)

    def _get_train_sampler(self, dataset: Any = None) -> EpochSampler:
        stock: Any = super()._get_train_sampler(dataset)
        return EpochSampler(
            stock.data_source,
            stock.mini_repeat_count,
            stock.batch_size,
            stock.repeat_count,
            shuffle=stock.shuffle,
            seed=stock.seed,
        )

    def _calculate_rewards(
        self, inputs: list[dict[str, Any]], prompts: Any, completions: list[Any], completion_ids_list: Any
    ) -> torch.Tensor:
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        texts = [self.text_of(completion) for completion in completions]
        self._keep_samples(inputs, texts, rewards)
        self._note_guesses(texts)
        if self._shuffle_rewards:
            generator = torch.Generator().manual_seed(self.args.seed * 1_000_003 + self.state.global_step)
            rewards = rewards[torch.randperm(len(rewards), generator=generator).to(rewards.device)]
        return rewards

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        model: Any = self.model
        if self.use_vllm or model.dtype != torch.float32:
            return super()._generate_single_turn(*args, **kwargs)
        with torch.no_grad(), merged_for_generation(model):
            return super()._generate_single_turn(*args, **kwargs)

    def _keep_samples(self, inputs: list[dict[str, Any]], texts: list[str], rewards: torch.Tensor) -> None:
        """Append the first group of the rollout to the samples."""
        names = [name.removesuffix("_reward") for name in self.reward_func_names]
        names = ["country_reward" if name == "country" else name for name in names]
        with self._samples.open("a", encoding="utf-8") as file:
            for row, text, values in zip(inputs, texts, rewards.tolist(), strict=True):
                if row["id"] != inputs[0]["id"]:
                    break
                scores = {name: round(value, 6) for name, value in zip(names, values, strict=True)}
                record = {"step": self.state.global_step + 1, "id": row["id"], "completion": text, **scores}
                file.write(json.dumps(record) + "\n")
        self.recent_completions.extend(texts)

    def _note_guesses(self, texts: list[str]) -> None:
        self.recent_guesses.extend(guessed_countries(texts))
        share, effective = spread(self.recent_guesses)
        self._metrics["train"]["guesses/top_country_share"].append(share)
        self._metrics["train"]["guesses/effective_countries"].append(effective)

    @torch.no_grad()
    def logprob_gap(self, rows: list[dict[str, Any]]) -> dict[str, float]:
        """Log-probabilities of one rollout, as generation saw them against as training sees them.

        Generation suppresses the image placeholder and training does not, so a model that gives it much
        weight shows a gap. The random state is left as it was.

        Returns:
            Mean and maximum of |difference| over the sampled tokens in nats, their number, and the mean
            importance ratio of a sequence.
        """
        processor: Any = self.processing_class
        model: Any = self.model
        images = [row["images"] for row in rows]
        texts = [
            processor.apply_chat_template(row["prompt"], add_generation_prompt=True, tokenize=False)
            for row in rows
        ]
        inputs = processor(text=texts, images=images, padding=True, return_tensors="pt")
        inputs = inputs.to(model.device)
        recorded = copy.deepcopy(self.generation_config)
        recorded.return_dict_in_generate = recorded.output_scores = True
        was_training = model.training
        model.eval()
        with torch.random.fork_rng():
            output = model.generate(**inputs, generation_config=recorded)
        ids = output.sequences[:, inputs["input_ids"].shape[1] :]
        sampled = torch.stack([scores.log_softmax(-1) for scores in output.scores], dim=1)
        sampled = sampled.gather(-1, ids[..., None]).squeeze(-1)
        ends = torch.isin(ids, torch.tensor(self.eos_token_ids, device=ids.device)).int()
        mask = ends.cumsum(1) - ends == 0  # up to and with the first end token
        extra = {name: value for name, value in inputs.items() if name not in ("input_ids", "attention_mask")}
        extra["mm_token_type_ids"] = torch.cat([extra["mm_token_type_ids"], torch.zeros_like(ids)], dim=1)
        trained, _, _ = self._get_per_token_logps_and_entropies(
            model,
            output.sequences,
            torch.cat([inputs["attention_mask"], mask.long()], dim=1),
            ids.shape[1],
            num_images=[len(group) for group in images],
            **extra,
        )
        model.train(was_training)
        gap = torch.where(mask, trained - sampled, torch.zeros_like(trained))
        return {
            "mean_abs_gap": float(gap.abs().sum() / mask.sum()),
            "max_abs_gap": float(gap.abs().max()),
            "mean_sequence_ratio": float(gap.sum(1).exp().mean()),
            "tokens": int(mask.sum()),
        }


def guessed_countries(texts: Iterable[str]) -> list[str | None]:
    """The country code that each text names, None where it names none."""
    guesses = [parse_answer(text) for text in texts]
    return [guess.country_iso2 if guess else None for guess in guesses]


def spread(guesses: Iterable[str | None]) -> tuple[float, float]:
    """Share of the most frequent country and effective number of countries.

    >>> spread(["FR", "FR", "JP", None])
    (0.5, 1.889881574843)
    """
    guesses = list(guesses)
    counts = Counter(guess for guess in guesses if guess)
    return max(counts.values(), default=0) / max(1, len(guesses)), effective_number(counts.values())
