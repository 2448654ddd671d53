"""Extract chosen members: read, check, look for burnt-in text, convert, store; in parallel and resumable.

Each photo's outcome is a function of its bytes and the options alone, and is noted in a journal as soon as the
photo lies under its final name. A killed extraction reads the journal back and does the rest, and the result is
that of an undisturbed one. Left out: the choice of members (`fill.py`).
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Literal

from geo_assets.osv import images, leaks, overlays
from geo_assets.osv.archive import DamagedMember
from geo_assets.osv.mirror import Mirror

logger = logging.getLogger(__name__)

CHUNK = 32
PROGRESS_SECONDS = 10.0


@dataclass(frozen=True)
class Options:
    """What decides the bytes of a stored photo."""

    max_edge_px: int
    overlay: Literal["crop", "drop", "keep"]


@dataclass(frozen=True)
class Outcome:
    """What became of one member."""

    id: str
    reason: str | None = None
    """Why it was refused; None for a stored photo."""
    width: int = 0
    height: int = 0
    sha256: str = ""
    """Of the source bytes, so that a twin is found whatever was cropped."""
    phash: int = 0
    band_px: int = 0
    """Height of the text band that was cropped."""
    copied: bool = False
    """Stored byte for byte."""


def image_path(member_id: str) -> str:
    """Path of a stored photo, relative to its set."""
    return f"images/{member_id}.jpg"


def extract_one(member: dict, mirror: Mirror, out_dir: Path, options: Options) -> Outcome:
    """Store one photo under `out_dir`; whatever is wrong with it becomes the outcome's reason."""
    member_id = member["id"]
    try:
        data = mirror.read(member)
        luma = images.decode(data, luma=True)
        band_px = 0
        if options.overlay != "keep":
            band_px = overlays.text_band_px(luma)
            if band_px and options.overlay == "drop":
                raise images.BadImage("overlay")
        photo = images.process(data, options.max_edge_px, band_px, luma)
    except (images.BadImage, DamagedMember) as error:
        return Outcome(member_id, reason=error.args[0])
    target = out_dir / image_path(member_id)
    temporary = target.with_suffix(".tmp")
    temporary.write_bytes(photo.data)
    temporary.replace(target)
    return Outcome(
        member_id, None, photo.width, photo.height, leaks.sha256(data), leaks.phash(luma),
        band_px, photo.copied,
    )  # fmt: skip


class Extractor:
    """Extracts members of one mirror into one set, remembering what is done.

    Use as a context manager; `workers` processes are started at the first call that is worth them.
    """

    def __init__(self, mirror: Mirror, out_dir: Path, options: Options, workers: int = 1) -> None:
        self.mirror, self.out_dir, self.options, self.workers = mirror, out_dir, options, workers
        self.journal = out_dir / "extract.jsonl"
        self.outcomes: dict[str, Outcome] = {}
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Extractor:
        (self.out_dir / "images").mkdir(parents=True, exist_ok=True)
        self.outcomes = self._read_journal()
        self._file = self.journal.open("a", encoding="utf-8")
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._file.close()
        if self._pool:
            self._pool.shutdown(cancel_futures=True)

    def _read_journal(self) -> dict[str, Outcome]:
        """Outcomes of an earlier attempt with the same options; of another one, nothing."""
        head = json.dumps({"mirror": str(self.mirror.root), **asdict(self.options)})
        lines = (
            self.journal.read_text(encoding="utf-8").splitlines(keepends=True)
            if self.journal.exists()
            else []
        )
        whole = [line for line in lines if line.endswith("\n")]
        if not whole or whole[0].rstrip("\n") != head:
            self.journal.write_text(head + "\n", encoding="utf-8")
            return {}
        self.journal.write_text("".join(whole), encoding="utf-8")
        outcomes = [Outcome(**json.loads(line)) for line in whole[1:]]
        return {o.id: o for o in outcomes if o.reason or (self.out_dir / image_path(o.id)).exists()}

    def __call__(self, members: list[dict]) -> list[Outcome]:
        """Outcome of each member, in order; only those not known yet are extracted."""
        todo = [member for member in members if member["id"] not in self.outcomes]
        started = reported = time.monotonic()
        for done, outcome in enumerate(self._run(todo), 1):
            self.outcomes[outcome.id] = outcome
            self._file.write(json.dumps(asdict(outcome)) + "\n")
            self._file.flush()
            if (now := time.monotonic()) - reported > PROGRESS_SECONDS:
                reported, rate = now, done / (now - started)
                left = (len(todo) - done) / rate
                logger.info(f"{done:,} of {len(todo):,} photos, {rate:,.0f} a second, {left:,.0f} s left")
        return [self.outcomes[member["id"]] for member in members]

    def _run(self, members: list[dict]) -> Iterator[Outcome]:
        work = partial(extract_one, mirror=self.mirror, out_dir=self.out_dir, options=self.options)
        if self.workers == 1 or len(members) <= 2 * CHUNK:
            return map(work, members)
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))
        return self._pool.map(work, members, chunksize=CHUNK)

    def finish(self, kept: Iterable[str]) -> None:
        """Remove the journal and every photo that is not in the set."""
        names = {Path(image_path(member_id)).name for member_id in kept}
        for path in (self.out_dir / "images").iterdir():
            if path.name not in names:
                path.unlink()
        self.journal.unlink()
