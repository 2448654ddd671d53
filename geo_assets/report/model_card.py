"""The model card of the merged model and of its adapter, in the Hub's format.

The front matter is the Hub's (base model, licence, data, tags, model-index with 95% intervals); the text says
how the model was trained, how good it is and on what, what it is not for, and whom to name. Figures come from
the evaluation that chose the checkpoint, and the card says so: the paired comparison is the report's. The
same inputs give the same bytes: no clock, no time of the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from huggingface_hub import EvalResult, ModelCardData

from geo_assets.report import wording
from geo_assets.report.render import environment
from geo_assets.settings import Settings
from geo_assets.task import prompt
from geo_assets.task.rewards import get_reward

Kind = Literal["merged", "adapter"]

METRIC_KEYS = (
    "mean_geoscore", "country_acc", "median_km", "acc_at_km.200", "acc_at_km.750", "acc_at_km.2500",
    "region_acc", "mean_reward", "format_rate",
)  # fmt: skip
TAGS = ("geolocation", "geoguessr", "grpo", "trl", "lora", "vision-language")
PACKAGES = ("geo_assets", "trl", "transformers", "peft", "torch")
CELL_PX = 32
APACHE = ("qwen/qwen3-vl", "qwen/qwen3.5")
"""Published models under the Apache License 2.0, by the beginning of their name in lower case."""


@dataclass(frozen=True)
class Facts:
    """What a card is written from."""

    settings: Settings
    source: Mapping[str, str]
    """`source.json` of base_model: `model` and `revision`."""
    best: Mapping[str, Any]
    metrics: Mapping[str, Any]
    """Metrics of the chosen checkpoint on eval_quick, with intervals."""
    checkpoints: int
    train_stats: Mapping[str, Any]
    filter_stats: Mapping[str, Any]
    same_answers: int
    verified_rows: int
    name: str = "geo_assets"

    @property
    def is_demo(self) -> bool:
        return self.settings.osv_zips.source == "demo"

    @property
    def base_repo(self) -> str | None:
        """The base model's name on the Hub; a local folder and the tiny demo model have none."""
        return self.source["model"] if self.settings.base_model.source == "hub" else None

    @property
    def warmed_up(self) -> bool:
        return self.settings.warm_start.mode != "none"


def licence(facts: Facts) -> dict[str, str]:
    """Licence entries of the front matter: the base model's, because a fine-tune inherits it."""
    if facts.settings.base_model.source == "tiny":
        return {"license": "apache-2.0"}
    if (facts.base_repo or "").lower().startswith(APACHE):
        return {"license": "apache-2.0"}
    found = {"license": "other", "license_name": "license-of-the-base-model"}
    if facts.base_repo:
        found["license_link"] = f"https://huggingface.co/{facts.base_repo}"
    return found


def split_name(facts: Facts) -> str:
    """What the photos behind the figures are."""
    return "drawn test scenes" if facts.is_demo else "photos of the OSV-5M test set"


def _eval_results(facts: Facts) -> Iterator[EvalResult]:
    intervals = facts.metrics.get("intervals", {})
    demo = facts.is_demo
    for key in METRIC_KEYS:
        amount = wording.lookup(facts.metrics, key)
        if amount is None:
            continue
        arguments: dict[str, Any] = {"n": int(facts.metrics["n_photos"])}
        if (bounds := _bounds(intervals, key)) is not None:
            arguments["confidence_interval_95"] = [round(bound, 4) for bound in bounds]
        yield EvalResult(
            task_type="image-text-to-text",
            task_name="Image geolocation",
            dataset_type="geo-assets-demo" if demo else facts.settings.osv_zips.repo,
            dataset_name="Drawn street scenes (eval_quick)" if demo else "OSV-5M test (eval_quick)",
            dataset_split="test",
            metric_type=key.replace(".", "_"),
            metric_name=wording.BY_KEY[key].label,
            metric_value=round(amount, 4),
            metric_args=arguments,
        )


def _bounds(intervals: Mapping[str, Any], key: str) -> list[float] | None:
    """The interval of a metric by its dotted key."""
    found: Any = intervals
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return [float(bound) for bound in found] if found else None


def card_data(facts: Facts, kind: Kind) -> ModelCardData:
    """The front matter."""
    return ModelCardData(
        base_model=facts.base_repo,
        base_model_relation=None if facts.base_repo is None else {"merged": "finetune"}.get(kind, kind),
        datasets=None if facts.is_demo else [facts.settings.osv_zips.repo],
        eval_results=list(_eval_results(facts)),
        language=["en"],
        library_name="transformers" if kind == "merged" else "peft",
        model_name=facts.name,
        pipeline_tag="image-text-to-text",
        tags=[*TAGS, *(["demo"] if facts.is_demo else [])],
        **licence(facts),  # type: ignore[arg-type]
    )


def metric_rows(facts: Facts) -> list[tuple[str, str, str]]:
    """(metric, value, 95% interval) of the chosen checkpoint."""
    rows = []
    for key in METRIC_KEYS:
        metric = wording.BY_KEY[key]
        amount = wording.lookup(facts.metrics, key)
        if amount is not None:
            bounds = _bounds(facts.metrics.get("intervals", {}), key)
            between = " to ".join(wording.value(bound, metric.unit) for bound in bounds or ())
            rows.append((metric.label, wording.value(amount, metric.unit), between or wording.NONE))
    return rows


def training_rows(facts: Facts) -> list[tuple[str, str]]:
    """The settings that a reader needs to do it again."""
    train, task, stats = facts.settings.train, facts.settings.task, facts.train_stats
    per_step = train.per_device_train_batch_size * train.gradient_accumulation_steps
    scaled = (
        "rewards not scaled" if train.scale_rewards == "none" else f"rewards scaled by {train.scale_rewards}"
    )
    rows = [
        ("Method", f"GRPO ({train.loss_type} loss, beta {train.beta:g}, {scaled})"),
        ("Reward", f"`{task.reward}`: {get_reward(task.reward).about}"),
        ("Steps", f"{stats.get('steps', train.max_steps):,}, checkpoint {facts.best['step']:,} chosen"),
        ("Photos", f"{stats.get('rows', 0):,}: those that the start model is sometimes right about, "
                   "and a share of the rest"),
        ("Completions a step", f"{per_step} ({per_step // train.num_generations} photos x "
                               f"{train.num_generations})"),
        ("Sampling", f"temperature {train.temperature:g}, top_p {train.top_p:g}, "
                     f"up to {task.max_completion_length} tokens"),
        ("Learning rate", f"{train.learning_rate:g}, {train.lr_scheduler.replace('_', ' ')}, "
                          f"{train.warmup_steps} warm-up steps, gradient norm <= {train.max_grad_norm:g}"),
        ("LoRA", f"r {train.lora.r}, alpha {train.lora.alpha}, dropout {train.lora.dropout:g}, on "
                 f"{', '.join(train.lora.targets)} of the language model only"),
        ("Trained parameters", f"{stats.get('trainable_parameters', 0):,}"),
        ("Precision", train.dtype),
        ("Photo size", f"{task.min_cells} to {task.max_cells} cells of {CELL_PX} x {CELL_PX} px"),
        ("Seed", str(train.seed)),
    ]  # fmt: skip
    if stats.get("tokens_seen"):
        rows.insert(5, ("Tokens", f"{stats['tokens_seen']:,} seen in training"))
    return rows


def versions() -> str:
    """The packages that matter for loading and training."""
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def model_card(facts: Facts, kind: Kind = "merged") -> str:
    """`README.md` for the folder of the merged model, or of its adapter."""
    style = facts.settings.task.prompt
    return environment(html=False).get_template("model_card.md.j2").render(
        front_matter=card_data(facts, kind).to_yaml(line_break="\n"),
        kind=kind,
        facts=facts,
        settings=facts.settings,
        base=_base_words(facts),
        photos=split_name(facts),
        metrics=metric_rows(facts),
        training=training_rows(facts),
        before=_before_words(facts),
        versions=versions(),
        system=prompt.SYSTEM[style],
        question=prompt.user_text(style),
        pixels=CELL_PX * CELL_PX,
        contaminated=facts.checkpoints > 1,
    )  # fmt: skip


def _base_words(facts: Facts) -> str:
    if facts.base_repo:
        link = f"[{facts.base_repo}](https://huggingface.co/{facts.base_repo})"
        return f"{link} (revision `{facts.source['revision']}`)"
    return f"{facts.source['model']} ({facts.source['revision']})"


def _before_words(facts: Facts) -> str | None:
    """What the start model did on the training rows that were sampled, as one sentence."""
    stats = facts.filter_stats
    if stats.get("base_country_acc") is None:
        return None
    return (
        f"Before RL, sampled answers to {stats.get('rows_sampled', 0):,} photos of the pool named the "
        f"right country {wording.value(stats['base_country_acc'], 'share')} of the time (mean reward "
        f"{wording.value(stats.get('base_mean_reward'), 'reward')})"
    )
