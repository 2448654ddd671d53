"""`rollout`: watch a model play an environment. Episodes stream to the screen, to JSONL and to an HTML page.

The model is the profile's merged_model, else its warm_start; name another one with --model and --adapter.
The same seed gives the same episodes, whatever the batch size. `--solve` plays the environment's own
solutions instead of a model, `--attacks` its canned attacks, and `--list` shows what there is.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geo_assets.errors import ArtifactError, ProfileError
from geo_assets.settings import Settings

if TYPE_CHECKING:
    from geo_assets.backends.base import Backend
    from geo_assets.gym.environment import Environment, Spec
    from geo_assets.gym.play import Episode

PIXELS_PER_CELL = 32 * 32
EPISODES, GALLERY, SUMMARY = "episodes.jsonl", "gallery.html", "summary.json"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("rollout", help="watch a model play an environment", description=__doc__)
    parser.add_argument("--env", default="geospot", metavar="NAME", help="environment (default geospot)")
    parser.add_argument("--list", action="store_true", help="list the environments and end")
    parser.add_argument("--attacks", action="store_true", help="play the canned attacks, without a model")
    parser.add_argument("--solve", action="store_true", help="play the solutions, without a model")
    parser.add_argument("--split", choices=("train", "test"), default="test")
    parser.add_argument("--episodes", type=_count, default=8, metavar="N", help="tasks to play (default 8)")
    parser.add_argument(
        "--samples", type=_count, default=1, metavar="K", help="completions per task (default 1)"
    )
    parser.add_argument("--batch-size", type=_count, default=8, metavar="N", help="episodes played at once")
    parser.add_argument("--temperature", type=float, default=0.0, help="0 (default) is greedy")
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument("--top-k", type=int, default=0, help="0 (default) keeps all tokens")
    parser.add_argument(
        "--max-new-tokens", type=_count, metavar="N", help="default: the environment's own limit"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the tasks and of sampling (default 0)")
    parser.add_argument(
        "--min-pixels", type=_count, metavar="N", help="least pixels of an image (default: profile)"
    )
    parser.add_argument(
        "--max-pixels", type=_count, metavar="N", help="most pixels of an image (default: profile)"
    )
    parser.add_argument("--model", type=Path, metavar="DIR", help="model folder")
    parser.add_argument("--adapter", type=Path, metavar="DIR", help="LoRA adapter for it")
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="option of the environment (repeatable)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default rollouts/NAME)")
    parser.add_argument("--quiet", action="store_true", help="no episodes on the screen")
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("give a number of at least 1")
    return value


def run(arguments: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.WARNING)
    from geo_assets.gym.registry import make
    from geo_assets.profile import load_profile

    if arguments.list:
        return _list()
    settings = _with_pixels(load_profile(), arguments)
    environment = make(arguments.env, _spec(arguments, settings))
    if arguments.attacks:
        return _attacks(environment, arguments.episodes)
    out = arguments.out or Path("rollouts") / arguments.env
    return _play(environment, settings, arguments, out)


def _list() -> int:
    from geo_assets.gym.registry import load, names

    for name in names():
        found = load(name)
        print(f"{name:16} {getattr(found, 'about', found)}")
        for option, about in sorted(getattr(found, "options", {}).items()):
            print(f"{'':16}   --option {option}=…  {about}")
    return 0


def _attacks(environment: Environment, tasks: int) -> int:
    from geo_assets.cli.rewards import _print

    table = environment.attack_table(tasks)
    _print(table.rows, False)
    print(table.message)
    return 0 if table.passed else 1


def _spec(arguments: argparse.Namespace, settings: Settings) -> Spec:
    from geo_assets.gym.environment import Spec

    options: dict[str, Any] = {}
    for text in arguments.option:
        key, equals, value = text.partition("=")
        if not equals:
            raise ProfileError(f"--option {text!r} has no value; write KEY=VALUE")
        options[key] = value
    return Spec(arguments.split, arguments.episodes, arguments.seed, settings.task, options)


def _with_pixels(settings: Settings, arguments: argparse.Namespace) -> Settings:
    """The settings with the photo sizes of the command line."""
    task = settings.task
    least = max(1, arguments.min_pixels // PIXELS_PER_CELL) if arguments.min_pixels else task.min_cells
    most = max(1, arguments.max_pixels // PIXELS_PER_CELL) if arguments.max_pixels else task.max_cells
    if least > most:
        raise ProfileError(
            f"the least pixels ({least} cells) exceed the most ({most} cells); correct --max-pixels"
        )
    sized = task.model_copy(update={"min_cells": least, "max_cells": most})
    return settings.model_copy(update={"task": sized})


def _backend(environment: Environment, settings: Settings, arguments: argparse.Namespace) -> Backend:
    from geo_assets import backends
    from geo_assets.gym.policies import Scripted

    if arguments.solve:
        last = environment.limits.max_turns
        return Scripted(lambda index, turn: environment.solution(index) if turn < last else "")
    return backends.make(
        settings.runtime, settings.task, arguments.model or profile_model(settings), arguments.adapter
    )


def profile_model(settings: Settings) -> Path:
    """The profile's model after RL, or the one that RL starts from."""
    from geo_assets.artifacts import Store
    from geo_assets.graph import Resolver
    from geo_assets.models.loading import start_model_dir
    from geo_assets.profile import home

    resolver = Resolver(settings, Store(home()))
    if merged := resolver.find("merged_model"):
        return merged.path
    if start := resolver.find("warm_start"):
        return start_model_dir(start.path)
    raise ArtifactError(
        f"profile {settings.name!r} has no merged_model and no warm_start yet; materialize one, name a "
        "folder with --model, or play the solutions with --solve"
    )


def _play(environment: Environment, settings: Settings, arguments: argparse.Namespace, out: Path) -> int:
    from geo_assets.backends.base import Sampling
    from geo_assets.gym.evaluate import summarise
    from geo_assets.gym.gallery import gallery
    from geo_assets.gym.play import Player

    sampling = Sampling(
        temperature=arguments.temperature,
        top_p=arguments.top_p,
        max_tokens=arguments.max_new_tokens or environment.limits.max_tokens,
        seed=arguments.seed,
        top_k=arguments.top_k,
    )
    out.mkdir(parents=True, exist_ok=True)
    backend = _backend(environment, settings, arguments)
    began = time.monotonic()
    player = Player(environment, backend, settings.task, sampling)
    indices = range(min(arguments.episodes, len(environment)))
    streamed = player.play(indices, arguments.samples, arguments.batch_size)
    episodes = list(_stream(streamed, out / EPISODES, arguments.quiet))
    backend.close()
    figures = summarise(episodes, environment.parts)
    (out / SUMMARY).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    low, high = figures["interval"]
    lead = (
        f"{figures['n']} tasks, {figures['samples']} completions each: mean reward "
        f"{figures['mean_reward']:.3f} [{low:.3f}, {high:.3f}], format {figures['format_rate']:.2f}"
    )
    (out / GALLERY).write_text(gallery(f"{environment.name}: episodes", lead, episodes), encoding="utf-8")
    print(f"{lead}; {time.monotonic() - began:.1f} s\n{out / EPISODES}\n{out / GALLERY}")
    return 0


def _stream(episodes: Iterable[Episode], path: Path, quiet: bool) -> Iterator[Episode]:
    """Hand on each episode after it is on the screen and on disk."""
    with path.open("w", encoding="utf-8") as file:
        for episode in episodes:
            file.write(json.dumps(episode.to_record(), ensure_ascii=False) + "\n")
            file.flush()
            if not quiet:
                print(lines(episode), flush=True)
            yield episode


def lines(episode: Episode) -> str:
    """An episode as text: what was seen, what was said, what it earned."""
    from geo_assets.gym.environment import text_of
    from geo_assets.report.escaping import clean

    shown = [f"── task {episode.index}, sample {episode.sample}"]
    for turn in episode.turns:
        said = [message for message in turn.new_messages if message["role"] != "system"]
        shown += [f"{message['role']}: {clean(text_of(message))}" for message in said]
        shown.append(
            f"model: {clean(turn.completion)}  ({turn.n_tokens} tokens, {turn.visual_tokens} visual)"
        )
    numbers = {name: value for name, value in episode.info.items() if isinstance(value, int | float)}
    parts = "  ".join(f"{name} {value:.3g}" for name, value in numbers.items())
    shown.append(f"reward {episode.reward:.3f}  {parts}")
    return "\n".join(shown)
