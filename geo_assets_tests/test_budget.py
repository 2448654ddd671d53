"""Budget arithmetic: known answers."""

from __future__ import annotations

import pytest

from geo_assets.budget import (
    completions_per_step,
    disk_gib,
    evaluation_completions,
    model_gib,
    plan_budget,
    recommended_max_steps,
    training_cost,
)
from geo_assets.profile import load_profile


@pytest.mark.parametrize(
    ("seconds", "hours", "steps"),
    [(20, 8, 1440), (19.99, 8, 1440), (20.01, 8, 1439), (7200, 1, 0), (0.5, 0.25, 1800)],
)
def test_recommended_steps(seconds: float, hours: float, steps: int) -> None:
    assert recommended_max_steps(seconds, hours) == steps


def test_the_cost_of_the_pods_run() -> None:
    pod = load_profile("pod", {})
    cost = training_cost(pod, seconds_per_step=20)
    assert cost.hours == pytest.approx(1200 * 20 / 3600)
    assert cost.dollars == pytest.approx(cost.hours * 0.79)
    assert cost.completions == 1200 * completions_per_step(pod) == 38_400
    assert cost.completion_tokens == 38_400 * 512


def test_the_text_names_steps_dollars_and_tokens() -> None:
    text = plan_budget(load_profile("pod", {}), 20, 8)
    for part in (
        "recommended max_steps = 1440",
        "$6.32",
        "$5.27",
        "4 photos, 8 answers each",
        "38,400 completions",
    ):
        assert part in text


def test_completions_besides_training() -> None:
    asked = evaluation_completions(load_profile("pod", {}))
    assert asked["train_learnable"] == 32_000
    assert asked["base_metrics"] == asked["rl_metrics"] == 1500 * 2 + 2 * 300
    assert asked["checkpoint_metrics"] == 3 * 300


def test_disk_of_the_profiles() -> None:
    demo, pod, large = (disk_gib(load_profile(name, {})) for name in ("demo", "pod", "pod-8b"))
    assert demo["hub_cache"] == 0 and demo["artifacts"] < 5
    assert 30 < pod["artifacts"] < 60
    assert large["artifacts"] > pod["artifacts"]
    # 8.9 GB of safetensors on the Hub
    assert model_gib(load_profile("pod", {})) * 2**30 == pytest.approx(8.8e9, rel=0.05)
