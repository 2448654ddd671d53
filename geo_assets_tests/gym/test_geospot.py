"""geospot and its kin: rewards by hand, stages of the curriculum, views, zooms that come back."""

from __future__ import annotations

from math import exp
from typing import Any

import pytest
from PIL import Image

from geo_assets.errors import ProfileError
from geo_assets.geo.geodesy import point_distance_km
from geo_assets.gym import State
from geo_assets.gym.environment import Observation
from geo_assets.gym.geospot_zoom import LEAST, zoom
from geo_assets.gym.tool_use import ToolUse, call_text, parse_call, schema_of, trained_environment
from geo_assets.gym.training import require_sound
from geo_assets.task.attacks import answer_text
from geo_assets_tests.gym.samples import TASK, environment

PARIS = (48.8566, 2.3522)


def place_environment(reward: str) -> Any:
    """geospot whose first task is Paris."""
    from dataclasses import replace

    env = environment("geospot", 4, TASK.model_copy(update={"reward": reward}))
    paris = replace(env.tasks[0], latitude=PARIS[0], longitude=PARIS[1], country_iso2="FR")
    env.tasks = [paris, *env.tasks[1:]]
    return env


# Twelve answers about Paris: text, country (1 is right, None no claim), same region, same city, the point.
ANSWERS: list[tuple[str, int | None, bool, bool, tuple[float, float] | None]] = [
    (answer_text("France", *PARIS), 1, True, True, PARIS),
    (answer_text("France", 48.8049, 2.1204), 1, True, False, (48.8049, 2.1204)),
    (answer_text("France", 45.764, 4.8357), 1, False, False, (45.764, 4.8357)),
    (answer_text("France", -33.8688, 151.2093), 1, False, False, (-33.8688, 151.2093)),
    (answer_text("Atlantis", *PARIS), None, True, True, PARIS),
    (answer_text("Atlantis", 45.764, 4.8357), None, False, False, (45.764, 4.8357)),
    ("France", None, False, False, None),
    ("", None, False, False, None),
    ("<think>" + answer_text("France", *PARIS) + "</think>", None, False, False, None),
    ('<answer>{"country": "France"}</answer>', None, False, False, None),
    (answer_text("France", "NaN", "NaN"), None, False, False, None),
    (answer_text("France", *PARIS)[:-3], None, False, False, None),
]


@pytest.mark.parametrize(
    ("progress", "blend"),
    [
        (0.0, (0.4, 0.3, 0.2, 0.1)),
        (0.25, (0.325, 0.275, 0.225, 0.175)),
        (0.5, (0.25, 0.25, 0.25, 0.25)),
        (1.0, (0.1, 0.2, 0.3, 0.4)),
    ],
)
def test_hierarchical_agrees_with_a_table_by_hand(progress: float, blend: tuple[float, ...]) -> None:
    env = place_environment("hierarchical")
    for text, country, region, city, point in ANSWERS:
        expected = 0.0
        if point is not None:
            d_km = point_distance_km(*point, *PARIS)
            levels = (
                float(country or 0.0),
                1.0 if region else exp(-d_km / 500),
                1.0 if city else exp(-d_km / 100),
                exp(-d_km / 25),
            )
            expected = sum(weight * level for weight, level in zip(blend, levels, strict=True))
        state = State(0, Observation(()), progress=progress)
        assert env.step(state, text).reward == pytest.approx(expected, abs=1e-9), text


def test_many_steps_equal_single_ones_at_mixed_stages() -> None:
    env = environment("geospot", 4, TASK.model_copy(update={"reward": "hierarchical"}))
    states = [env.reset(index, progress)[0] for index in range(4) for progress in (0.0, 0.5)]
    texts = [env.solution((state.index + 1) % 4) for state in states]
    together = env.step_many(states, texts)
    assert [o.reward for o in together] == [
        env.step(*pair).reward for pair in zip(states, texts, strict=True)
    ]


def test_geospot_pays_what_the_task_pays() -> None:
    env = place_environment("geoguessr")
    state, seen = env.reset(0)
    assert [part["type"] for part in seen.messages[-1]["content"]] == ["image", "text"]
    assert env.step(state, answer_text("France", *PARIS)).reward == 1.0
    wrong = env.step(state, answer_text("Germany", *PARIS))
    assert (wrong.reward, wrong.info["country"], wrong.info["d_km"]) == (pytest.approx(0.7), 0.0, 0.0)
    assert env.step(state, "no idea").reward == 0.0


def test_a_reward_that_can_be_gamed_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"task\.reward"):
        environment("geospot", task=TASK.model_copy(update={"reward": "country-only"}))


def test_too_few_places_are_named_as_the_likely_cause() -> None:
    hierarchical = TASK.model_copy(update={"reward": "hierarchical"})
    with pytest.raises(ProfileError, match=r"on 4 tasks it may be chance: gym\.train_tasks: 200 tells"):
        require_sound(environment("geospot", 4, hierarchical))
    assert require_sound(environment("nlvr2", 12)).name == "nlvr2"


@pytest.mark.parametrize("views", [1, 3])
def test_views(views: int) -> None:
    env = environment("geospot-views", 2, views=views)
    _, seen = env.reset(0)
    assert len(seen.images) == views
    assert sum(part["type"] == "image" for part in seen.messages[-1]["content"]) == views
    with pytest.raises(ProfileError, match="choose 1 or 3"):
        environment("geospot-views", views=2)


def test_one_view_is_the_road_ahead() -> None:
    whole, one = (environment("geospot-views", 1, views=views).reset(0)[1].images for views in (3, 1))
    assert one[0].tobytes() == whole[1].tobytes()  # type: ignore[union-attr]


def zoom_environment() -> ToolUse:
    env = environment("geospot-zoom", 4)
    assert isinstance(env, ToolUse)
    return env


def test_a_zoom_returns_that_part_enlarged() -> None:
    env = zoom_environment()
    state, seen = env.reset(0)
    photo = seen.images[0]
    assert isinstance(photo, Image.Image)
    outcome = env.step(state, call_text("zoom", x=500, y=0, width=500, height=500))
    assert (outcome.reward, outcome.done, outcome.info["tool_fault"]) == (0.0, False, "")
    after = outcome.state.observation
    assert [message["role"] for message in after.messages] == ["system", "user", "assistant", "tool"]
    part = after.images[1]
    expected = photo.crop((342, 0, 683, 256)).resize(part.size, Image.Resampling.BICUBIC)  # type: ignore[union-attr]
    assert part.tobytes() == expected.tobytes()  # type: ignore[union-attr]
    assert part.height == photo.height  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": -1, "y": 0, "width": 100, "height": 100},
        {"x": 950, "y": 0, "width": 100, "height": 100},
        {"x": 0, "y": 0, "width": LEAST - 1, "height": 100},
        {"x": 0.5, "y": 0, "width": 100, "height": 100},
        {"x": True, "y": 0, "width": 100, "height": 100},
        {"x": "0", "y": 0, "width": 100, "height": 100},
        {"x": 10**30, "y": 0, "width": 100, "height": 100},
        {"x": 0, "y": 0, "width": 100},
        {"x": 0, "y": 0, "width": 100, "height": 100, "angle": 3},
        {"task": 0, "x": 0, "y": 0, "width": 100, "height": 100},
        {},
    ],
)
def test_misuse_costs_nothing_but_the_turn(arguments: dict[str, Any]) -> None:
    env = zoom_environment()
    state, _ = env.reset(0)
    outcome = env.step(state, call_text("zoom", **arguments))
    assert outcome.info["tool_fault"].startswith("error") and not outcome.done
    assert len(outcome.state.observation.images) == 1
    assert env.step(outcome.state, env.solution(0)).reward == 1.0


def test_turns_are_budgeted() -> None:
    env = zoom_environment()
    state, _ = env.reset(0)
    call = call_text("zoom", x=0, y=0, width=900, height=900)
    for done in (False, False, True):
        outcome = env.step(state, call)
        assert (outcome.done, outcome.reward) == (done, 0.0)
        state = outcome.state
    assert len(state.observation.images) == env.limits.max_turns


@pytest.mark.parametrize(
    "text", ["[1]", '"zoom"', "{}", '{"name": 3}', "[" * 3000, '{"name": "zoom", "arguments": [1]}']
)
def test_garbled_calls_are_answered(text: str) -> None:
    env = zoom_environment()
    state, _ = env.reset(0)
    assert parse_call(f"<tool_call>{text}</tool_call>") is not None
    outcome = env.step(state, f"<tool_call>{text}</tool_call>")
    assert outcome.info["tool_fault"] and not outcome.done


def test_training_gets_the_same_tool() -> None:
    from transformers.utils import get_json_schema

    env = zoom_environment()
    halves = trained_environment(env, lambda image: image.resize((32, 32)))()
    halves.reset(index=2, prompt="unused")
    assert get_json_schema(halves.zoom) == schema_of(zoom)
    parts = halves.zoom(x=0, y=0, width=500, height=500)
    assert parts[0]["image"].size == (32, 32)
    assert halves.zoom(x=5000, y=0, width=1, height=1)[0]["text"].startswith("error")
    assert "no calls are left" in halves.zoom(x=0, y=0, width=500, height=500)[0]["text"]
