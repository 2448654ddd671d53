"""The tasks of an environment on disk: prompts, images, right answers, and the attack table.

`<split>/tasks.jsonl` has a line for each task, its images lie in `<split>/images`; `environment.json` says
what it is and `attacks.json` what its attacks earn. Left out: how a completion is scored, which is the
environment's own code, built again from the same settings.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from PIL.Image import Image

from geo_assets.errors import DataError
from geo_assets.gym.environment import Environment, Spec, Split
from geo_assets.gym.registry import make
from geo_assets.gym.training import prompt_of
from geo_assets.settings import Gym, Task
from geo_assets.task.attacks import AttackTable

OFF = "off.json"
SPLITS: tuple[Split, ...] = ("train", "test")
ABOUT, ATTACKS, TASKS = "environment.json", "attacks.json", "tasks.jsonl"


def environment_of(gym: Gym, task: Task, split: Split) -> Environment:
    """The environment that a profile's section `gym` names, for one of its splits."""
    size = gym.train_tasks if split == "train" else gym.test_tasks
    return make(gym.environment, Spec(split, size, gym.seed, task, gym.options))


def write_tasks(gym: Gym, task: Task, out: Path) -> tuple[dict[str, Any], AttackTable]:
    """Write both splits and the attack table; what it is, in figures.

    Raises:
        ProfileError: there is no such environment.
        DataError: it has no tasks.
    """
    figures: dict[str, Any] = {}
    table: AttackTable | None = None
    for split in SPLITS:
        environment = environment_of(gym, task, split)
        shutil.rmtree(out / split, ignore_errors=True)
        _write_split(environment, out / split)
        figures[f"{split}_tasks"] = len(environment)
        if split == "test":
            table = environment.attack_table()
            about = {"environment": environment.name, "about": environment.about, "parts": environment.parts}
            figures = {**about, **asdict(environment.limits), **figures}
    assert table is not None
    (out / ATTACKS).write_text(json.dumps(table.rows, indent=1) + "\n", encoding="utf-8")
    (out / ABOUT).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures, table


def _write_split(environment: Environment, out: Path) -> None:
    (out / "images").mkdir(parents=True)
    with (out / TASKS).open("w", encoding="utf-8") as file:
        for index in range(len(environment)):
            _, seen = environment.reset(index)
            names = [
                _write_image(image, out, f"images/{index:05d}-{k}") for k, image in enumerate(seen.images)
            ]
            record = {
                "index": index,
                "messages": prompt_of(environment, seen),
                "images": names,
                "truth": dict(environment.truth(index)),
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def _write_image(image: Image | Path, out: Path, name: str) -> str:
    """Small drawn images losslessly; photos as they are, or as JPEG."""
    if isinstance(image, Path):
        name += image.suffix
        shutil.copyfile(image, out / name)
    elif max(image.size) <= 256:
        name += ".png"
        image.save(out / name)
    else:
        name += ".jpg"
        image.save(out / name, quality=90)
    return name


def read_tasks(folder: Path, split: Split) -> list[dict[str, Any]]:
    """The records of a split, their images as paths.

    Raises:
        DataError: gym_tasks holds none.
    """
    path = folder / split / TASKS
    if not path.exists():
        raise DataError(f"{folder} holds no tasks of split {split}; materialize gym_tasks again")
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{**record, "images": [folder / split / name for name in record["images"]]} for record in records]


def write_off(out: Path) -> dict[str, str]:
    """What each asset of the gym leaves where the profile names no environment."""
    (out / OFF).write_text(json.dumps({"why": "gym.environment is off"}) + "\n", encoding="utf-8")
    return {"environment": "off"}
