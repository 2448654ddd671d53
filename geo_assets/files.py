"""Files as every layer handles them: linked instead of copied, known by their digest.

Standard library only. What it leaves out: directories that are built aside and renamed (`artifacts.py`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path


def link_or_copy(source: Path, target: Path) -> None:
    """Put `source` at `target`, without using more disk where the file system allows it.

    The target's folder is made; what was at `target` is replaced. A hard link keeps an artifact whole when
    the one that it came from is collected.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:  # another file system, or one without hard links
        shutil.copyfile(source, target)


def file_sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, read in blocks."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
