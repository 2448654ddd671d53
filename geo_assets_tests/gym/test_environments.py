"""What every environment keeps: attacks that do not pay, rewards in range, the same tasks each time."""

from __future__ import annotations

import random
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from geo_assets.errors import DataError, ProfileError
from geo_assets.gym import Environment, Spec, make, names, registry
from geo_assets.gym.caption import Keyword, keywords_of, named
from geo_assets_tests.gym.samples import TASK, environment

BUILT_IN = sorted(registry.BUILT_IN)
NOISE = [
    "",
    "true",
    "<think>",
    "</think>",
    "<answer>",
    "{",
    "NaN",
    "\x00",
    "🗺",
    "drives left",
    "zoom",
    "-1e999",
    "\n",
]


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_attack_pays(name: str) -> None:
    table = environment(name, 48).attack_table()
    assert table.passed, table.message
    assert len(table.rows) >= 6


@pytest.mark.parametrize("name", BUILT_IN)
def test_solutions_earn_most_and_noise_earns_little(name: str) -> None:
    env, rng = environment(name, 6), random.Random(0)
    states = [state for state, _ in env.reset_many(range(6))]
    solved = env.step_many(states, [env.solution(i) for i in range(6)])
    assert [(outcome.reward, outcome.done) for outcome in solved] == [(1.0, True)] * 6
    assert all(set(env.parts) <= set(outcome.info) and outcome.info["format"] == 1.0 for outcome in solved)
    for _ in range(40):
        text = "".join(rng.choices(NOISE, k=rng.randint(1, 30)))
        outcome = env.step(states[0], text)
        assert 0.0 <= outcome.reward <= 1.0
        assert env.step(states[0], text).reward == outcome.reward


@pytest.mark.parametrize("name", BUILT_IN)
def test_tasks_repeat_and_states_are_values(name: str) -> None:
    first, again = environment(name, 3), environment(name, 3)
    for index in range(3):
        (state, seen), (_, seen_again) = first.reset(index), again.reset(index)
        assert seen.messages == seen_again.messages
        assert [image.tobytes() for image in seen.images] == [image.tobytes() for image in seen_again.images]  # type: ignore[union-attr]
        before = first.render(state)
        first.step(state, "anything")
        assert first.render(state) == before
        placeholders = before.count("[image]")
        assert placeholders == len(seen.images)


def test_registry_names_what_there_is() -> None:
    assert set(BUILT_IN) <= set(names())
    with pytest.raises(ProfileError, match="did you mean 'geospot'"):
        make("geospt")
    with pytest.raises(ProfileError, match="has no option 'view'; it has: set, views"):
        make("geospot-views", Spec(options={"view": 3}))
    with pytest.raises(DataError, match="has no tasks"):
        make("nlvr2", Spec(size=0))


def test_a_broken_package_is_named_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("lost", "no_such_package:Lost", registry.GROUP),
        EntryPoint("nlvr2", "no_such_package:Taken", registry.GROUP),
        EntryPoint("number", "math:pi", registry.GROUP),
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    assert {"lost", "number"} <= set(names())
    assert isinstance(make("nlvr2", Spec(size=2)), Environment)
    with pytest.raises(ProfileError, match=r"'lost' .*cannot be loaded: ModuleNotFoundError"):
        make("lost")


def test_captions_by_hand() -> None:
    assert named("Traffic on the left, yellow centre line, palm trees and a Thai sign") == {
        Keyword("side", "left"),
        Keyword("line", "yellow"),
        Keyword("plants", "palms"),
        Keyword("sign", "Thai"),
    }
    assert named("drives leftwards, no palms, whitewashed lines") == set()
    env: Any = environment("caption", 24)
    task = env.tasks[0]
    wanted = keywords_of(task.clues)
    half = env.solution(0).split(", ")[: len(wanted) // 2]
    assert env.score(task, ", ".join(half))["total"] == pytest.approx(len(half) / len(wanted))
    other = "left" if task.clues.drive_side == "right" else "right"
    spoiled = env.score(task, f"{env.solution(0)}, drives {other}")
    assert spoiled["total"] == pytest.approx((len(wanted) - 1) / len(wanted))
    long = env.score(task, env.solution(0) + " and" * 100)
    assert 0.1 < long["total"] < 0.3 and long["coverage"] == 1.0


def test_geospot_takes_the_rows_of_a_set(tmp_path: Any) -> None:
    import polars as pl
    from PIL import Image

    from geo_assets.osv.schema import SET_SCHEMA, write_parquet

    (tmp_path / "images").mkdir()
    Image.new("RGB", (64, 48)).save(tmp_path / "images" / "a.jpg")
    row = {"id": "a", "image_path": "images/a.jpg", "latitude": 1.0, "longitude": 2.0, "country_iso2": "GA"}
    rows = pl.DataFrame([{name: row.get(name) for name in SET_SCHEMA}], schema=SET_SCHEMA)
    folder = tmp_path / "eval_osv"
    folder.mkdir()
    write_parquet(rows, folder / "eval_osv.parquet")
    env = environment("geospot", task=TASK, set=str(folder))
    assert len(env) == 1
    state, seen = env.reset(0)
    assert seen.images == (folder / "images/a.jpg",)
    assert env.step(state, env.solution(0)).reward == 1.0
    with pytest.raises(DataError, match="holds no set"):
        environment("geospot", set=str(tmp_path / "images"))
