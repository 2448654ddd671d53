"""The artifact contract, without Dagster: atomic, locked, resumable, checked on reuse."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geo_assets.artifacts import Recipe, Store
from geo_assets.errors import ArtifactError

RECIPE = Recipe("pool", "1", {"cap": 400, "seed": 1}, {"zips": "abc"})


def write(text: str, name: str = "rows.txt"):
    def build(partial: Path, _lock: int) -> dict[str, int]:
        (partial / name).write_text(text)
        return {"rows": len(text)}

    return build


def never(_partial: Path, _lock: int) -> dict[str, int]:
    raise AssertionError("built again")


def test_same_recipe_is_reused_and_another_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path)
    built = store.materialise(RECIPE, write("abc"))
    again = store.materialise(RECIPE, never)
    assert (built.reused, again.reused) == (False, True)
    assert again.content == built.content
    assert again.metadata == {"rows": 3}
    other = Recipe("pool", "1", {"cap": 401, "seed": 1}, {"zips": "abc"})
    assert store.find(other) is None


@pytest.mark.parametrize(
    "changed",
    [
        Recipe("pool", "2", RECIPE.settings, RECIPE.upstream),
        Recipe("pool", "1", {"cap": 400, "seed": 2}, RECIPE.upstream),
        Recipe("pool", "1", RECIPE.settings, {"zips": "abd"}),
        Recipe("pool", "1", RECIPE.settings, {"zip": "abc"}),
    ],
)
def test_recipe_names_everything_it_is_made_from(changed: Recipe) -> None:
    assert changed.digest != RECIPE.digest


def test_content_depends_on_files_only(tmp_path: Path) -> None:
    store = Store(tmp_path)
    one = store.materialise(RECIPE, write("abc"))
    other = Recipe("pool", "1", {"cap": 401}, {})
    same = store.materialise(other, write("abc"))
    assert same.content == one.content
    assert store.materialise(other, write("abd"), force=True).content != one.content
    assert store.materialise(other, write("abc", "log_history.jsonl"), force=True).content != one.content


def test_volatile_files_are_kept_but_not_part_of_the_content(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def build(seconds: str):
        def fill(partial: Path, _lock: int) -> dict[str, int]:
            (partial / "adapter.bin").write_text("weights")
            (partial / "log_history.jsonl").write_text(seconds)
            return {}

        return fill

    first = store.materialise(RECIPE, build("1.0"))
    second = store.materialise(RECIPE, build("1.1"), force=True)
    assert first.content == second.content
    assert (second.path / "log_history.jsonl").read_text() == "1.1"


def test_force_rebuilds_and_leaves_one_artifact(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.materialise(RECIPE, write("abc"))
    forced = store.materialise(RECIPE, write("xyz"), force=True)
    assert (forced.path / "rows.txt").read_text() == "xyz"
    assert sorted(p.name for p in (tmp_path / "pool").iterdir()) == [
        RECIPE.digest, f"{RECIPE.digest}.lock", "latest",
    ]  # fmt: skip
    assert (tmp_path / "pool" / "latest" / "rows.txt").read_text() == "xyz"


def test_failure_leaves_nothing_visible(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def fail(partial: Path, _lock: int) -> dict[str, int]:
        (partial / "rows.txt").write_text("half")
        raise ValueError("bad row")

    with pytest.raises(ValueError, match="bad row"):
        store.materialise(RECIPE, fail)
    assert store.find(RECIPE) is None
    assert store.leftovers() == []


def test_resumable_build_continues_from_its_progress(tmp_path: Path) -> None:
    store = Store(tmp_path)

    def build(partial: Path, _lock: int) -> dict[str, int]:
        progress = partial / "progress.txt"
        before = progress.read_text() if progress.exists() else ""
        progress.write_text(before + "x")
        if not before:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        store.materialise(RECIPE, build, resumable=True)
    assert store.find(RECIPE) is None
    assert (store.materialise(RECIPE, build, resumable=True).path / "progress.txt").read_text() == "xx"


def test_force_does_not_resume(tmp_path: Path) -> None:
    store = Store(tmp_path)
    partial = store.path(RECIPE).with_name(RECIPE.digest + ".partial")
    partial.mkdir(parents=True)
    (partial / "progress.txt").write_text("old")
    artifact = store.materialise(RECIPE, write("new"), force=True, resumable=True)
    assert [p.name for p in artifact.path.iterdir() if p.name != "manifest.json"] == ["rows.txt"]


@pytest.mark.parametrize("damage", ["truncate", "delete"])
def test_damaged_artifact_is_rebuilt(tmp_path: Path, damage: str) -> None:
    store = Store(tmp_path)
    path = store.materialise(RECIPE, write("abc")).path / "rows.txt"
    path.write_text("a") if damage == "truncate" else path.unlink()
    assert store.find(RECIPE) is None
    assert (store.materialise(RECIPE, write("abc")).path / "rows.txt").read_text() == "abc"


def test_hashes_find_a_flipped_byte(tmp_path: Path) -> None:
    artifact = Store(tmp_path).materialise(RECIPE, write("abc"))
    (artifact.path / "rows.txt").write_text("abd")
    assert artifact.damaged_files() == []
    assert artifact.damaged_files(hashes=True) == ["rows.txt"]


def test_unreadable_manifest_counts_as_absent(tmp_path: Path) -> None:
    store = Store(tmp_path)
    artifact = store.materialise(RECIPE, write("abc"))
    (artifact.path / "manifest.json").write_text("{")
    assert store.find(RECIPE) is None


def test_manifest_of_the_contract(tmp_path: Path) -> None:
    artifact = Store(tmp_path).materialise(RECIPE, write("abc"))
    manifest = json.loads((artifact.path / "manifest.json").read_text())
    assert manifest["files"] == {
        "rows.txt": {
            "size": 3,
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        }
    }
    assert manifest["recipe"] == RECIPE.digest
    assert manifest["upstream"] == {"zips": "abc"}
    assert manifest["settings"] == {"cap": 400, "seed": 1}


_KILLED = """
import sys, time
from pathlib import Path
from geo_assets.artifacts import Recipe, Store

def build(partial, lock):
    for i in range(1000):
        (partial / f"{i}.txt").write_text("x")
        print(i, flush=True)
        time.sleep(0.002)
    return {}

Store(Path(sys.argv[1])).materialise(Recipe("pool", "1", {}, {}), build, resumable=True)
"""


@pytest.mark.parametrize("after", [0, 3, 40])
def test_kill_nine_leaves_nothing_half_visible(tmp_path: Path, after: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if int(line) >= after:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    store = Store(tmp_path)
    recipe = Recipe("pool", "1", {}, {})
    assert store.find(recipe) is None
    assert store.all() == []
    assert [p.name for p in store.leftovers()] == [f"{recipe.digest}.partial"]
    assert len(list(store.materialise(recipe, write("x", "0.txt")).path.iterdir())) == 2


def _build_slowly(home: str, ready: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    def build(partial: Path, _lock: int) -> dict[str, int]:
        ready.put("building")
        time.sleep(0.5)
        (partial / "who.txt").write_text(str(os.getpid()))
        return {}

    artifact = Store(Path(home)).materialise(RECIPE, build)
    ready.put(f"{artifact.reused}:{(artifact.path / 'who.txt').read_text()}")


def test_two_processes_building_one_recipe_do_not_clash(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Queue()
    pair = [context.Process(target=_build_slowly, args=(str(tmp_path), ready)) for _ in range(2)]
    for process in pair:
        process.start()
    words = [ready.get(timeout=60) for _ in range(3)]
    for process in pair:
        process.join(60)
    assert words.count("building") == 1
    results = sorted(word for word in words if word != "building")
    assert [word.split(":")[0] for word in results] == ["False", "True"]
    assert len({word.split(":")[1] for word in results}) == 1


def test_a_worker_that_outlives_its_starter_keeps_the_lock(tmp_path: Path) -> None:
    """The step process may be killed while its worker still saves; nobody else may write meanwhile."""
    store = Store(tmp_path)
    saved = tmp_path / "saved"

    def first(partial: Path, lock: int) -> dict[str, int]:
        subprocess.Popen(["sh", "-c", f"sleep 0.5; touch {saved}"], pass_fds=(lock,))
        raise RuntimeError("the step dies, its worker does not")

    with pytest.raises(RuntimeError):
        store.materialise(RECIPE, first)
    seen: list[bool] = []

    def second(partial: Path, lock: int) -> dict[str, int]:
        seen.append(saved.exists())
        return {}

    store.materialise(RECIPE, second)
    assert seen == [True]


def test_home_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="GEO_HOME"):
        Store(tmp_path / "file").materialise(RECIPE, write("abc"))


def test_disk_full_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    def build(partial: Path, _lock: int) -> dict[str, int]:
        (partial / "half").write_text("x")
        raise OSError(28, "No space left on device")

    store = Store(tmp_path)
    with pytest.raises(ArtifactError, match=r"pool: No space left on device; .* GiB free: make room"):
        store.materialise(RECIPE, build)
    assert store.leftovers() == []


def test_remove_refuses_what_is_being_built(tmp_path: Path) -> None:
    store = Store(tmp_path)
    artifact = store.materialise(RECIPE, write("abc"))

    def build(partial: Path, _lock: int) -> dict[str, int]:
        with pytest.raises(ArtifactError, match="being built"):
            store.remove(artifact.path)
        return {}

    store.materialise(RECIPE, build, force=True)
    store.remove(artifact.path)
    assert store.find(RECIPE) is None
