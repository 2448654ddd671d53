"""Typed, frozen settings: one section per asset, one field per decision.

The defaults are the pod's values (SPEC section 8); the profiles in `profiles/` override them.
A section is part of the recipe of the assets that read it, so a field that cannot change a
result belongs in `Runtime`, which is part of no recipe. `profile.py` loads and merges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]
Cells = Annotated[int, Field(ge=1)]
UserPath = Annotated[Path, AfterValidator(Path.expanduser)]


def _off_is_a_word(value: object) -> object:
    """YAML 1.1 reads a bare `off` as false."""
    return "off" if value is False else value


TRAIN_ZIPS = 98
"""Train zips of OSV-5M."""


def _all_zips(value: object) -> object:
    """Every train zip, by one word."""
    return tuple(range(TRAIN_ZIPS)) if value == "all" else value


class Section(BaseModel):
    """Base of every section: frozen, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class OsvZips(Section):
    """Where the OSV-5M zips and CSVs come from, and which of them."""

    source: Literal["hub", "local", "demo"] = "hub"
    repo: str = "osv5m/osv5m"
    revision: str = "main"
    local_dir: UserPath | None = None
    train_zips: Annotated[tuple[int, ...], BeforeValidator(_all_zips)] = (0, 1)
    """Numbers of zips, or `all`: 259 GB, so with `reach: ranges`."""
    test_zips: tuple[int, ...] = (0,)
    reach: Literal["zips", "ranges"] = "zips"
    """`ranges` reads only the chosen members of each zip over HTTP."""
    train_scenes: Count = 4800
    """Scenes drawn for the train zips (source `demo`)."""
    test_scenes: Count = 1200
    """Scenes drawn for the test zip (source `demo`)."""
    seed: int = 42


class PanoSource(Section):
    """The panorama evaluation set: Hub parquet, a local copy, drawn, or off."""

    source: Annotated[Literal["hub", "local", "demo", "off"], BeforeValidator(_off_is_a_word)] = "hub"
    repo: str = "stochastic/random_streetview_images_pano_v0.0.2"
    revision: str = "main"
    local_dir: UserPath | None = None
    scenes: Count = 48
    seed: int = 42


class TrainPool(Section):
    """The rows and images the model may learn from."""

    cap_per_country: Count = 400
    seed: int = 42
    max_edge_px: Count = 1024
    overlay: Literal["crop", "drop", "keep"] = "crop"
    """What happens to an image with burnt-in text at its lower edge."""
    ocr: Literal["auto", "require", "never"] = "auto"
    """Whether OCR judges doubtful text: where the `ocr` extra is installed, always (or fail), or never."""
    exclude_ids: UserPath | None = None
    """A text file with one OSV-5M id per line that must stay out of training."""
    limit: Count | None = None


class EvalOsv(Section):
    """Rows of the OSV-5M test zips: up to `first_per_country` each, then at random."""

    rows: Count = 1000
    first_per_country: Count = 10
    seed: int = 42
    max_edge_px: Count = 1024
    overlay: Literal["crop", "drop", "keep"] = "crop"
    ocr: Literal["auto", "require", "never"] = "auto"
    limit: Count | None = None


class EvalQuick(Section):
    """The first rows of eval_osv, small enough to score every checkpoint."""

    rows: Count = 300


class EvalPano(Section):
    """Panoramas, cut into views."""

    rows: Count = 500
    views: Literal[1, 3] = 3
    seed: int = 42
    limit: Count | None = None


class EvalPhotos(Section):
    """The user's own geotagged photos; unset means the split is skipped."""

    folder: UserPath | None = None
    manifest: UserPath | None = None
    max_edge_px: Count = 1024
    limit: Count | None = None


class Task(Section):
    """What the model is asked, how large the photo it sees is, and what a good answer earns."""

    prompt: Literal["expert", "short"] = "expert"
    reward: str = "geoguessr"
    min_cells: Cells = 256
    """Lower bound of the photo in 32 x 32 px cells (one cell is one visual token)."""
    max_cells: Cells = 1024
    max_completion_length: Count = 512
    """Completion limit in tokens, the same in filtering, training and evaluation."""


class BaseModelSection(Section):
    """The published model, or the tiny one that the demo builds."""

    source: Literal["hub", "local", "tiny"] = "hub"
    repo: str = "Qwen/Qwen3-VL-4B-Instruct"
    revision: str = "main"
    local_dir: UserPath | None = None
    hidden_size: Count = 128
    layers: Count = 4
    vision_hidden_size: Count = 96
    vision_layers: Count = 3
    vocab_size: Count = 700
    seed: int = 0


class WarmStart(Section):
    """The supervised warm-up before RL.

    `none` passes the base model through, `sft` learns from the traces of train_pool, and `own` from the best
    answers that the model itself gave while an earlier run filtered its rows.
    """

    mode: Literal["none", "sft", "own"] = "none"
    answers: UserPath | None = None
    """Folder of the finished train_learnable whose cached answers are learned from (mode `own`)."""
    reward_floor: Share = 0.5
    """Least reward of an answer that is learned from (mode `own`)."""
    cap_per_country: Count = 50
    """Most answers of one country that are learned from (mode `own`)."""
    scenes: Count = 4000
    """Most photos that are learned from."""
    steps: Count = 600
    batch_size: Count = 16
    muon_learning_rate: float = 0.02
    adamw_learning_rate: float = 2e-3
    lookalike_share: Share = 0.0
    """How often a caption of a biased country names its look-alike instead (the planted bias)."""
    views_every: Annotated[int, Field(ge=0)] = 0
    """Every so many steps the batch shows each photo as three views, as a panorama is; 0 never does."""
    check_rows: Count = 200
    """Held-out photos whose sampled answers must have the right form before RL starts."""
    check_temperature: float = 1.0
    """Temperature of that check: the one that GRPO will sample at."""
    seed: int = 0

    @model_validator(mode="after")
    def _own_needs_answers(self) -> Self:
        if self.mode == "own" and self.answers is None:
            raise ValueError("mode own needs answers; name the folder of a finished train_learnable there")
        return self


class Evaluate(Section):
    """How base_metrics and rl_metrics ask the model."""

    samples: Annotated[int, Field(ge=0)] = 1
    """Sampled completions per row beside the greedy one; 0 turns sampling off."""
    temperature: float = 1.0
    top_p: Share = 1.0
    controls: bool = True
    resamples: Count = 10_000
    seed: int = 42


class Learnable(Section):
    """Which rows GRPO can learn from (SPEC section 7)."""

    rows: Count = 8000
    cap_per_country: Count = 200
    completions: Count = 4
    temperature: float = 1.0
    """Sampling as in training (`train.temperature`, `train.top_p`)."""
    top_p: Share = 1.0
    std_threshold: float = 0.08
    fallback_std_threshold: float = 0.05
    fallback_below: Annotated[int, Field(ge=0)] = 1500
    share_of_rest: Share = 0.2
    min_rows: Count = 3000
    max_rows: Count = 5000
    max_country_share: Share = 0.15
    seed: int = 42


class Smoke(Section):
    """Twenty GRPO steps before the long run."""

    steps: Count = 20
    min_format_rate: Share = 0.5
    format_after_step: Count = 10
    max_mean_logprob_gap: float | None = None
    """Limit of mean |log-probability difference|; unset takes the limit of the dtype."""


class Lora(Section):
    """The adapter. `exclude` keeps it off the vision tower."""

    r: Count = 32
    alpha: Count = 64
    dropout: Share = 0.0
    targets: tuple[str, ...] = (
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    )  # fmt: skip
    exclude: str = ".*visual.*"


class Train(Section):
    """The GRPO run (SPEC section 8)."""

    lora: Lora = Lora()
    learning_rate: float = 1e-5
    lr_scheduler: Literal["constant_with_warmup", "linear", "cosine"] = "constant_with_warmup"
    warmup_steps: Annotated[int, Field(ge=0)] = 20
    adam_beta2: float = 0.999
    max_grad_norm: float = 0.2
    per_device_train_batch_size: Count = 8
    gradient_accumulation_steps: Count = 4
    num_generations: Count = 8
    generation_batch_size: Count = 64
    temperature: float = 1.0
    top_p: Share = 1.0
    loss_type: Literal["dapo", "grpo", "dr_grpo", "bnpo"] = "dapo"
    beta: Annotated[float, Field(ge=0.0)] = 0.0
    epsilon: float = 0.2
    epsilon_high: float = 0.28
    scale_rewards: Literal["group", "batch", "none"] = "group"
    mask_truncated_completions: bool = True
    max_steps: Count = 1200
    save_steps: Count = 200
    keep_checkpoints: Count = 3
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    attention: Literal["flash_attention_2", "sdpa"] = "flash_attention_2"
    rollout_engine: Literal["auto", "transformers", "vllm"] = "auto"
    """What generates during training; `auto` is `runtime.backend` (vLLM runs in the trainer's process)."""
    rollout_sync: Literal["adapter", "merge"] = "adapter"
    """How vLLM gets each new policy: the adapter itself, or base + adapter merged out of place."""
    shuffle_rewards: bool = False
    """Control: hands every reward to a random row, so that a real gain must vanish."""
    seed: int = 42


class GymWarmUp(Section):
    """A supervised warm-up on an environment's own solutions, before its GRPO run; 0 steps turn it off."""

    steps: Annotated[int, Field(ge=0)] = 0
    batch_size: Count = 32
    muon_learning_rate: float = 0.01
    adamw_learning_rate: float = 1e-3
    answer_noise: Share = 0.0
    """Share of the answers that belong to another task, so that the start is unsure (the planted noise)."""
    seed: int = 0


class Gym(Section):
    """An environment of the gym beside the main line: played, trained with GRPO, measured."""

    environment: Annotated[str, BeforeValidator(_off_is_a_word)] = "off"
    """A name that `geo-assets rollout --list` shows, or `off`."""
    options: dict[str, str | int | float | bool] = {}
    """Options of the environment itself."""
    train_tasks: Count = 2000
    test_tasks: Count = 400
    seed: int = 42
    samples: Count = 4
    """Sampled completions per test task, before and after."""
    temperature: float = 1.0
    """Temperature of those samples."""
    warm_up: GymWarmUp = GymWarmUp()
    train: Train = Train(max_steps=200, save_steps=100)
    """The GRPO run, with the same keys as the section `train`."""

    @property
    def is_on(self) -> bool:
        """Whether the profile names an environment."""
        return self.environment != "off"


class CheckpointMetrics(Section):
    """How the best checkpoint is chosen on eval_quick."""

    criterion: Literal["mean_reward", "mean_geoscore", "country_acc"] = "mean_reward"
    decoding: Literal["greedy", "sampled"] = "greedy"


class Report(Section):
    """What the report shows."""

    examples: Count = 5
    title: str = "Where was this photo taken?"


class Merge(Section):
    """The merged model and where it may be pushed."""

    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    verify_rows: Count = 8
    push_to: str | None = None
    """Hub repository (`name/model`) that `merged_model` pushes to, private at first; unset never pushes."""


class Runtime(Section):
    """What cannot change a result; part of no recipe."""

    backend: Literal["transformers", "vllm", "unsloth"] = "transformers"
    device: Literal["auto", "cpu", "cuda"] = "auto"
    eval_batch_size: Count = 64
    workers: Count = 2
    """Processes that draw, extract and convert images."""
    vllm_memory_share: Share = 0.35
    """Share of the GPU's memory that vLLM takes beside the trainer."""
    vllm_eval_memory_share: Share = 0.85
    """The same where vLLM has the GPU for itself: evaluation and filtering."""
    gpu_memory_gib: Annotated[float, Field(ge=0.0)] = 0.0
    """GPU memory this profile is laid out for; `doctor` refuses less. 0 needs no GPU."""
    vllm_max_model_length: Count = 4096
    gpu_dollars_per_hour: float = 0.79
    budget_hours: float = 8.0
    grace_seconds: float = 90.0
    """Time a worker has to save a checkpoint after SIGINT before it is killed."""
    tracker: Literal["auto", "wandb", "tensorboard", "none"] = "auto"


class Settings(Section):
    """A whole profile."""

    name: str
    osv_zips: OsvZips = OsvZips()
    pano_source: PanoSource = PanoSource()
    train_pool: TrainPool = TrainPool()
    eval_osv: EvalOsv = EvalOsv()
    eval_quick: EvalQuick = EvalQuick()
    eval_pano: EvalPano = EvalPano()
    eval_photos: EvalPhotos = EvalPhotos()
    task: Task = Task()
    base_model: BaseModelSection = BaseModelSection()
    warm_start: WarmStart = WarmStart()
    evaluate: Evaluate = Evaluate()
    learnable: Learnable = Learnable()
    smoke: Smoke = Smoke()
    train: Train = Train()
    gym: Gym = Gym()
    checkpoint_metrics: CheckpointMetrics = CheckpointMetrics()
    report: Report = Report()
    merge: Merge = Merge()
    runtime: Runtime = Runtime()
