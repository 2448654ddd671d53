"""Play the test tasks of the gym's environment with the start model and with the policy after GRPO.

Leaves `<who>/<decoding>/` with `episodes.jsonl`, `gallery.html` and `metrics.json`, for who ∈ {start, policy}
and decoding ∈ {greedy, sampled, blank}; `summary.json` with all that the report shows: figures, the paired
change of the reward, curves and attacks; and `gym.html`, the page about it. `blank` is a control: the same
questions about grey images. The policy is the last checkpoint.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

from geo_assets import backends
from geo_assets.backends.base import Backend, Completion, Request, Sampling
from geo_assets.errors import TrainingError
from geo_assets.gym import tasks
from geo_assets.gym.environment import Environment
from geo_assets.gym.evaluate import Earned, compare, summarise
from geo_assets.gym.gallery import gallery
from geo_assets.gym.play import Episode, Player
from geo_assets.models.loading import start_model_dir
from geo_assets.report.gym_page import gym_page
from geo_assets.settings import Gym
from geo_assets.task.rewards import CURRICULUM
from geo_assets.workers.checkpoint_files import checkpoints
from geo_assets.workers.gym_train import START
from geo_assets.workers.harness import Job, run
from geo_assets.workers.scoring import write_json
from geo_assets.workers.train import LOG_HISTORY

logger = logging.getLogger(__name__)

EPISODES, METRICS = "episodes.jsonl", "metrics.json"
SHOWN = 24
CURVES = ("reward", "entropy", "frac_reward_zero_std")
CURVE_PREFIXES = ("rewards/", f"{CURRICULUM}/")
GREY = (128, 128, 128)


def main(job: Job) -> None:
    """Play, compare, and leave what the asset promises."""
    gym, trained = job.settings.gym, job.upstream["gym_checkpoints"]
    if not gym.is_on:
        job.metadata(tasks.write_off(job.out))
        return
    environment = tasks.environment_of(gym, job.settings.task, "test")
    start = trained / START if (trained / START).is_dir() else start_model_dir(job.upstream["warm_start"])
    folders = checkpoints(trained)
    if not folders:
        raise TrainingError("gym_checkpoints holds no checkpoint; materialize gym_checkpoints with force")
    summary: dict[str, Any] = {"checkpoint": folders[-1].name, **about(job, environment)}
    for who, adapter in (("start", None), ("policy", folders[-1])):
        summary[who] = play_all(job, environment, start, adapter, job.out / who)
    summary["change"] = {
        name: compare(*(earned(job.out / who / name) for who in ("start", "policy")))
        for name in decodings(gym, environment)
    }
    write_json(job.out / "summary.json", summary)
    (job.out / "gym.html").write_text(gym_page(summary), encoding="utf-8")
    change = {name: values["difference"] for name, values in summary["change"].items()}
    job.metadata({"environment": environment.name, **{f"{k} change": round(v, 4) for k, v in change.items()}})


def decodings(gym: Gym, environment: Environment) -> dict[str, tuple[Sampling, int]]:
    """How each cell is sampled, and how often."""
    limit = environment.limits.max_tokens
    sampled = Sampling(gym.temperature, max_tokens=limit, seed=gym.seed)
    return {
        "greedy": (Sampling(max_tokens=limit), 1),
        "sampled": (sampled, gym.samples),
        "blank": (Sampling(max_tokens=limit), 1),
    }


def play_all(
    job: Job, environment: Environment, model: Path, adapter: Path | None, out: Path
) -> dict[str, Any]:
    """Metrics of one model under every decoding; what a killed run has finished is not played again."""
    wanted = decodings(job.settings.gym, environment)
    if not all((out / name / METRICS).exists() for name in wanted):
        backend = backends.make(job.runtime, job.settings.task, model, adapter)
        for name, (sampling, samples) in wanted.items():
            if (out / name / METRICS).exists():
                continue
            seen = Blank(backend) if name == "blank" else backend
            player = Player(environment, seen, job.settings.task, sampling)
            played = player.play(range(len(environment)), samples, job.runtime.eval_batch_size)
            _leave(environment, list(played), out / name)
        backend.close()
    return {name: json.loads((out / name / METRICS).read_text(encoding="utf-8")) for name in wanted}


def _leave(environment: Environment, episodes: list[Episode], out: Path) -> None:
    """Episodes, a page with the first of them, and then the metrics, which mark the folder as whole."""
    figures = summarise(episodes, environment.parts)
    out.mkdir(parents=True, exist_ok=True)
    with (out / EPISODES).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(e.to_record(), ensure_ascii=False) + "\n" for e in episodes)
    lead = f"{out.parent.name}, {out.name}: the first {SHOWN} of {len(episodes)} episodes"
    text = gallery(f"{environment.name}: episodes", lead, episodes[:SHOWN])
    (out / "gallery.html").write_text(text, encoding="utf-8")
    write_json(out / METRICS, figures)
    reward, form, n = figures["mean_reward"], figures["format_rate"], figures["n"]
    logger.info("%s, %s: mean reward %.3f, format %.3f (n = %d)", out.parent.name, out.name, reward, form, n)


def earned(folder: Path) -> list[Earned]:
    """The rewards of the episodes in a folder."""
    records = map(json.loads, (folder / EPISODES).read_text(encoding="utf-8").splitlines())
    return [Earned(record["sample"], record["reward"]) for record in records]


class Blank:
    """A backend that shows grey images in the place of the real ones."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        """See `Backend.generate`."""
        return self._backend.generate([replace(r, photos=tuple(_grey(r.photos))) for r in requests])

    def close(self) -> None:
        """See `Backend.close`."""
        self._backend.close()


def _grey(photos: tuple[Any, ...]) -> Iterator[Image.Image]:
    for photo in photos:
        yield Image.new("RGB", photo.size, GREY)


def about(job: Job, environment: Environment) -> dict[str, Any]:
    """What the figures are about: environment, start, run, the curves of its log, and the attack table."""
    trained = job.upstream["gym_checkpoints"]
    stats = json.loads((trained / "train_stats.json").read_text(encoding="utf-8"))
    attacks = json.loads((job.upstream["gym_tasks"] / tasks.ATTACKS).read_text(encoding="utf-8"))
    return {
        "environment": environment.name,
        "about": environment.about,
        "parts": list(environment.parts),
        "start_note": start_note(job.settings.gym),
        "steps": stats["steps"],
        "shuffled_rewards": stats["shuffled_rewards"],
        "curves": curves(trained / LOG_HISTORY),
        "attacks": attacks,
    }


def curves(log: Path) -> dict[str, list[tuple[int, float]]]:
    """(step, value) of what the report draws, by key of the trainer's log."""
    found: dict[str, list[tuple[int, float]]] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        for key, value in record.items():
            if value is not None and (key in CURVES or key.startswith(CURVE_PREFIXES)):
                found.setdefault(key, []).append((record["step"], value))
    return found


def start_note(gym: Gym) -> str:
    """One sentence on where GRPO started, which a gain must be read with."""
    if gym.warm_up.steps == 0:
        return "The start is warm_start as it is."
    told = f"The start is warm_start after {gym.warm_up.steps} supervised steps on solutions of train tasks."
    if gym.warm_up.answer_noise == 0:
        return told
    share = f"{gym.warm_up.answer_noise:.0%}"
    return f"{told} Of those solutions {share} belonged to another task: part of the gain is unlearning that."


if __name__ == "__main__":
    run(main)
