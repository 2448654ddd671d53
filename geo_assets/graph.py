"""The asset graph as one table: what each asset is made from, which settings it reads, who builds it.

`defs/` turns this table into Dagster assets and `cli/plan.py` reads it without Dagster, so the two cannot
disagree. What it leaves out: how an asset is built (`osv`, `workers`, `report`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from geo_assets.artifacts import Artifact, Recipe, Store
from geo_assets.errors import ArtifactError
from geo_assets.profile import recipe_values
from geo_assets.settings import Settings
from geo_assets.task import prompt

EVAL_SPLITS = ("eval_osv", "eval_quick", "eval_pano", "eval_photos")

# Tasks depend on neither how they are trained on nor how they are played; training not on how it is judged.
_NOT_IN_TASKS = frozenset({"samples", "temperature", "warm_up", "train"})
_NOT_IN_GYM_RUN = frozenset({"samples", "temperature", "test_tasks"})
_NOT_IN_GYM_METRICS = frozenset({"train", "train_tasks"})

# A smoke test is valid for a run of any length, so these do not make it stale.
_NOT_IN_SMOKE = frozenset({"max_steps", "save_steps", "keep_checkpoints", "shuffle_rewards"})


@dataclass(frozen=True)
class AssetSpec:
    """One row of the graph. `worker` names a program of `geo_assets.workers`; light assets have none."""

    name: str
    group: str
    description: str
    upstream: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    worker: str | None = None
    kinds: tuple[str, ...] = ()
    resumable: bool = False
    code_version: str = "1"
    without: frozenset[str] = frozenset()
    """Keys of the sections `train` and `gym` that this asset does not depend on."""
    borrows: tuple[str, ...] = ()
    """Assets further up that it reads too. The content of a direct upstream already covers theirs."""
    shows: tuple[str, ...] = ()
    """Assets of the gym that it reads where the gym is on and they are built; it comes after them."""

    @property
    def gpu(self) -> bool:
        return self.worker is not None and self.name != "base_model"


_SPECS = (
    AssetSpec(
        "osv_zips", "sources",
        "The OSV-5M zips and CSV files that the profile names, downloaded (or drawn, in the demo) and "
        "verified: street-level photos with their coordinates.",
        sections=("osv_zips",), kinds=("file",), resumable=True,
    ),
    AssetSpec(
        "pano_source", "sources",
        "The panorama data set that only evaluation reads, as the parquet files of its Hub repository "
        "(drawn in the demo).",
        sections=("pano_source",), kinds=("parquet",), resumable=True,
    ),
    AssetSpec(
        "train_pool", "data",
        "The photos that the model may learn from: at most a fixed number for each country, cleaned, and "
        "with nothing in common with the evaluation sets.",
        ("osv_zips",), ("train_pool",), kinds=("polars", "parquet"), resumable=True,
    ),
    AssetSpec(
        "eval_osv", "data",
        "The main test: photos of the OSV-5M test zips, some from each country first, then at random.",
        ("osv_zips",), ("eval_osv",), kinds=("polars", "parquet"), resumable=True,
    ),
    AssetSpec(
        "eval_quick", "data",
        "The first rows of eval_osv: small enough to score each checkpoint.",
        ("eval_osv",), ("eval_quick",), kinds=("polars", "parquet"),
    ),
    AssetSpec(
        "eval_pano", "data",
        "Panoramas cut into views: a test on another camera and another source.",
        ("pano_source",), ("eval_pano",), kinds=("polars", "parquet"),
    ),
    AssetSpec(
        "eval_photos", "data",
        "Your own geotagged photos, if the profile names a folder of them; else an empty set.",
        (), ("eval_photos",), kinds=("polars", "parquet"),
    ),
    AssetSpec(
        "base_model", "model",
        "The published model that all of this starts from, at a pinned revision (a tiny one of the same "
        "architecture in the demo).",
        (), ("base_model", "task"), "base_model", ("pytorch", "huggingface"), True,
    ),
    AssetSpec(
        "warm_start", "model",
        "The model that RL starts from: the base model after a supervised warm-up where the profile asks "
        "for one, else the base model itself.",
        ("base_model", "train_pool"), ("warm_start", "task"), "warm_start", ("pytorch",), True,
    ),
    AssetSpec(
        "base_metrics", "evaluation",
        "What the base model and the start model answer on every evaluation set, before RL.",
        ("warm_start", "base_model", *EVAL_SPLITS), ("evaluate", "task"), "predict", ("pytorch",), True,
    ),
    AssetSpec(
        "train_learnable", "rl",
        "The rows that GRPO can learn from: those where the start model is sometimes right and sometimes "
        "wrong, with its cached answers.",
        ("warm_start", "train_pool"), ("learnable", "task"), "learnable", ("pytorch", "parquet"), True,
    ),
    AssetSpec(
        "smoke_test", "rl",
        "Twenty GRPO steps: do the answers keep their form, how long does a step take, how many steps fit "
        "the budget?",
        ("train_learnable", "warm_start"), ("smoke", "train", "task"), "train", ("trl",), True,
        without=_NOT_IN_SMOKE,
    ),
    AssetSpec(
        "lora_checkpoints", "rl",
        "The GRPO run itself: LoRA checkpoints, training curves and sample answers.",
        ("smoke_test", "train_learnable", "warm_start"), ("train", "task"), "train", ("trl",), True,
    ),
    AssetSpec(
        "checkpoint_metrics", "evaluation",
        "Each checkpoint on eval_quick; which one is best, and why.",
        ("lora_checkpoints", "eval_quick", "train_learnable"),
        ("checkpoint_metrics", "evaluate", "task"), "checkpoints", ("pytorch",), True,
        borrows=("warm_start",),
    ),
    AssetSpec(
        "rl_metrics", "evaluation",
        "What the chosen checkpoint answers on every evaluation set.",
        ("checkpoint_metrics", "lora_checkpoints", *EVAL_SPLITS, "train_learnable"),
        ("evaluate", "task"), "predict", ("pytorch",), True, borrows=("warm_start",),
    ),
    AssetSpec(
        "gym_tasks", "gym",
        "Another task than the product's own: the questions of the environment that the profile names, with "
        "their images, and what its canned attacks earn.",
        (), ("gym", "task"), kinds=("file",), without=_NOT_IN_TASKS,
    ),
    AssetSpec(
        "gym_checkpoints", "gym",
        "GRPO on that environment, from the start model: LoRA checkpoints, training curves, sample answers.",
        ("gym_tasks", "warm_start"), ("gym", "task"), "gym_train", ("trl",), True, without=_NOT_IN_GYM_RUN,
    ),
    AssetSpec(
        "gym_metrics", "gym",
        "The environment's test tasks before and after GRPO: rewards with paired intervals, a control and a "
        "page.",
        ("gym_checkpoints", "gym_tasks"), ("gym", "task"), "gym_metrics", ("pytorch",), True,
        code_version="2", without=_NOT_IN_GYM_METRICS, borrows=("warm_start",),
    ),
    AssetSpec(
        "report", "results",
        "The honest answer: is the model better, by how much, how sure is that, where, and at what cost.",
        ("base_metrics", "rl_metrics", "checkpoint_metrics", "lora_checkpoints", "train_learnable",
         "smoke_test"),
        # It shows what the run was made with, so it reads more sections than it depends on for figures.
        ("report", "evaluate", "task", "osv_zips", "base_model", "warm_start", "train",
         "checkpoint_metrics"),
        kinds=("markdown",), shows=("gym_metrics",),
    ),
    AssetSpec(
        "merged_model", "results",
        "The chosen adapter merged into the model, with its processor and model card, ready to load.",
        ("lora_checkpoints", "checkpoint_metrics", "base_model", "train_learnable"),
        # Its model card says what the run was made with.
        ("merge", "task", "osv_zips", "base_model", "warm_start", "train", "checkpoint_metrics"),
        "merge", ("pytorch", "huggingface"), True, borrows=("warm_start",),
    ),
)  # fmt: skip

_TRIMMED = frozenset({"train", "gym"})
"""Sections of which `without` leaves keys out."""

GRAPH: dict[str, AssetSpec] = {spec.name: spec for spec in _SPECS}


def restricted(spec: AssetSpec, settings: Settings) -> Settings:
    """`settings` with every section that `spec` does not read back at its default.

    A worker gets this, so that it cannot depend on a value that is missing from its recipe.
    """
    kept = {name: getattr(settings, name) for name in spec.sections}
    for name in _TRIMMED.intersection(kept):
        default = type(kept[name])()
        unread = {key: getattr(default, key) for key in spec.without}
        kept[name] = kept[name].model_copy(update=unread)
    return Settings(name=settings.name, runtime=settings.runtime, **kept)


def recipe(name: str, settings: Settings, upstream: Mapping[str, Artifact]) -> Recipe:
    """The recipe of `name` under `settings`, given its upstream artifacts and those that it shows."""
    spec = GRAPH[name]
    values: dict[str, object] = {
        section: recipe_values(getattr(settings, section), spec.without if section in _TRIMMED else ())
        for section in spec.sections
    }
    if "task" in spec.sections:
        values["prompt"] = prompt.digest(settings.task.prompt)
    shown = set(spec.shows) & set(upstream)
    contents = {asset: upstream[asset].content for asset in sorted({*spec.upstream, *shown})}
    return Recipe(name, spec.code_version, values, contents)


class Resolver:
    """Finds the current artifact of each asset: the one whose recipe follows from `settings`."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self._found: dict[str, Artifact | None] = {}

    def find(self, name: str) -> Artifact | None:
        """The current artifact of `name`, or None where it, or anything above it, is not built."""
        if name not in self._found:
            recipe_ = self.recipe(name)
            self._found[name] = self.store.find(recipe_) if recipe_ else None
        return self._found[name]

    def recipe(self, name: str) -> Recipe | None:
        """The recipe of `name`, or None while an upstream artifact is not built."""
        upstream = {asset: self.find(asset) for asset in GRAPH[name].upstream}
        whole = {asset: artifact for asset, artifact in upstream.items() if artifact}
        if len(whole) < len(upstream):
            return None
        return recipe(name, self.settings, {**whole, **self.shown(name)})

    def shown(self, name: str) -> dict[str, Artifact]:
        """The artifacts of the gym that `name` shows: none where it is off, or not built."""
        wanted = GRAPH[name].shows if self.settings.gym.is_on else ()
        return {asset: artifact for asset in wanted if (artifact := self.find(asset))}

    def need(self, name: str, for_: str | None = None) -> Artifact:
        """The current artifact of `name`.

        Raises:
            ArtifactError: it is not built under the current profile.
        """
        artifact = self.find(name)
        if artifact is None:
            subject = f"{for_} needs {name}, which" if for_ else name
            raise ArtifactError(
                f"{subject} is not built for profile {self.settings.name!r}; "
                f"materialize it first (selection '+key:{for_ or name}' builds all that is missing)"
            )
        return artifact

    def above(self, name: str) -> list[str]:
        """Every asset above `name`, in graph order."""
        found: set[str] = set()
        waiting = [*GRAPH[name].upstream, *self.shown(name)]
        while waiting:
            asset = waiting.pop()
            if asset not in found:
                found.add(asset)
                waiting.extend((*GRAPH[asset].upstream, *self.shown(asset)))
        return [asset for asset in GRAPH if asset in found]

    def upstream(self, name: str) -> dict[str, Artifact]:
        """The artifacts that `name` reads: its upstream, what it borrows and what it shows.

        Raises:
            ArtifactError: one of them is not built under the current profile.
        """
        needed = (*GRAPH[name].upstream, *GRAPH[name].borrows)
        return {asset: self.need(asset, name) for asset in needed} | self.shown(name)
