"""Read the directory and chosen members of a zip on the Hub by byte ranges; only they travel.

One resolve a zip, the end of the file, its directory, then runs of members: neighbours with small gaps are
fetched together. Members are kept as their raw bytes, local header included, so that they are checked and
damaged members refused by the same code as in a zip on disk. Left out: multi-disk archives.
"""

from __future__ import annotations

import io
import logging
import struct
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import polars as pl

from geo_assets.errors import DataError
from geo_assets.osv import archive
from geo_assets.osv.hub import RETRY_STATUS, HubRepo, Location, asked_wait, refusal, remedy

logger = logging.getLogger(__name__)

TAIL_BYTES = 65_557
"""The end record (22 bytes) and the longest comment."""
GAP_BYTES = 64 << 10
LONGEST_RUN_BYTES = 8 << 20
HEADER_SLACK_BYTES = 1024
"""Room for the name and extra field of a local header, which the directory does not tell."""


class NoRanges(DataError):
    """The server sends whole files where a range is asked for."""


class RemoteZip:
    """Byte ranges of one file on the Hub. Resolves once and again when the signed address runs out.

    Args:
        hub: the repository at a commit.
        name: the file.
        client: shared by many.
        etag: what the file must be; None takes it as it is.
        wait: sleeps, in seconds, before another try.
    """

    def __init__(
        self, hub: HubRepo, name: str, client: httpx.Client, etag: str | None = None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self.hub, self.name, self.client, self.etag, self.wait = hub, name, client, etag, wait
        self._location: Location | None = None
        self._lock = threading.Lock()

    def locate(self, stale: Location | None = None) -> Location:
        """The file's address; `stale` is one that no longer works."""
        with self._lock:
            if self._location is None or self._location is stale:
                found = self.hub.locate(self.name)
                if self.etag not in (None, found.etag):
                    raise DataError(f"{self.name} changed on the Hub meanwhile: materialize osv_zips again")
                self._location, self.etag = found, found.etag
            return self._location

    def read(self, start: int, stop: int) -> bytes:
        """Bytes [start, stop).

        Raises:
            NoRanges: the server ignores the range.
            DataError: no answer in as many tries as patience allows.
        """
        patience, why = self.hub.patience, ""
        for attempt in range(1, patience.tries + 1):
            location, asked = self.locate(), None
            try:
                headers = self.hub.headers(location, start, stop)
                with self.client.stream("GET", location.url, headers=headers) as response:
                    if response.status_code == 200:
                        raise NoRanges(
                            f"{self.name}: the server ignores byte ranges: set osv_zips.reach to zips"
                        )
                    if response.status_code == 206 and len(body := response.read()) == stop - start:
                        return body
                    why, asked = f"HTTP {response.status_code}", asked_wait(response.headers)
                    if response.status_code in (401, 403):
                        self.locate(stale=location)
                        continue
                    if response.status_code != 206 and response.status_code not in RETRY_STATUS:
                        raise DataError(f"{self.name}: {refusal(response.status_code)}")
            except httpx.TransportError as error:
                why = f"{type(error).__name__}: {error}"
            self.wait(patience.seconds(attempt, asked))
        raise DataError(f"{self.name}: bytes {start:,}-{stop:,} did not come ({why}): {remedy(why)}")


class _Window(io.RawIOBase):
    """A file of which only the bytes from `start` on are in memory, which is all that zipfile reads."""

    def __init__(self, size: int, start: int, data: bytes) -> None:
        self.size, self.start, self.data, self.at = size, start, data, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = 0) -> int:
        place = (0, self.at, self.size)[whence] + offset
        if place < 0:
            raise OSError("seek before the start")
        self.at = place
        return place

    def read(self, size: int = -1) -> bytes:
        first = self.at - self.start
        if first < 0:
            raise zipfile.BadZipFile("the directory reaches beyond the bytes read")
        part = self.data[first:] if size is None or size < 0 else self.data[first : first + size]
        self.at += len(part)
        return part


def _directory_place(tail: bytes) -> tuple[int, int]:
    """(size, offset) of the central directory, from the end of a zip."""
    end = tail.rfind(b"PK\x05\x06")
    if end < 0:
        raise zipfile.BadZipFile("no end record: not a zip, or cut off")
    size, offset = struct.unpack("<II", tail[end + 12 : end + 20])
    if 0xFFFFFFFF in (size, offset):
        zip64 = tail.rfind(b"PK\x06\x06", 0, end)
        if zip64 < 0:
            raise zipfile.BadZipFile("no zip64 end record")
        size, offset = struct.unpack("<QQ", tail[zip64 + 40 : zip64 + 56])
    return size, offset


def read_directory(remote: RemoteZip) -> tuple[pl.DataFrame, Counter[str]]:
    """Member table of a zip on the Hub and counts of what was skipped, as `archive.list_members`."""
    size = remote.locate().size
    start = max(0, size - TAIL_BYTES)
    tail = remote.read(start, size)
    try:
        _, offset = _directory_place(tail)
        if offset < start:
            tail = remote.read(offset, start) + tail
        with zipfile.ZipFile(_Window(size, min(offset, start), tail)) as zip_file:
            return archive.member_table(zip_file.infolist(), remote.name)
    except (zipfile.BadZipFile, struct.error) as error:
        raise DataError(
            f"{remote.name} is no whole zip ({error}): name another zip in the profile"
        ) from error


@dataclass(frozen=True)
class Run:
    """Bytes [start, stop) of a zip that hold some members, given as rows of the member table."""

    start: int
    stop: int
    members: tuple[dict, ...]


def plan_runs(members: list[dict], zip_size: int) -> list[Run]:
    """Runs that cover the members of one zip; neighbours with gaps up to GAP_BYTES share one."""
    runs: list[Run] = []
    for member in sorted(members, key=lambda m: m["offset"]):
        start = member["offset"]
        length = archive.LOCAL_HEADER_BYTES + HEADER_SLACK_BYTES + member["stored_bytes"]
        stop = min(zip_size, start + length)
        last = runs[-1] if runs else None
        if last and start - last.stop <= GAP_BYTES and stop - last.start <= LONGEST_RUN_BYTES:
            runs[-1] = Run(last.start, max(stop, last.stop), (*last.members, member))
        else:
            runs.append(Run(start, stop, (member,)))
    return runs


def fetch_run(remote: RemoteZip, run: Run) -> Iterator[tuple[dict, bytes]]:
    """(member, raw bytes from its local header on) of a run; fetched once more where a CRC-32 differs."""
    body = remote.read(run.start, run.stop)
    if not all(_sound(member, body[member["offset"] - run.start :]) for member in run.members):
        logger.warning(f"{remote.name}: a member's CRC-32 differs; fetching it again")
        body = remote.read(run.start, run.stop)
    for member in run.members:
        start = member["offset"] - run.start
        try:
            length = archive.raw_length(member, body[start : start + archive.LOCAL_HEADER_BYTES])
        except archive.DamagedMember:
            length = archive.LOCAL_HEADER_BYTES  # kept as it came, and refused when it is read
        yield member, body[start : start + length]


def _sound(member: dict, buffer: bytes) -> bool:
    try:
        archive.member_bytes(buffer, member)
    except archive.DamagedMember:
        return False
    return True
