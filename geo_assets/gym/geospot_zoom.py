"""`geospot-zoom`: where was this photo taken? The model may look closer before it answers.

The photo is first shown whole, at the size of the pixel budget; `zoom` returns a part of the original,
enlarged to the same budget. Coordinates are in thousandths of the photo's sides, as Qwen3-VL gives boxes.
Two zooms and an answer make an episode (three images are what a vLLM prompt has room for).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from PIL import Image

from geo_assets.gym.attacks import Attack
from geo_assets.gym.environment import Limits, Observation, Spec
from geo_assets.gym.geospot import GeoSpot, parts_of
from geo_assets.gym.scenes import SET_OPTION, Scene
from geo_assets.gym.tool_use import Parts, ToolUse, call_text, image_part
from geo_assets.task.attacks import AttackTable

SCALE = 1000
LEAST = 50
"""Least width and height of a part, in thousandths."""
MAX_TURNS = 3


def zoom(task: Scene, x: int, y: int, width: int, height: int) -> Parts:
    """
    Look closer at a part of the photo.

    Args:
        x: Left edge of the part, in thousandths of the photo's width.
        y: Upper edge of the part, in thousandths of the photo's height.
        width: Width of the part, in thousandths of the photo's width.
        height: Height of the part, in thousandths of the photo's height.

    Returns:
        The part of the photo, enlarged.
    """
    box = (x, y, width, height)
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in box):
        raise ValueError("x, y, width and height are whole numbers from 0 to 1000")
    if width < LEAST or height < LEAST or x < 0 or y < 0 or x + width > SCALE or y + height > SCALE:
        raise ValueError(
            f"the part must lie within 0 to {SCALE} and be at least {LEAST} wide and high, not {box}"[:160]
        )
    picture = task.pictures()[0]
    photo = picture if isinstance(picture, Image.Image) else Image.open(picture).convert("RGB")
    left, right = (round(edge * photo.width / SCALE) for edge in (x, x + width))
    top, bottom = (round(edge * photo.height / SCALE) for edge in (y, y + height))
    part = photo.crop((left, top, right, bottom))
    factor = min(photo.width / part.width, photo.height / part.height)
    size = (round(part.width * factor), round(part.height * factor))
    return [
        image_part(part.resize(size, Image.Resampling.BICUBIC)),
        {"type": "text", "text": f"The part {box}."},
    ]


class GeoSpotZoom(ToolUse):
    """`geospot` with a tool that returns a part of the photo."""

    name = "geospot-zoom"
    about = "where was this photo taken? Up to two closer looks first, through a zoom tool"
    parts = GeoSpot.parts
    options: ClassVar[Mapping[str, str]] = MappingProxyType({"set": SET_OPTION})

    def __init__(self, spec: Spec) -> None:
        self.plain = GeoSpot(spec)
        super().__init__(spec)
        self.limits = Limits(spec.task.max_completion_length, MAX_TURNS)

    def make_tasks(self) -> Sequence[Scene]:
        """See `Environment.make_tasks`."""
        return self.plain.tasks

    def tools(self) -> Mapping[str, Callable[..., Parts]]:
        """See `ToolUse.tools`."""
        return {"zoom": zoom}

    def ask(self, task: Scene) -> Observation:
        """See `ToolUse.ask`."""
        return self.plain.ask(task)

    def score(self, task: Scene, completion: str, progress: float) -> Mapping[str, Any]:
        """See `ToolUse.score`."""
        (terms,) = self.plain.terms([task], [completion], progress)
        return {**parts_of(terms), "d_km": terms.d_km, "geoscore": terms.geoscore}

    def curriculum(
        self, task_indices: Sequence[int], completions: Sequence[str], progress: float
    ) -> Mapping[str, float]:
        """See `Environment.curriculum`."""
        return self.plain.curriculum(task_indices, completions, progress)

    def solution(self, task_index: int) -> str:
        """See `Environment.solution`."""
        return self.plain.solution(task_index)

    def truth(self, task_index: int) -> Mapping[str, Any]:
        """See `Environment.truth`."""
        return self.plain.truth(task_index)

    def attacks(self) -> Sequence[Attack]:
        """Zooming without end, wrong calls, an answer hidden in a call: none of them earns anything."""
        whole = call_text("zoom", x=0, y=0, width=SCALE, height=SCALE)
        hidden = call_text("zoom", answer="ANSWER")
        return (
            Attack("zoom without end", lambda i: [whole] * 10),
            Attack("no such tool", lambda i: [call_text("answer", country="France")] * 10),
            Attack("outside the photo", lambda i: [call_text("zoom", x=900, y=0, width=500, height=10)] * 10),
            Attack("garbled calls", lambda i: ["<tool_call>{]</tool_call>"] * 10),
            Attack("an answer inside a call", lambda i: [hidden.replace("ANSWER", "France")] * 10),
            Attack("a call left open", lambda i: "<tool_call>{"),
        )

    def attack_table(self, tasks: int = 200) -> AttackTable:
        """The task's attack suite and the attacks on the tool."""
        places, calls = self.plain.attack_table(tasks), super().attack_table(tasks)
        message = f"{places.message}; {calls.message}"
        return AttackTable(places.rows + calls.rows, places.n_gold, places.passed and calls.passed, message)
