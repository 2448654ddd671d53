"""The graph's table: exactly these assets and dependencies, and recipes that change when they must."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from geo_assets.artifacts import Artifact, Recipe, Store
from geo_assets.errors import ArtifactError
from geo_assets.graph import GRAPH, Resolver, recipe, restricted
from geo_assets.profile import load_profile
from geo_assets.settings import Section, Settings, Train

SPLITS = {"eval_osv", "eval_quick", "eval_pano", "eval_photos"}
MADE_FROM = {
    "osv_zips": set(),
    "pano_source": set(),
    "train_pool": {"osv_zips"},
    "eval_osv": {"osv_zips"},
    "eval_quick": {"eval_osv"},
    "eval_pano": {"pano_source"},
    "eval_photos": set(),
    "base_model": set(),
    "warm_start": {"base_model", "train_pool"},
    "base_metrics": {"warm_start", "base_model", *SPLITS},
    "train_learnable": {"warm_start", "train_pool"},
    "smoke_test": {"train_learnable", "warm_start"},
    "lora_checkpoints": {"smoke_test", "train_learnable", "warm_start"},
    "checkpoint_metrics": {"lora_checkpoints", "eval_quick", "train_learnable"},
    "rl_metrics": {"checkpoint_metrics", "lora_checkpoints", *SPLITS, "train_learnable"},
    "report": {
        "base_metrics", "rl_metrics", "checkpoint_metrics", "lora_checkpoints", "train_learnable",
        "smoke_test",
    },
    "merged_model": {"lora_checkpoints", "checkpoint_metrics", "base_model", "train_learnable"},
    "gym_tasks": set(),
    "gym_checkpoints": {"gym_tasks", "warm_start"},
    "gym_metrics": {"gym_checkpoints", "gym_tasks"},
}  # fmt: skip
GPU = {
    "base_metrics", "train_learnable", "smoke_test", "lora_checkpoints", "checkpoint_metrics", "rl_metrics",
    "warm_start", "merged_model", "gym_checkpoints", "gym_metrics",
}  # fmt: skip
AFTER_LEARNABLE = {
    "train_learnable", "smoke_test", "lora_checkpoints", "checkpoint_metrics", "rl_metrics", "report",
    "merged_model",
}  # fmt: skip


def test_assets_and_dependencies() -> None:
    assert {name: set(spec.upstream) for name, spec in GRAPH.items()} == MADE_FROM


def test_what_needs_the_accelerator() -> None:
    assert {name for name, spec in GRAPH.items() if spec.gpu} == GPU


def test_what_is_borrowed_lies_above() -> None:
    resolver = Resolver(load_profile("demo", {}), Store(Path("/nowhere")))
    for name, spec in GRAPH.items():
        assert set(spec.borrows) <= set(resolver.above(name))


def test_settings_of_an_asset_hold_its_sections_only() -> None:
    settings = load_profile("demo", {"GEO_TRAIN__MAX_STEPS": "7", "GEO_RUNTIME__WORKERS": "3"})
    pool = restricted(GRAPH["train_pool"], settings)
    assert pool.train_pool == settings.train_pool
    assert pool.train == Settings(name="demo").train
    assert pool.runtime.workers == 3
    smoke = restricted(GRAPH["smoke_test"], settings)
    assert smoke.train.learning_rate == settings.train.learning_rate
    assert smoke.train.max_steps == Settings(name="demo").train.max_steps


# One key of every section, and the assets whose recipe names it.
ONE_KEY_OF_EACH_SECTION: list[tuple[str, str, Any, set[str]]] = [
    ("osv_zips", "seed", 43, {"osv_zips", "report", "merged_model"}),
    ("pano_source", "scenes", 7, {"pano_source"}),
    ("train_pool", "cap_per_country", 11, {"train_pool"}),
    ("eval_osv", "rows", 11, {"eval_osv"}),
    ("eval_quick", "rows", 11, {"eval_quick"}),
    ("eval_pano", "rows", 11, {"eval_pano"}),
    ("eval_photos", "limit", 11, {"eval_photos"}),
    (
        "task", "max_completion_length", 33,
        {"base_model", "warm_start", "base_metrics", "rl_metrics", "train_learnable", "smoke_test",
         "lora_checkpoints", "checkpoint_metrics", "report", "merged_model",
         "gym_tasks", "gym_checkpoints", "gym_metrics"},
    ),
    ("base_model", "seed", 9, {"base_model", "report", "merged_model"}),
    ("warm_start", "steps", 9, {"warm_start", "report", "merged_model"}),
    ("evaluate", "samples", 9, {"base_metrics", "checkpoint_metrics", "rl_metrics", "report"}),
    ("learnable", "completions", 9, {"train_learnable"}),
    ("smoke", "steps", 9, {"smoke_test"}),
    ("train", "max_steps", 9, {"lora_checkpoints", "report", "merged_model"}),
    ("gym", "samples", 9, {"gym_metrics"}),
    ("gym", "seed", 9, {"gym_tasks", "gym_checkpoints", "gym_metrics"}),
    ("gym", "test_tasks", 9, {"gym_tasks", "gym_metrics"}),
    ("gym", "train", Train(max_steps=9), {"gym_checkpoints"}),
    ("checkpoint_metrics", "decoding", "sampled", {"checkpoint_metrics", "report", "merged_model"}),
    ("report", "examples", 9, {"report"}),
    ("merge", "verify_rows", 9, {"merged_model"}),
    ("runtime", "eval_batch_size", 9, set()),
]  # fmt: skip


def with_value(settings: Settings, section: str, key: str, value: Any) -> Settings:
    changed: Section = getattr(settings, section).model_copy(update={key: value})
    return settings.model_copy(update={section: changed})


def recipes(settings: Settings) -> dict[str, str]:
    """Each asset's recipe, were all artifacts above it unchanged."""
    stand_in = {name: Artifact(Path("/nowhere"), {"content": name}) for name in GRAPH}
    return {name: recipe(name, settings, stand_in).digest for name in GRAPH}


@pytest.mark.parametrize(("section", "key", "value", "stale"), ONE_KEY_OF_EACH_SECTION)
def test_a_changed_key_makes_these_stale(section: str, key: str, value: Any, stale: set[str]) -> None:
    settings = load_profile("demo", {})
    before, after = recipes(settings), recipes(with_value(settings, section, key, value))
    assert {name for name in GRAPH if before[name] != after[name]} == stale


def test_every_section_is_covered() -> None:
    sections = {name for name in Settings.model_fields if name != "name"}
    assert {section for section, *_ in ONE_KEY_OF_EACH_SECTION} == sections


def test_learning_rate_concerns_the_smoke_test_too() -> None:
    settings = load_profile("demo", {})
    before, after = recipes(settings), recipes(with_value(settings, "train", "learning_rate", 9e-9))
    stale = {name for name in GRAPH if before[name] != after[name]}
    assert stale == {"smoke_test", "lora_checkpoints", "report", "merged_model"}


def build_all(store: Store, settings: Settings, content: dict[str, str]) -> list[str]:
    """Materialise everything that is stale with stand-in files; return what was built."""
    built = []
    resolver = Resolver(settings, store)
    for name in GRAPH:
        wanted = resolver.recipe(name)
        assert isinstance(wanted, Recipe)

        def build(partial: Path, _lock: int, name: str = name) -> dict[str, Any]:
            (partial / "file").write_text(content.get(name, name))
            return {}

        if not store.materialise(wanted, build).reused:
            built.append(name)
    return built


def test_exactly_the_stale_closure_is_built(tmp_path: Path) -> None:
    store, demo = Store(tmp_path), load_profile("demo", {})
    assert build_all(store, demo, {}) == list(GRAPH)
    assert build_all(store, demo, {}) == []
    longer = with_value(demo, "train", "max_steps", 9)
    built = build_all(store, longer, {"lora_checkpoints": "other weights"})
    assert built == ["lora_checkpoints", "checkpoint_metrics", "rl_metrics", "report", "merged_model"]


def test_a_cap_that_changes_nothing_reuses_training(tmp_path: Path) -> None:
    store, demo = Store(tmp_path), load_profile("demo", {})
    build_all(store, demo, {})
    assert build_all(store, with_value(demo, "train_pool", "cap_per_country", 999), {}) == ["train_pool"]


def test_own_answers_count_by_their_content(tmp_path: Path) -> None:
    """The start is stale exactly when the answers that it learns from are others."""
    demo = load_profile("demo", {})
    folder = tmp_path / "train_learnable"
    folder.mkdir()

    def recipes_with(content: str) -> dict[str, str]:
        (folder / "manifest.json").write_text(f'{{"asset": "train_learnable", "content": "{content}"}}')
        section = demo.warm_start.model_copy(update={"mode": "own", "answers": folder})
        return recipes(demo.model_copy(update={"warm_start": section}))

    first, other = recipes_with("c1"), recipes_with("c2")
    assert recipes_with("c1") == first
    stale = {name for name in GRAPH if first[name] != other[name]}
    assert stale == {"warm_start", "report", "merged_model"}


def test_the_report_shows_a_gym_that_is_on_and_built(tmp_path: Path) -> None:
    store, demo = Store(tmp_path), load_profile("demo", {})
    on = with_value(demo, "gym", "environment", "nlvr2")
    build_all(store, demo, {})
    assert "gym_metrics" not in Resolver(demo, store).upstream("report")
    assert Resolver(on, store).upstream("report") == Resolver(demo, store).upstream("report")
    assert Resolver(on, store).find("report") == Resolver(demo, store).find("report")
    built = build_all(store, on, {"gym_metrics": "figures"})
    assert built == ["gym_tasks", "gym_checkpoints", "gym_metrics", "report"]
    resolver = Resolver(on, store)
    assert "gym_metrics" in resolver.upstream("report")
    assert {"gym_tasks", "gym_checkpoints"} <= set(resolver.above("report"))


def test_a_missing_upstream_is_named_with_the_remedy(tmp_path: Path) -> None:
    resolver = Resolver(load_profile("demo", {}), Store(tmp_path))
    with pytest.raises(ArtifactError, match=r"train_pool needs osv_zips, .*'\+key:train_pool'"):
        resolver.upstream("train_pool")


def test_both_grammars_select_the_same_assets() -> None:
    from dagster import AssetSelection

    from geo_assets.definitions import defs

    graph = defs.resolve_asset_graph()
    for text in ("train_learnable+", "key:train_learnable+"):
        keys = AssetSelection.from_string(text).resolve(graph)
        assert {key.to_user_string() for key in keys} == AFTER_LEARNABLE
    gym = AssetSelection.from_string("key:gym_tasks+").resolve(graph)
    assert {key.to_user_string() for key in gym} == {"gym_tasks", "gym_checkpoints", "gym_metrics", "report"}


def test_dagster_assets_equal_the_table() -> None:
    from geo_assets.definitions import defs

    graph = defs.resolve_asset_graph()
    for name, spec in GRAPH.items():
        node = graph.get(next(key for key in graph.get_all_asset_keys() if key.to_user_string() == name))
        assert {key.to_user_string() for key in node.parent_keys} == {*spec.upstream, *spec.shows}
        assert node.group_name == spec.group
        assert node.owners == ["team:geo-assets"]
        assert ("compute" in node.tags) == spec.gpu
        assert node.pools == ({"gpu"} if spec.gpu else set())
        assert node.description == spec.description


def test_loading_the_definitions_loads_no_torch() -> None:
    code = "import geo_assets.definitions, sys; print({'torch', 'transformers', 'polars'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_an_unknown_profile_is_one_line_and_not_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEO_PROFILE", "dema")
    done = subprocess.run(
        [sys.executable, "-c", "import geo_assets.definitions"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.strip() == "geo_assets: unknown profile 'dema'; did you mean 'demo'?"


def test_the_two_ways_to_name_the_definitions_agree() -> None:
    import tomllib

    import yaml

    root = Path(__file__).parents[1]
    block = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["dagster"]
    (location,) = yaml.safe_load((root / "workspace.yaml").read_text())["load_from"]
    assert location["python_module"] == {
        "module_name": block["module_name"], "location_name": block["code_location_name"],
    }  # fmt: skip
