"""Artifacts on disk: directories named by their recipe, built aside and renamed into place.

    <home>/<asset>/<recipe>/            a whole artifact, with manifest.json
    <home>/<asset>/<recipe>.partial/    a build under way, or what a killed one left to resume from
    <home>/<asset>/<recipe>.lock        held (flock) by the process that builds, and by its worker
    <home>/<asset>/latest               a symlink for people

The recipe digests everything the artifact was made from; the content digests what is inside. Only the
standard library is used, so that this file can be tested and trusted on its own. What it leaves
out: which assets exist and what they are made from (`graph.py`).
"""

from __future__ import annotations

import contextlib
import fcntl
import fnmatch
import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from geo_assets.errors import ArtifactError, is_disk_full
from geo_assets.files import file_sha256

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"
# Kept, but not part of the content: logs and timings differ between two runs of one recipe, and a card or a
# count of what was left out describes how a set was made, not what is in it.
VOLATILE = (
    "log_history.jsonl", "timings.json", "tensorboard/*", "wandb/*",
    "data_card.md", "dropped.json", "dropped/*",
)  # fmt: skip


def digest(value: Any) -> str:
    """Digest of a JSON-like value, independent of key order.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Recipe:
    """What an artifact is made from. `upstream` maps an asset to its content digest."""

    asset: str
    code_version: str
    settings: Mapping[str, Any]
    upstream: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        return digest([self.code_version, self.settings, self.upstream])


@dataclass(frozen=True)
class Artifact:
    """A whole artifact. `reused` says that no work was done for it."""

    path: Path
    manifest: Mapping[str, Any]
    reused: bool = False

    @property
    def content(self) -> str:
        return str(self.manifest["content"])

    @property
    def metadata(self) -> dict[str, Any]:
        return dict(self.manifest["metadata"])

    @property
    def n_bytes(self) -> int:
        return sum(entry["size"] for entry in self.manifest["files"].values())

    def damaged_files(self, *, hashes: bool = False) -> list[str]:
        """Files whose size (and SHA-256, if `hashes`) differs from the manifest's."""
        return [
            name
            for name, entry in self.manifest["files"].items()
            if _size(self.path / name) != entry["size"]
            or (hashes and _sha256(self.path / name) != entry["sha256"])
        ]


class Store:
    """All artifacts under one home directory."""

    def __init__(self, home: Path) -> None:
        self.home = home.absolute()

    def path(self, recipe: Recipe) -> Path:
        return self.home / recipe.asset / recipe.digest

    def find(self, recipe: Recipe) -> Artifact | None:
        """The whole artifact of this recipe, or None if it is absent or a file of it is damaged."""
        artifact = self._read(self.path(recipe))
        if artifact is None:
            return None
        if damaged := artifact.damaged_files():
            logger.warning(
                "%s %s is damaged (%d files, first %s) and is not reused",
                recipe.asset, recipe.digest, len(damaged), damaged[0],
            )  # fmt: skip
            return None
        return Artifact(artifact.path, artifact.manifest, reused=True)

    def materialise(
        self,
        recipe: Recipe,
        build: Callable[[Path, int], Mapping[str, Any]],
        *,
        force: bool = False,
        resumable: bool = False,
    ) -> Artifact:
        """Return the artifact of `recipe`, building it first where it is absent or `force` is set.

        `build(partial, lock_fd)` fills the directory `partial` and returns metadata. A worker process that
        inherits `lock_fd` keeps the recipe locked for as long as it writes, even when this process dies.
        With `resumable`, `partial` may hold the progress of a killed build; without, it is empty, and
        nothing is left behind by a failure.

        Raises:
            ArtifactError: the directory cannot be written.
        """
        final = self.path(recipe)
        partial = final.with_name(final.name + ".partial")
        with self._lock(recipe) as lock_fd:
            if not force and (artifact := self.find(recipe)):
                return artifact
            if partial.exists() and (force or not resumable):
                shutil.rmtree(partial)
            partial.mkdir(parents=True, exist_ok=True)
            started = time.monotonic()
            try:
                metadata = build(partial, lock_fd)
                manifest = self._manifest(recipe, partial, metadata, time.monotonic() - started)
                self._commit(partial, final, manifest)
            except BaseException as error:  # also an interrupt
                if not resumable:
                    shutil.rmtree(partial, ignore_errors=True)
                if isinstance(error, OSError) or is_disk_full(error):
                    raise ArtifactError(_disk_message(recipe.asset, self.home, error)) from error
                raise
        return Artifact(final, manifest)

    def all(self) -> list[Artifact]:
        """Every whole artifact, ordered by path."""
        found = (self._read(path) for path in sorted(self.home.glob("*/*")) if path.is_dir())
        return [artifact for artifact in found if artifact]

    def leftovers(self) -> list[Path]:
        """Directories of killed builds, ordered by path."""
        return sorted(p for p in self.home.glob("*/*") if p.suffix in {".partial", ".old"} and p.is_dir())

    def remove(self, path: Path) -> None:
        """Delete one artifact or leftover, unless a process is building it.

        Raises:
            ArtifactError: it is locked.
        """
        lock = path.with_suffix(".lock")
        with lock.open("a+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ArtifactError(f"{path} is being built; stop that run first") from None
            doomed = path.with_suffix(".old")
            if doomed != path:
                path.rename(doomed)
            shutil.rmtree(doomed)

    def _read(self, path: Path) -> Artifact | None:
        if path.is_symlink() or path.suffix in {".partial", ".old"}:
            return None
        manifest = read_manifest(path)
        if manifest is None and (path / MANIFEST).exists():
            logger.warning("%s is unreadable; the artifact counts as absent", path / MANIFEST)
        return Artifact(path, manifest) if manifest else None

    @contextlib.contextmanager
    def _lock(self, recipe: Recipe) -> Iterator[int]:
        path = self.path(recipe).with_name(recipe.digest + ".lock")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = path.open("a+")
        except OSError as error:
            raise ArtifactError(_disk_message(recipe.asset, self.home, error)) from error
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                handle.seek(0)
                logger.info(
                    "%s is being built by process %s; waiting", recipe.asset, handle.read().strip() or "?"
                )
                fcntl.flock(handle, fcntl.LOCK_EX)
            handle.seek(0)
            handle.truncate()
            handle.write(f"{os.getpid()}\n")
            handle.flush()
            yield handle.fileno()

    def _manifest(
        self, recipe: Recipe, partial: Path, metadata: Mapping[str, Any], seconds: float
    ) -> dict[str, Any]:
        paths = sorted(p for p in partial.rglob("*") if p.is_file() and p.name != MANIFEST)
        files = {
            p.relative_to(partial).as_posix(): {"size": p.stat().st_size, "sha256": _sha256(p)} for p in paths
        }
        stable = {name: entry["sha256"] for name, entry in files.items() if not is_volatile(name)}
        return {
            **asdict(recipe),
            "recipe": recipe.digest,
            "content": digest(stable),
            "files": files,
            "metadata": dict(metadata),
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "seconds": round(seconds, 2),
        }

    def _commit(self, partial: Path, final: Path, manifest: Mapping[str, Any]) -> None:
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=1, sort_keys=True, allow_nan=False))
        for path in sorted(partial.rglob("*")):
            # Thousands of photos would take minutes; one that a power cut leaves short fails the size check.
            if path.is_file() and path.suffix != ".jpg":
                _fsync(path)
        old = final.with_name(final.name + ".old")
        if final.exists():
            shutil.rmtree(old, ignore_errors=True)
            final.rename(old)
        partial.rename(final)
        _fsync(final.parent)
        shutil.rmtree(old, ignore_errors=True)
        self._point_latest(final)

    def _point_latest(self, final: Path) -> None:
        temporary = final.with_name(f"latest.{os.getpid()}")
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(final.name)
        temporary.replace(final.with_name("latest"))


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a whole artifact, None where the folder is none."""
    try:
        found = json.loads((folder / MANIFEST).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return found if isinstance(found, dict) and "content" in found else None


def is_volatile(name: str) -> bool:
    """Whether a file is left out of the content digest.

    >>> is_volatile("tensorboard/events.out"), is_volatile("train_pool.parquet")
    (True, False)
    """
    return any(fnmatch.fnmatch(name, pattern) for pattern in VOLATILE)


def _disk_message(asset: str, home: Path, error: BaseException) -> str:
    what = getattr(error, "strerror", None) or (
        "No space left on device" if is_disk_full(error) else str(error)
    )
    where = f" ({name})" if (name := getattr(error, "filename", None)) else ""
    try:
        free = f"{shutil.disk_usage(home).free / 2**30:.1f} GiB free"
    except OSError:
        free = "free space unknown"
    return f"{asset}: {what}{where}; {home} has {free}: make room or set GEO_HOME elsewhere"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return -1


def _sha256(path: Path) -> str:
    try:
        return file_sha256(path)
    except FileNotFoundError:
        return "absent"


def _fsync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
