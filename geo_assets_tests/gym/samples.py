"""What the gym's tests share: a small task section and environments of few tasks."""

from __future__ import annotations

from typing import Any

from geo_assets.gym import Environment, Spec, make
from geo_assets.settings import Task

TASK = Task(prompt="short", min_cells=1, max_cells=22, max_completion_length=64)


def environment(name: str, size: int = 12, task: Task = TASK, **options: Any) -> Environment:
    return make(name, Spec("test", size, 3, task, options))
