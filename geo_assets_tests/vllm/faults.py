"""Runs training with vLLM inside, with a fault planted, once for each fault; writes what each run ended with.

    python -m geo_assets_tests.vllm.faults jobs.json results.json

`jobs.json` maps a fault to the path of its job. The libraries are imported once; each run is a fork of this
process. A fault patches the product the way a careless change, an update or an edited profile would.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from geo_assets.errors import GeoAssetsError
from geo_assets.workers.harness import Job

FAULTS: dict[str, Callable[[], None]] = {}
TRAINER: list[Any] = []


def fault(function: Callable[[], None]) -> Callable[[], None]:
    FAULTS[function.__name__] = function
    return function


def healthy() -> None:
    """Nothing is planted."""


for _name in ("healthy", "healthy_merge", "healthy_bfloat16", "visual_lora", "top_p", "dropout"):
    FAULTS[_name] = healthy  # what differs is in the job's settings


@fault
def double_expansion() -> None:
    from geo_assets.workers import rollout_settings

    rollout_settings.collapse_placeholders = lambda ids, image_token: list(ids)


@fault
def other_pixel_budget() -> None:
    from geo_assets.backends import vllm_engine

    vllm_engine.pixel_budget = lambda task: {"shortest_edge": 32 * 32, "longest_edge": 9 * 32 * 32}


@fault
def top_p_in_the_engine() -> None:
    _change_sampling(lambda parameters: setattr(parameters, "top_p", 0.95))


@fault
def logit_bias() -> None:
    _change_arguments({"logit_bias": {5: 4.0}})


@fault
def logit_bias_in_the_engine() -> None:
    _change_sampling(
        lambda parameters: parameters.logit_bias.update({260 + index: 2.0 for index in range(40)})
    )


@fault
def fixed_seed() -> None:
    _change_arguments({"seed": 7})


@fault
def fixed_seed_in_the_engine() -> None:
    _change_sampling(lambda parameters: setattr(parameters, "seed", 7))


@fault
def stale_adapter() -> None:
    """The engine gets the adapter once, and never again. The learning rate is the pod's."""
    from geo_assets.workers import adapter_sync

    push, pushed = adapter_sync.push_adapter, []

    def once(model: Any, runner: Any) -> None:
        if not pushed:
            pushed.append(push(model, runner))

    adapter_sync.push_adapter = once


@fault
def stock_sync() -> None:
    """TRL's own sync: merge in place, load, unmerge."""
    from trl.generation.vllm_generation import VLLMGeneration

    from geo_assets.workers.rollout_engine import RolloutEngine

    RolloutEngine.sync_weights = VLLMGeneration.sync_weights


@fault
def other_dtype() -> None:
    from geo_assets.workers import train_setup

    load = train_setup.load_model
    train_setup.load_model = lambda folder, runtime, dtype, attention: load(
        folder, runtime, "bfloat16", attention
    )


@fault
def placeholder_not_suppressed() -> None:
    """The engine may sample the image placeholder, and a bias makes it."""
    from geo_assets.backends import vllm_engine

    vllm_engine.SUPPRESSED = 100.0


def _change_sampling(change: Callable[[Any], None]) -> None:
    """Change the sampling parameters where no argument of TRL shows it."""
    from vllm import LLM

    generate = LLM.generate

    def changed(self: Any, prompts: Any, sampling_params: Any = None, **options: Any) -> Any:
        change(sampling_params)
        return generate(self, prompts, sampling_params, **options)

    LLM.generate = changed


def _change_arguments(extra: dict[str, Any]) -> None:
    from geo_assets.workers import train_setup

    config = train_setup.grpo_config

    def changed(*arguments: Any) -> Any:
        made = config(*arguments)
        made.generation_kwargs = extra
        return made

    train_setup.grpo_config = changed


def run(name: str, job: Job) -> dict[str, Any]:
    """One run: its error with its check, or its figures."""
    from geo_assets.workers import rollout_trainer, train

    build = rollout_trainer.build
    rollout_trainer.build = lambda *a, **k: TRAINER.append(build(*a, **k)) or TRAINER[-1]
    FAULTS[name]()
    began = time.monotonic()
    try:
        train.main(job)
    except GeoAssetsError as error:
        step = TRAINER[-1].state.global_step if TRAINER else 0
        kind = type(error).__name__
        return {"error": str(error), "kind": kind, "check": getattr(error, "check", None), "steps": step}
    return {"figures": job.collected, "seconds": time.monotonic() - began, **_reproduction(job)}


def _reproduction(job: Job) -> dict[str, Any]:
    """Largest difference of logits between the live policy and base + adapter as loaded from disk."""
    import torch

    from geo_assets.models.loading import attach_adapter, start_model_dir

    trainer = TRAINER[-1]
    saved = job.out / "saved_adapter"
    trainer.model.save_pretrained(saved)
    start = start_model_dir(job.upstream["warm_start"])
    loaded = attach_adapter(_base(job, start), saved)
    ids = torch.arange(5, 45)[None]
    with torch.inference_mode():
        live, again, base = (
            _logits(model, ids) for model in (trainer.model.eval(), loaded, _base(job, start))
        )
    return {"reproduced": float((live - again).abs().max()), "moved": float((live - base).abs().max())}


def _base(job: Job, start: Path) -> Any:
    from geo_assets.models.loading import load_model

    return load_model(start, job.runtime, job.settings.train.dtype, "sdpa")


def _logits(model: Any, ids: Any) -> Any:
    """Logits of everything but the image placeholder, which training suppresses."""
    logits = model(input_ids=ids).logits
    logits[..., TRAINER[-1].processing_class.image_token_id] = 0.0
    return logits


def main() -> None:
    jobs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    _import_once()
    results = {}
    for name, path in jobs.items():
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            try:
                result = run(name, Job.from_json(Path(path).read_text(encoding="utf-8")))
            except BaseException:  # whatever it is, the parent must hear of it
                result = {"crash": traceback.format_exc()}
            with os.fdopen(write, "w", encoding="utf-8") as file:
                json.dump(result, file, default=str)
            os._exit(0)
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as file:
            results[name] = json.loads(file.read() or '{"crash": "no answer"}')
        os.waitpid(child, 0)
        Path(sys.argv[2]).write_text(json.dumps(results, indent=1), encoding="utf-8")


def _import_once() -> None:
    import logging

    from geo_assets.backends.vllm_engine import import_vllm
    from geo_assets.profile import load_profile

    logging.basicConfig(level=logging.WARNING)
    import_vllm(load_profile("demo", {"GEO_RUNTIME__DEVICE": "cpu"}).runtime)
    import geo_assets.workers.rollout_trainer
    import geo_assets.workers.train  # noqa: F401


if __name__ == "__main__":
    main()
