"""Writes a drawn mirror of OSV-5M: the Hub's files, byte for byte the same for any worker count.

`train.csv`, `test.csv`, `images/train/00.zip` …, `images/test/00.zip` …, `files.json` with sizes
and digests, and `traces.jsonl` with the clue text of every train scene. Members are stored JPEGs
named `<zip>/<id>.jpg`. The awkward members and rows of `oddities` come on top of the scenes.
"""

from __future__ import annotations

import json
import logging
import random
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from geo_assets.files import file_sha256
from geo_assets.settings import OsvZips
from geo_assets.world.clues import think_text
from geo_assets.world.drawers import BatchMap, drawers
from geo_assets.world.oddities import MACOS_BYTES, MACOS_MEMBER, burn_in, odd_shots, spoil
from geo_assets.world.rows import write_csv
from geo_assets.world.scene import draw_scene, encode_jpeg
from geo_assets.world.shots import Shot, label_shots, plan_scenes

logger = logging.getLogger(__name__)

ZIP_TIME = (2024, 1, 1, 0, 0, 0)
BATCH_SHOTS, LOG_EVERY_SHOTS = 40, 1000


@dataclass(frozen=True)
class MirrorStats:
    """What a mirror holds: CSV rows and image members a split, and how long it took."""

    train_rows: int
    test_rows: int
    train_images: int
    test_images: int
    seconds: float


def draw_mirror(out_dir: Path, settings: OsvZips, workers: int = 1) -> MirrorStats:
    """Draw and write the mirror into `out_dir`, which is created.

    `workers` processes draw; the result does not depend on their number. A split for which the
    settings name no zips is left out.
    """
    start = time.monotonic()
    train, test = plan_mirror(settings)
    out_dir.mkdir(parents=True, exist_ok=True)
    files = [_write_traces(out_dir / "traces.jsonl", train)]
    splits = (("train", settings.train_zips, train), ("test", settings.test_zips, test))
    progress = Progress(total=sum(shot.has_image for shot in train + test))
    with drawers(workers) as draw:
        for split, numbers, shots in splits:
            if numbers:
                files.append(out_dir / f"{split}.csv")
                write_csv(files[-1], [shot.photo for shot in shots if shot.has_row])
                files += _write_zips(out_dir / "images" / split, numbers, shots, draw, progress)
    _write_files_json(out_dir, files)
    return MirrorStats(
        train_rows=sum(shot.has_row for shot in train),
        test_rows=sum(shot.has_row for shot in test),
        train_images=sum(shot.has_image for shot in train),
        test_images=sum(shot.has_image for shot in test),
        seconds=time.monotonic() - start,
    )


def plan_mirror(settings: OsvZips) -> tuple[list[Shot], list[Shot]]:
    """The shots of the train and the test files, in their order."""
    taken: set[str] = set()
    scenes = plan_scenes(settings.seed, "train", settings.train_scenes, taken)
    train = scenes + odd_shots(settings.seed, "train", taken)
    test = plan_scenes(settings.seed, "test", settings.test_scenes, taken)
    test += odd_shots(settings.seed, "test", taken, train=scenes)
    train, test = train if settings.train_zips else [], test if settings.test_zips else []
    random.Random(f"{settings.seed}/order").shuffle(train)
    random.Random(f"{settings.seed}/order").shuffle(test)
    return label_shots(train), label_shots(test)


def draw_batch(shots: Sequence[Shot]) -> list[bytes]:
    """The files of a batch of shots."""
    return [_draw(shot) for shot in shots]


def _draw(shot: Shot) -> bytes:
    rng = random.Random(shot.drawing_seed)
    image = draw_scene(rng, shot.clues)
    if shot.treatment == "overlay":
        image = burn_in(image, shot.photo)
    return spoil(encode_jpeg(rng, image), shot.treatment)


class Progress:
    """Counts drawn files and logs the rate."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.start = total, 0, time.monotonic()

    def step(self) -> None:
        """One more file is written."""
        self.done += 1
        if self.done % LOG_EVERY_SHOTS and self.done != self.total:
            return
        per_second = self.done / max(1e-9, time.monotonic() - self.start)
        left = (self.total - self.done) / per_second
        logger.info(
            "drew %d of %d scenes, %.0f a second, %.0f s left", self.done, self.total, per_second, left
        )


def _write_zips(
    folder: Path, numbers: Sequence[int], shots: list[Shot], draw: BatchMap, progress: Progress
) -> list[Path]:
    """Deal the shots to the zips in runs of equal length and write them."""
    folder.mkdir(parents=True, exist_ok=True)
    with_image = [shot for shot in shots if shot.has_image]
    share = -(-len(with_image) // len(numbers))
    paths = []
    for position, number in enumerate(numbers):
        paths.append(folder / f"{number:02d}.zip")
        part = with_image[position * share : (position + 1) * share]
        with zipfile.ZipFile(paths[-1], "w", zipfile.ZIP_STORED) as archive:
            for shot, content in zip(part, _files(part, draw), strict=True):
                _add(archive, f"{number:02d}/{shot.photo.id}.jpg", content)
                progress.step()
            if part:
                _add(archive, MACOS_MEMBER.format(zip=f"{number:02d}", id=part[0].photo.id), MACOS_BYTES)
    return paths


def _files(shots: list[Shot], draw: BatchMap) -> Iterator[bytes]:
    batches = [shots[start : start + BATCH_SHOTS] for start in range(0, len(shots), BATCH_SHOTS)]
    for contents in draw(draw_batch, batches):
        yield from contents


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, date_time=ZIP_TIME)
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


def _write_traces(path: Path, shots: list[Shot]) -> Path:
    with path.open("w", encoding="utf-8") as file:
        for shot in shots:
            if shot.has_row and shot.has_image:
                file.write(json.dumps({"id": shot.photo.id, "think": think_text(shot.clues)}) + "\n")
    return path


def _write_files_json(out_dir: Path, paths: list[Path]) -> None:
    files = {}
    for path in sorted(paths):
        name = path.relative_to(out_dir).as_posix()
        files[name] = {"size": path.stat().st_size, "sha256": file_sha256(path), "source": "drawn"}
    (out_dir / "files.json").write_text(json.dumps(files, indent=1) + "\n", encoding="utf-8")
