"""A zoom episode on a real model of each backend: a script zooms, the model reads the part and answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from geo_assets import backends
from geo_assets.backends.base import Completion, Request, Sampling
from geo_assets.gym.play import Player
from geo_assets.gym.policies import Scripted
from geo_assets.gym.tool_use import call_text
from geo_assets.settings import Settings
from geo_assets.workers import base_model
from geo_assets.workers.harness import Job
from geo_assets_tests.gym.samples import environment
from geo_assets_tests.workers.conftest import VALUES

pytestmark = pytest.mark.slow
BACKENDS = ["transformers", pytest.param("vllm", marks=pytest.mark.vllm)]


@pytest.fixture(scope="module")
def settings() -> Settings:
    runtime = {**VALUES["runtime"], "vllm_max_model_length": 2048, "vllm_eval_memory_share": 0.05}
    return Settings.model_validate({**VALUES, "runtime": runtime})


@pytest.fixture(scope="module")
def model(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("base_model")
    base_model.main(Job("base_model", out, settings))
    return out / "model"


@pytest.mark.parametrize("name", BACKENDS)
def test_the_part_reaches_the_model(name: str, settings: Settings, model: Path) -> None:
    runtime = settings.runtime.model_copy(update={"backend": name})
    backend = backends.make(runtime, settings.task, model)
    asked: list[Request] = []

    class Watching:
        def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
            asked.extend(requests)
            return backend.generate(requests)

        def close(self) -> None:
            backend.close()

    def script(index: int, turn: int) -> str | None:
        return call_text("zoom", x=100, y=100, width=300, height=300) if turn == 0 else None

    env = environment("geospot-zoom", 3, settings.task)
    player = Player(env, Scripted(script, Watching()), settings.task, Sampling(max_tokens=6))
    episodes = list(player.play(range(3)))
    assert [len(episode.turns) for episode in episodes] == [2, 2, 2]
    processor = backend.processor  # type: ignore[attr-defined]
    for request, episode in zip(asked, episodes, strict=True):
        text = processor.apply_chat_template(
            list(request.messages), add_generation_prompt=True, tokenize=False
        )
        ids = processor(text=[text], images=[list(request.photos)])["input_ids"][0]
        assert list(ids).count(processor.image_token_id) == episode.turns[1].visual_tokens == 8
        assert episode.turns[0].visual_tokens == 4
    backend.close()
