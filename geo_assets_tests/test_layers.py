"""An arrow may only point down the list of layers; heavy libraries stay where they belong."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import geo_assets

PACKAGE = Path(geo_assets.__file__).parent
# A layer may import itself, the layers below it, and the modules at the top of the package.
LAYERS = ("defs", "workers", "gym", "backends", "models", "report", "task", "osv", "world", "geo")
PEERS = {"task": {"osv", "world"}, "osv": {"world"}, "world": set()}
HEAVY = {"torch", "transformers", "trl", "peft", "vllm", "accelerate", "datasets"}
PURE = {"geo", "osv", "task", "world", "report"}
# `defs` starts workers by name; of their code it knows the job and nothing else.
WORKERS_KNOWN_TO_DEFS = {"geo_assets.workers.harness"}


def imports(path: Path, *, module_level: bool = False) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if module_level else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def modules(layer: str) -> list[Path]:
    return sorted((PACKAGE / layer).rglob("*.py"))


def layers_of(names: set[str]) -> set[str]:
    parts = [name.split(".") for name in names if name.startswith("geo_assets.")]
    return {part[1] for part in parts if part[1] in LAYERS}


@pytest.mark.parametrize("layer", [*PEERS, "geo", "models", "backends", "report", "gym"])
def test_arrows_point_down(layer: str) -> None:
    below = set(LAYERS[LAYERS.index(layer) :])
    allowed = below if layer not in PEERS else {layer, "geo", *PEERS[layer]}
    wrong = {path.name: up for path in modules(layer) if (up := layers_of(imports(path)) - allowed)}
    assert wrong == {}


@pytest.mark.parametrize("layer", sorted(PURE))
def test_pure_layers_know_neither_dagster_nor_torch(layer: str) -> None:
    for path in modules(layer):
        roots = {name.split(".")[0] for name in imports(path)}
        assert roots.isdisjoint(HEAVY | {"dagster"}), path


def test_workers_do_not_know_dagster() -> None:
    for layer in ("workers", "gym", "backends", "models"):
        for path in modules(layer):
            assert "dagster" not in {name.split(".")[0] for name in imports(path)}, path


def test_the_gym_imports_no_heavy_library_on_import() -> None:
    """An environment's own package, and a rollout without a model, need neither torch nor transformers."""
    for path in modules("gym"):
        roots = {name.split(".")[0] for name in imports(path, module_level=True)}
        assert roots.isdisjoint(HEAVY), path


def test_definitions_know_workers_by_name_only() -> None:
    for path in modules("defs"):
        names = {name for name in imports(path) if name.startswith("geo_assets.workers")}
        names -= {name for name in names if name.startswith("geo_assets.workers.harness.")}
        assert names <= WORKERS_KNOWN_TO_DEFS, path


def test_definitions_import_nothing_that_starts_threads_or_touches_a_gpu() -> None:
    """The fork server forks a process that has these modules loaded."""
    for path in [*modules("defs"), PACKAGE / "definitions.py", PACKAGE / "graph.py"]:
        roots = {name.split(".")[0] for name in imports(path, module_level=True)}
        assert roots.isdisjoint(HEAVY | {"polars"}), path
