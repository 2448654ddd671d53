"""Checkpoint folders of a training run: which are whole, which to keep, what stays in the end.

A checkpoint is whole when its marker says so; the marker is written after everything else. Order is by
step number, never by name or time.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
from pathlib import Path

logger = logging.getLogger(__name__)

MARKER = "complete.json"
ADAPTER_WEIGHTS, ADAPTER_CONFIG = "adapter_model.safetensors", "adapter_config.json"
_NAME = re.compile(r"checkpoint-(\d+)")


def step_of(folder: Path) -> int:
    """The step in a checkpoint's name.

    >>> step_of(Path("checkpoint-1000"))
    1000
    """
    match = _NAME.fullmatch(folder.name)
    if match is None:
        raise ValueError(f"{folder.name} is not a checkpoint folder")
    return int(match[1])


def checkpoints(out: Path) -> list[Path]:
    """Every checkpoint folder, whole or not, in order of its step."""
    return sorted((path for path in out.glob("checkpoint-*") if _NAME.fullmatch(path.name)), key=step_of)


def mark_complete(folder: Path) -> None:
    """Write the marker: the size of every file, flushed to disk."""
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    aside = folder / (MARKER + ".new")
    with aside.open("w", encoding="utf-8") as file:
        json.dump({"step": step_of(folder), "files": sizes}, file)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(folder / MARKER)


def is_complete(folder: Path) -> bool:
    """Whether the marker is there and every file has the size it states."""
    try:
        sizes = json.loads((folder / MARKER).read_text(encoding="utf-8"))["files"]
    except (OSError, ValueError, KeyError):
        return False
    return all(
        (folder / name).is_file() and (folder / name).stat().st_size == size for name, size in sizes.items()
    )


def last_complete(out: Path) -> Path | None:
    """The whole checkpoint with the highest step; those that are not whole are set aside with a warning."""
    whole = []
    for folder in checkpoints(out):
        if is_complete(folder):
            whole.append(folder)
        else:
            aside = out / f"incomplete-{folder.name}"
            shutil.rmtree(aside, ignore_errors=True)
            folder.rename(aside)
            logger.warning("%s was cut off while it was saved: set aside as %s", folder.name, aside.name)
    return whole[-1] if whole else None


def prune(out: Path, keep: int) -> None:
    """Delete the oldest whole checkpoints beyond `keep`."""
    whole = [folder for folder in checkpoints(out) if is_complete(folder)]
    for folder in whole[:-keep]:
        shutil.rmtree(folder)


def strip(out: Path, base_name: str) -> None:
    """Leave the adapter alone in every checkpoint: no optimizer, no random state, no path of this machine.

    The configuration is rewritten in a fixed order, because PEFT writes its sets in the order of the process.
    """
    for folder in checkpoints(out):
        for path in sorted(folder.iterdir()):
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name not in (ADAPTER_WEIGHTS, ADAPTER_CONFIG):
                path.unlink()
        tidy_config(folder / ADAPTER_CONFIG, base_name)
    for aside in out.glob("incomplete-checkpoint-*"):
        shutil.rmtree(aside)


def tidy_config(path: Path, base_name: str) -> None:
    """Rewrite an adapter configuration with sorted lists and the name of its base model."""
    config = json.loads(path.read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = base_name
    for key, value in config.items():
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            config[key] = sorted(value)
    path.write_text(json.dumps(config, indent=1, sort_keys=True) + "\n", encoding="utf-8")
