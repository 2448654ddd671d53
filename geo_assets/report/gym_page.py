"""The page about an environment of the gym, from `summary.json` of gym_metrics."""

from __future__ import annotations

from geo_assets.report import gym
from geo_assets.report.blocks import Section, Text
from geo_assets.report.render import render_page


def gym_page(summary: gym.Json) -> str:
    """The HTML page: verdict, metrics, training, attacks."""
    note = Text(summary["start_note"], aside=True)
    sections = [
        Section("metrics", "Before and after", (gym.metrics(summary), note)),
        Section("training", "Training", tuple(gym.training(summary))),
        Section("attacks", "What does not pay", (gym.attacks(summary),)),
    ]
    title = f"Environment {summary['environment']}"
    eyebrow = f"gym · GRPO, {summary['steps']} steps · {summary['checkpoint']}"
    return render_page(title, eyebrow, gym.verdict(summary), sections, "Made by geo_assets.")
