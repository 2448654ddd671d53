"""Keys, Dagster's home, contradictions in the profile, and artifacts whose files have changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from geo_assets.artifacts import Store
from geo_assets.doctor.finding import Finding
from geo_assets.settings import Settings

LEAST_CELLS_ON_A_POD = 512


def keys(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Which keys are set; their values are never shown."""
    if environment.get("WANDB_API_KEY"):
        yield Finding("ok", "WANDB_API_KEY is set: curves go to Weights & Biases")
    else:
        yield Finding("ok", "no WANDB_API_KEY: curves go to TensorBoard under the artifact")
    if not environment.get("HF_TOKEN"):
        yield Finding(
            "ok", "no HF_TOKEN in the environment (needed for gated models and for a push to the Hub)"
        )


def dagster_home(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Where Dagster keeps the history of runs."""
    named = environment.get("DAGSTER_HOME")
    if not named:
        yield Finding("ok", "DAGSTER_HOME is not set: history lies in .dagster beside dagster.yaml")
        return
    folder = Path(named)
    file = folder / "dagster.yaml"
    copy = f"sed 's#base_dir: .dagster#base_dir: {folder}#' dagster.yaml > {file}"
    if not folder.is_absolute() or not folder.is_dir():
        yield Finding(
            "fail", f"DAGSTER_HOME is {named}, which is no folder", "create it, and give an absolute path"
        )
    elif not file.is_file():
        yield Finding("warn", f"{folder} has no dagster.yaml: pools would not limit GPU steps", copy)
    elif "base_dir: .dagster" in file.read_text(encoding="utf-8"):
        yield Finding("warn", f"{file} keeps the history in .dagster of the folder you start in", copy)
    else:
        yield Finding("ok", f"DAGSTER_HOME is {folder}")


def profile(settings: Settings) -> Iterator[Finding]:
    """Values that are allowed one by one and wrong together."""
    train, task, runtime = settings.train, settings.task, settings.runtime
    if train.top_p < 1.0:
        yield Finding(
            "fail", f"train.top_p is {train.top_p:g}: the importance ratio is biased", "set train.top_p: 1.0"
        )
    if (settings.learnable.temperature, settings.learnable.top_p) != (train.temperature, train.top_p):
        yield Finding(
            "warn",
            "learnable samples otherwise than train does",
            "set learnable.temperature and top_p as in train",
        )
    if runtime.gpu_memory_gib and task.max_cells < LEAST_CELLS_ON_A_POD:
        yield Finding(
            "warn",
            f"task.max_cells is {task.max_cells}",
            f"photos lose detail; set at least {LEAST_CELLS_ON_A_POD}",
        )
    if (
        task.max_completion_length + task.max_cells + 1024 > runtime.vllm_max_model_length
        and runtime.backend == "vllm"
    ):
        yield Finding(
            "fail",
            f"runtime.vllm_max_model_length is {runtime.vllm_max_model_length}",
            "raise it above photo + prompt + answer",
        )
    if train.generation_batch_size % train.num_generations:
        yield Finding("fail", "train.generation_batch_size is no multiple of num_generations", "set 64 and 8")
    yield Finding("ok", f"profile {settings.name}: backend {runtime.backend}, reward {task.reward}")


def artifacts(home: Path) -> Iterator[Finding]:
    """Every artifact, with the hash of every file."""
    whole = Store(home).all()
    damaged = 0
    for artifact in whole:
        if files := artifact.damaged_files(hashes=True):
            damaged += 1
            what = f"{artifact.path}: {len(files)} damaged files, first {files[0]}"
            yield Finding("fail", what, "delete that folder and materialize the asset again")
    yield Finding("ok", f"{len(whole) - damaged} of {len(whole)} artifacts are as they were written")
