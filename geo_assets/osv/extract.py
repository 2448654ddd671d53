"""Extract chosen members: read, check, look for burnt-in text, convert, store; in parallel and resumable.

Each photo's outcome is a function of its bytes and the options alone, and is noted in a journal as soon as
the photo lies under its final name. A killed extraction reads the journal back and does the rest, and the
result is that of an undisturbed one. Left out: the choice of members (`fill.py`).
"""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from geo_assets.errors import DataError
from geo_assets.osv import images, ocr, overlays
from geo_assets.osv.archive import DamagedMember
from geo_assets.osv.download import check_space
from geo_assets.osv.fingerprint import hashes, sha256
from geo_assets.osv.mirror import Mirror
from geo_assets.osv.processes import Processes
from geo_assets.settings import EvalOsv, TrainPool

logger = logging.getLogger(__name__)

JOURNAL = "extract.jsonl"
SPOOL = "members"
PROGRESS_SECONDS = 10.0


@dataclass(frozen=True)
class Options:
    """What decides the bytes of a stored photo."""

    max_edge_px: int
    overlay: Literal["crop", "drop", "keep"]
    use_ocr: bool = False
    """Let OCR judge unsure text."""

    @classmethod
    def of(cls, settings: TrainPool | EvalOsv) -> Options:
        """Options of a set's section.

        Raises:
            DataError: the section requires OCR, which is not installed.
        """
        if settings.overlay == "keep" or settings.ocr == "never":
            return cls(settings.max_edge_px, settings.overlay)
        if settings.ocr == "require" and not ocr.available():
            raise DataError(
                "ocr: require needs the ocr extra: pip install 'geo_assets[ocr]', or set ocr to auto or never"
            )
        return cls(settings.max_edge_px, settings.overlay, ocr.available())


@dataclass(frozen=True)
class Outcome:
    """What became of one member. Fingerprints are of the whole source photo, whatever was cropped."""

    id: str
    reason: str | None = None
    """Why it was refused; None for a stored photo."""
    width: int = 0
    height: int = 0
    sha256: str = ""
    phash: int = 0
    long_hash: str = ""
    """Hexadecimal."""
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
        luma = images.decode_luma(data)
        band_px = 0 if options.overlay == "keep" else overlays.text_band_px(luma, options.use_ocr)
        if band_px and options.overlay == "drop":
            raise images.BadImage("overlay")
        photo = images.process(data, options.max_edge_px, band_px, decoded=True)
    except (images.BadImage, DamagedMember) as error:
        return Outcome(member_id, reason=error.args[0])
    target = out_dir / image_path(member_id)
    temporary = target.with_suffix(".tmp")
    temporary.write_bytes(photo.data)
    temporary.replace(target)
    prints = hashes(luma)
    return Outcome(
        member_id, None, photo.width, photo.height, sha256(data), prints.phash, prints.long_hash.hex(),
        band_px, photo.copied,
    )  # fmt: skip


class Extractor:
    """Extracts members of one mirror into one set and remembers what is done. Use as a context manager."""

    def __init__(self, mirror: Mirror, out_dir: Path, options: Options, processes: Processes) -> None:
        self.mirror = mirror.with_spool(out_dir / SPOOL)
        self.out_dir, self.options, self.processes = out_dir, options, processes
        self.journal = out_dir / JOURNAL
        self.outcomes: dict[str, Outcome] = {}

    def __enter__(self) -> Extractor:
        (self.out_dir / "images").mkdir(parents=True, exist_ok=True)
        self.outcomes = self._read_journal()
        self._file = self.journal.open("a", encoding="utf-8")
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._file.close()

    def _read_journal(self) -> dict[str, Outcome]:
        """Outcomes of an earlier attempt with the same options; of another one, nothing.

        A line that was cut by a kill is dropped, and so is one whose photo is gone.
        """
        head = json.dumps(asdict(self.options)) + "\n"
        text = self.journal.read_text(encoding="utf-8") if self.journal.exists() else ""
        whole = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
        if whole[:1] != [head]:
            whole = [head]
        temporary = self.journal.with_suffix(".tmp")
        temporary.write_text("".join(whole), encoding="utf-8")
        temporary.replace(self.journal)
        outcomes = [Outcome(**json.loads(line)) for line in whole[1:]]
        return {o.id: o for o in outcomes if o.reason or (self.out_dir / image_path(o.id)).exists()}

    def __call__(self, members: list[dict]) -> list[Outcome]:
        """Outcome of each member, in order; only those not known yet are extracted."""
        todo = [member for member in members if member["id"] not in self.outcomes]
        check_space(self.out_dir, sum(member["bytes"] for member in todo))
        self.mirror.bring(todo)
        work = partial(extract_one, mirror=self.mirror, out_dir=self.out_dir, options=self.options)
        started = reported = time.monotonic()
        for done, outcome in enumerate(self.processes.map(work, todo), 1):
            self.outcomes[outcome.id] = outcome
            self._file.write(json.dumps(asdict(outcome)) + "\n")
            self._file.flush()
            if (now := time.monotonic()) - reported > PROGRESS_SECONDS:
                reported, rate = now, done / (now - started)
                left = (len(todo) - done) / rate
                logger.info(f"{done:,} of {len(todo):,} photos, {rate:,.0f} a second, {left:,.0f} s left")
        return [self.outcomes[member["id"]] for member in members]

    def finish(self, kept: Iterable[str]) -> None:
        """Remove the journal, the fetched members and every photo that is not in the set."""
        names = {Path(image_path(member_id)).name for member_id in kept}
        for path in (self.out_dir / "images").iterdir():
            if path.name not in names:
                path.unlink()
        shutil.rmtree(self.out_dir / SPOOL, ignore_errors=True)
        self.journal.unlink()
