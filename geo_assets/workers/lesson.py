"""What the warm-up teaches: captions of train_pool's photos, and the batch of any step.

A caption is the trace drawn with a photo and its answer. With `lookalike_share` the captions of some
countries name a neighbour that looks alike, at one of its places: the stated bias that RL has to unlearn.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geo_assets.errors import DataError
from geo_assets.settings import Settings, Task, WarmStart

# Left, ahead and right of a photo, as shares of width and height; each is as wide as a panorama's view.
VIEWS = ((0.0, 0.2, 0.45, 0.53), (0.0, 0.04, 1.0, 0.77), (0.55, 0.2, 1.0, 0.53))


@dataclass(frozen=True)
class Caption:
    """One supervised pair: a photo and the answer that the model learns to give."""

    id: str
    photo: Path
    answer: str


def captions(pool: Path, section: WarmStart) -> tuple[list[Caption], list[Caption]]:
    """Captions to learn from, and some held out for the format check; seeded, in training order.

    Raises:
        DataError: train_pool has no traces.
    """
    import polars as pl

    from geo_assets.geo.countries import country_name
    from geo_assets.osv.sets import read_set
    from geo_assets.world.clues import LOOKALIKES, answer_text, places

    if not (pool / "traces.parquet").exists():
        raise DataError(
            "train_pool has no traces.parquet, which warm_start.mode sft needs; set warm_start.mode: none"
        )
    rows = read_set(pool).join(pl.read_parquet(pool / "traces.parquet"), on="id", how="inner").sort("id")
    rng = random.Random(section.seed)
    made = []
    for row in rng.sample(rows.to_dicts(), k=len(rows)):
        iso2, latitude, longitude = row["country_iso2"], row["latitude"], row["longitude"]
        if iso2 in LOOKALIKES and rng.random() < section.lookalike_share:
            iso2 = LOOKALIKES[iso2]
            place = rng.choice(places(iso2, "train"))
            latitude, longitude = place.lat_deg, place.lon_deg
        answer = answer_text(row["think"], country_name(iso2), latitude, longitude)
        made.append(Caption(row["id"], pool / row["image_path"], answer))
    learn = made[: section.scenes]
    held_out = made[section.scenes : section.scenes + section.check_rows] or made[-section.check_rows :]
    return learn, held_out


class Lesson:
    """Makes the batch of any step from the seed alone, so that a resumed run sees the same batches."""

    def __init__(self, processor: Any, settings: Settings, learn: Sequence[Caption]) -> None:
        from geo_assets.models.loading import Photos

        self._processor, self._learn = processor, learn
        self._section, self._task = settings.warm_start, settings.task
        self._photos = Photos(settings.task)
        self._orders: dict[int, list[int]] = {}

    def _caption(self, place: int) -> Caption:
        """The caption at a place of the endless sequence of shuffled epochs."""
        epoch, index = divmod(place, len(self._learn))
        if epoch not in self._orders:
            order = list(range(len(self._learn)))
            random.Random(f"{self._section.seed}/{epoch}").shuffle(order)
            self._orders[epoch] = order
        return self._learn[self._orders[epoch][index]]

    def _shown(self, captions: Sequence[Caption], step: int) -> tuple[str, list[list[Any]]]:
        """The prompt of a step and what each caption's photo looks like in it."""
        from geo_assets.task.prompt import messages

        every = self._section.views_every
        in_views = every > 0 and step % every == every - 1
        chat = list(messages(self._task.prompt, len(VIEWS) if in_views else 1))
        prompt = self._processor.apply_chat_template(chat, add_generation_prompt=True, tokenize=False)
        if in_views:
            return prompt, [views(caption.photo, self._task) for caption in captions]
        return prompt, [[self._photos(caption.photo)] for caption in captions]

    def batch(self, step: int) -> dict[str, Any]:
        """Model inputs, right-padded; `labels` cover the answer and the one position before it."""
        import torch

        size = self._section.batch_size
        chosen = [self._caption(place) for place in range(step * size, (step + 1) * size)]
        prompt, photos = self._shown(chosen, step)
        inputs = self._processor(text=[prompt] * size, images=photos, padding=True, return_tensors="pt")
        tokenizer = self._processor.tokenizer
        texts = [caption.answer + tokenizer.eos_token for caption in chosen]
        answers = tokenizer(texts, add_special_tokens=False)["input_ids"]
        tail = torch.full((size, max(map(len, answers))), tokenizer.pad_token_id)
        mask = torch.zeros_like(tail)
        for row, answer in enumerate(answers):
            tail[row, : len(answer)] = torch.tensor(answer)
            mask[row, : len(answer)] = 1
        head, labels = inputs["input_ids"], tail.masked_fill(mask == 0, -100)
        return {
            "input_ids": torch.cat([head, tail], dim=1),
            "attention_mask": torch.cat([inputs["attention_mask"], mask], dim=1),
            "labels": torch.cat([torch.full_like(head[:, -1:], -100), labels], dim=1),
            "mm_token_type_ids": torch.cat([inputs["mm_token_type_ids"], torch.zeros_like(tail)], dim=1),
            "pixel_values": inputs["pixel_values"],
            "image_grid_thw": inputs["image_grid_thw"],
        }


def views(path: Path, task: Task) -> list[Any]:
    """A photo cut into what the views of a panorama would show of it."""
    from PIL import Image

    from geo_assets.models.loading import fit

    with Image.open(path) as photo:
        photo.draft("RGB", (photo.width // 2, photo.height // 2))
        width, height = photo.size
        crops = [
            photo.crop((int(a * width), int(b * height), int(c * width), int(d * height)))
            for a, b, c, d in VIEWS
        ]
    return [fit(crop, task.min_cells, task.max_cells) for crop in crops]
