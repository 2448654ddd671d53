"""The loop: batches change nothing, scripts and models mix, records and pages hold what was said."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from geo_assets.__main__ import main
from geo_assets.backends.base import Completion, Request, Sampling
from geo_assets.gym import Environment
from geo_assets.gym.evaluate import compare, summarise
from geo_assets.gym.gallery import gallery
from geo_assets.gym.play import Episode, Player
from geo_assets.gym.policies import Scripted
from geo_assets.gym.tool_use import call_text
from geo_assets_tests.gym.samples import TASK, environment


class Echo:
    """A backend whose answer depends on the request alone: right or wrong by its seed and key."""

    def __init__(self, env: Environment) -> None:
        self.env, self.batches = env, list[int]()

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        self.batches.append(len(requests))
        return [[self._answer(request)] for request in requests]

    def _answer(self, request: Request) -> Completion:
        right = zlib.crc32(f"{request.sampling.seed}/{request.key}".encode()) % 3 > 0
        index = int(request.key.split("/")[0])
        return Completion(self.env.solution(index) if right else "<b>dunno</b>", 4, "stop")

    def close(self) -> None:
        pass


def play(
    env: Environment, backend: object, batch: int = 64, samples: int = 1, seed: int = 0
) -> list[Episode]:
    player = Player(env, backend, TASK, Sampling(1.0, seed=seed))  # type: ignore[arg-type]
    return list(player.play(range(len(env)), samples, batch))


def test_batches_change_nothing() -> None:
    env = environment("nlvr2", 10)
    backend = Echo(env)
    whole, small = play(env, backend, 64, 3), play(env, backend, 4, 3)
    assert backend.batches == [30, *[4] * 7, 2]
    assert [e.to_record() for e in whole] == [e.to_record() for e in small]
    assert [(e.index, e.sample) for e in whole] == [(i, k) for i in range(10) for k in range(3)]
    assert [e.reward for e in play(env, backend, 64, 3, seed=1)] != [e.reward for e in whole]


def test_figures_by_hand() -> None:
    env = environment("nlvr2", 10)
    right = play(env, Scripted(lambda i, t: env.solution(i)))
    half = play(env, Scripted(lambda i, t: env.solution(i) if i % 2 else "maybe"))
    figures = summarise(half, env.parts)
    assert (figures["n"], figures["mean_reward"], figures["format_rate"]) == (10, 0.5, 0.5)
    assert figures["mean_turns"] == 1.0 and figures["truncated_rate"] == 0.0
    change = compare(half, right)
    assert change["difference"] == 0.5
    assert change["p_mcnemar"] == pytest.approx(2 * 0.5**5)
    assert not change["excludes_zero"]  # five changed tasks show nothing


def test_a_script_hands_over_to_a_model_with_the_zoomed_part() -> None:
    env = environment("geospot-zoom", 3)
    seen: list[Request] = []

    class Watching(Echo):
        def _answer(self, request: Request) -> Completion:
            seen.append(request)
            return Completion(self.env.solution(int(request.key.split("/")[0])), 9, "stop")

    def script(index: int, turn: int) -> str | None:
        return call_text("zoom", x=0, y=0, width=400, height=400) if turn == 0 else None

    episodes = play(env, Scripted(script, Watching(env)))
    assert [(e.reward, len(e.turns)) for e in episodes] == [(1.0, 2)] * 3
    assert [len(request.photos) for request in seen] == [2, 2, 2]
    assert [[turn.visual_tokens for turn in e.turns] for e in episodes] == [[20, 40]] * 3
    assert [m["role"] for m in seen[0].messages] == ["system", "user", "assistant", "tool"]
    with pytest.raises(ValueError, match="no model behind it"):
        play(env, Scripted(script))


def test_pages_are_safe_and_whole() -> None:
    env = environment("geospot", 2)
    page = gallery("t", "l", play(env, Scripted(lambda i, t: env.solution(0) + "<script>alert(1)</script>")))
    assert "<script" not in page and "&lt;script&gt;" in page
    assert not re.search(r"""(src|href)=["'](?!data:)""", page)
    assert page.count("<img") == 2 and page.count('class="truth"') == 2
    assert page == gallery(
        "t", "l", play(env, Scripted(lambda i, t: env.solution(0) + "<script>alert(1)</script>"))
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = ["rollout", "--env", "nlvr2", "--episodes", "4", "--solve", "--out", str(out)]
    assert main([*arguments, "--option", "level=1", "--max-pixels", "2048", "--batch-size", "3"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("reward 1.000") == 5 and "[image] [image] True or false" in shown
    records = [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]
    assert [record["reward"] for record in records] == [1.0] * 4
    assert records[0]["turns"][0]["images"] == [[32, 32], [32, 32]]  # two pictures of at most two cells
    assert json.loads((out / "summary.json").read_text())["mean_reward"] == 1.0
    assert "<img" in (out / "gallery.html").read_text()
    assert main(["rollout", "--env", "nlvr2", "--episodes", "8", "--attacks"]) == 0
    assert "12 of 12 conditions hold" in capsys.readouterr().out
    assert main(["rollout", "--env", "nlvr", "--solve"]) == 1
    assert "did you mean 'nlvr2'" in capsys.readouterr().err
    assert main(["rollout", "--list"]) == 0
    assert "geospot-zoom" in capsys.readouterr().out


def test_no_model_yet_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEO_HOME", str(tmp_path))
    assert main(["rollout", "--env", "nlvr2", "--out", str(tmp_path / "out")]) == 1
    assert "--solve" in capsys.readouterr().err


def test_means_of_tasks_not_of_completions() -> None:
    env = environment("nlvr2", 8)
    episodes = play(env, Echo(env), samples=2)
    figures = summarise(episodes, env.parts)
    by_task = np.array([e.reward for e in episodes]).reshape(8, 2).mean(axis=1)
    assert figures["mean_reward"] == pytest.approx(by_task.mean())
    assert figures["samples"] == 2
