"""Download whole files so that no fault costs the bytes already here.

`<name>.part` grows by byte ranges and survives kills; `<name>.part.json` says which content it belongs to,
and another content starts anew. A finished file is checked against size and the Hub's digest before it gets
its name. Sizes are bytes, rates MB/s.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import shutil
from pathlib import Path

import httpx

from geo_assets.errors import DataError
from geo_assets.osv.hub import RETRY_STATUS, HubFile, HubRepo, Location, asked_wait, refusal, remedy
from geo_assets.osv.transfer import Transfer, finish, threads

logger = logging.getLogger(__name__)

BLOCK = 1 << 20
CONNECTIONS = 4
SPARE_BYTES = 256 << 20
MAX_BAD_DIGESTS = 2


def fetch_files(hub: HubRepo, files: list[HubFile], out_dir: Path) -> None:
    """Bring the files to `out_dir` under their names; what is there already is kept.

    Raises:
        DataError: not enough disk space, or a file cannot be fetched; says which files are still missing.
    """
    todo = [file for file in files if not _whole(out_dir / file.name, file)]
    for file in files:
        if file not in todo:
            note_of(out_dir / file.name).unlink(missing_ok=True)  # a kill may leave it behind
    started = sum(_part_size(out_dir / file.name) for file in todo)
    total = sum(file.size for file in files)
    check_space(out_dir, sum(file.size for file in todo) - started)
    transfer = Transfer(total, total - sum(file.size for file in todo) + started)
    with threads(CONNECTIONS) as pool:
        jobs = {f.name: pool.submit(fetch_file, hub, f, out_dir / f.name, transfer) for f in todo}
        with transfer.stopping():
            finish(jobs.values())
    failed = {name: error for name, job in jobs.items() if (error := job.exception())}
    if failed:
        error = next(iter(failed.values()))
        if not isinstance(error, DataError):
            raise error
        raise DataError(f"{len(failed)} of {len(files)} files are missing ({', '.join(failed)}): {error}")


def check_space(out_dir: Path, needed: int) -> None:
    """Refuse to start what the disk cannot hold."""
    out_dir.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(out_dir).free
    if needed > 0 and needed + SPARE_BYTES > free:
        raise DataError(
            f"{out_dir} has {free:,} bytes free and {needed + SPARE_BYTES:,} are needed: "
            "free some, or set GEO_HOME to a larger disk"
        )


def _whole(path: Path, file: HubFile) -> bool:
    return path.exists() and path.stat().st_size == file.size


def _part_size(path: Path) -> int:
    part = part_of(path)
    return part.stat().st_size if part.exists() else 0


def part_of(path: Path) -> Path:
    """Where a file grows before it has its name."""
    return path.with_name(f"{path.name}.part")


def note_of(path: Path) -> Path:
    """What says which content the part of a file belongs to."""
    return path.with_name(f"{path.name}.part.json")


def digest_agrees(path: Path, etag: str) -> bool:
    """Whether a file has the content that the Hub's ETag names (SHA-256, or a git blob's SHA-1)."""
    digest = hashlib.sha256() if len(etag) == 64 else hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest() == etag


def fetch_file(hub: HubRepo, file: HubFile, path: Path, transfer: Transfer) -> None:
    """Bring one file, continuing its part, and check it; `transfer` is told of bytes won and given up.

    Raises:
        DataError: no progress in as many tries as patience allows, or twice the wrong content.
    """
    part, note = part_of(path), note_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(MAX_BAD_DIGESTS):
            _keep_matching_part(part, note, file, transfer)
            _grow(hub, file, part, transfer)
            if part.stat().st_size == file.size and digest_agrees(part, file.etag):
                part.replace(path)
                note.unlink()
                return
            transfer.add(-part.stat().st_size)
            part.unlink()
            logger.warning(f"{file.name}: the bytes differ from the Hub's digest")
    except OSError as error:
        raise _disk_error(error, part, file) from error
    raise DataError(f"{file.name}: {MAX_BAD_DIGESTS} times the bytes differ from the Hub's digest "
                    f"{file.etag[:12]}: try again later, or set source: local")  # fmt: skip


def _keep_matching_part(part: Path, note: Path, file: HubFile, transfer: Transfer) -> None:
    """Drop a part that belongs to another content or is too long."""
    identity = json.dumps({"etag": file.etag, "size": file.size})
    known = note.exists() and note.read_text(encoding="utf-8") == identity
    if part.exists() and (not known or part.stat().st_size > file.size):
        transfer.add(-part.stat().st_size)
        part.unlink()
    if not known:
        note.write_text(identity, encoding="utf-8")
    part.touch()


def _grow(hub: HubRepo, file: HubFile, part: Path, transfer: Transfer) -> None:
    """Append to the part until it has the file's size."""
    with httpx.Client(timeout=hub.patience.timeout, follow_redirects=True) as client:
        _append_all(hub, client, file, part, transfer)


def _append_all(hub: HubRepo, client: httpx.Client, file: HubFile, part: Path, transfer: Transfer) -> None:
    location: Location | None = None
    attempt = 0
    while (have := part.stat().st_size) < file.size:
        location = location or hub.locate(file.name)
        if location.etag != file.etag:
            raise DataError(
                f"{file.name} changed on the Hub meanwhile: materialize again to start from the new one"
            )
        asked: float | None = None
        try:
            with client.stream("GET", location.url, headers=hub.headers(location, have)) as response:
                if response.status_code in (200, 206):
                    _append(response, part, have, transfer)
                    why = "the body ended early"
                else:
                    why, asked = f"HTTP {response.status_code}", asked_wait(response.headers)
                    if response.status_code in (401, 403, 416):
                        location = None  # the signed address has run out
                    elif response.status_code not in RETRY_STATUS:
                        raise DataError(f"{file.name}: {refusal(response.status_code)}")
        except httpx.TransportError as error:
            why = f"{type(error).__name__}: {error}"
        grown = part.stat().st_size > have
        if part.stat().st_size >= file.size:
            return
        attempt = 1 if grown else attempt + 1
        if attempt >= hub.patience.tries:
            kept = f"{have:,} bytes are kept and used when you materialize again"
            raise DataError(f"{file.name}: no progress in {attempt} tries ({why}); {kept}: {remedy(why)}")
        logger.warning(f"{file.name}: {why} at byte {part.stat().st_size:,}; going on")
        transfer.wait(hub.patience.seconds(attempt, asked))


def _append(response: httpx.Response, part: Path, have: int, transfer: Transfer) -> None:
    """Write a response behind the first `have` bytes, or from the start where the server ignores ranges."""
    if response.status_code == 200 and have:
        transfer.add(-have)
    if response.status_code == 206:
        starts = response.headers.get("Content-Range", "")
        if not starts.startswith(f"bytes {have}-"):
            raise httpx.RemoteProtocolError(f"asked for byte {have}, got {starts!r}")
    with part.open("ab" if response.status_code == 206 else "wb") as file:
        for block in response.iter_raw():  # as it comes: a broken connection loses nothing
            file.write(block)
            transfer.add(len(block))


def _disk_error(error: OSError, part: Path, file: HubFile) -> DataError:
    if error.errno == errno.ENOSPC:
        needed = file.size - part.stat().st_size
        return DataError(f"no space left for {part}: free {needed:,} bytes, or set GEO_HOME to a larger disk")
    return DataError(f"cannot write {part} ({error.strerror}): check the disk and its permissions")
