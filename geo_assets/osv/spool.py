"""Bring chosen members of zips that lie on the Hub to a directory, before they are extracted.

`<id>.raw` holds a member's raw bytes, local header included. What is there already is not fetched again, so a
killed run goes on where it was. Many connections, one resolve a zip.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import httpx

from geo_assets.osv.download import check_space
from geo_assets.osv.hub import PATIENT, HubRepo, Patience, endpoint
from geo_assets.osv.ranges import RemoteZip, Run, fetch_run, plan_runs
from geo_assets.osv.transfer import Transfer, finish, threads

logger = logging.getLogger(__name__)

REMOTE = "remote.json"
CONNECTIONS = 16
AHEAD = 4 * CONNECTIONS


@dataclass(frozen=True)
class RemoteZips:
    """The zips of a mirror that stayed on the Hub: repository, commit, and size and digest of each."""

    repo: str
    commit: str
    zips: dict[str, tuple[int, str]]

    @classmethod
    def of(cls, root: Path) -> RemoteZips | None:
        """Of a mirror's directory; None where every zip is on disk."""
        path = root / REMOTE
        if not path.exists():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            found["repo"], found["commit"], {n: (z["size"], z["etag"]) for n, z in found["zips"].items()}
        )

    def write(self, root: Path) -> None:
        """Describe the zips in a mirror's directory."""
        zips = {name: {"size": size, "etag": etag} for name, (size, etag) in sorted(self.zips.items())}
        text = json.dumps({"repo": self.repo, "commit": self.commit, "zips": zips}, indent=2)
        (root / REMOTE).write_text(text + "\n", encoding="utf-8")


def raw_path(spool_dir: Path, member_id: str) -> Path:
    """Where a member's raw bytes are kept."""
    return spool_dir / f"{member_id}.raw"


def bring(remote: RemoteZips, members: list[dict], spool_dir: Path, patience: Patience | None = None) -> None:
    """Fetch the raw bytes of the members that are not in `spool_dir` yet.

    Raises:
        DataError: a range cannot be had; what came is kept and used when asked again.
    """
    spool_dir.mkdir(parents=True, exist_ok=True)
    todo = [m for m in members if m["zip"] in remote.zips and not raw_path(spool_dir, m["id"]).exists()]
    if not todo:
        return
    total = sum(member["stored_bytes"] for member in todo)
    check_space(spool_dir, 2 * total)
    patience = patience or PATIENT
    hub = HubRepo(remote.repo, remote.commit, endpoint(), patience)
    transfer = Transfer(total, what=f"{len(todo):,} photos by byte ranges")
    limits = httpx.Limits(max_connections=CONNECTIONS)
    with (
        httpx.Client(timeout=patience.timeout, follow_redirects=True, limits=limits) as client,
        threads(CONNECTIONS) as pool,
        transfer.stopping(),
    ):
        zips = {
            name: RemoteZip(hub, name, client, etag, transfer.wait) for name, (_, etag) in remote.zips.items()
        }
        waiting: list[Future[None]] = []
        for name, run in _runs(remote, todo):
            waiting.append(pool.submit(_store_run, zips[name], run, spool_dir, transfer))
            if len(waiting) >= AHEAD:
                _take(waiting.pop(0))
        for job in waiting:
            _take(job)


def _take(job: Future[None]) -> None:
    finish([job])
    job.result()


def _runs(remote: RemoteZips, members: list[dict]) -> Iterator[tuple[str, Run]]:
    """The runs of every zip, zip by zip."""
    by_zip: dict[str, list[dict]] = {}
    for member in members:
        by_zip.setdefault(member["zip"], []).append(member)
    for name, rows in sorted(by_zip.items()):
        for run in plan_runs(rows, remote.zips[name][0]):
            yield name, run


def _store_run(remote: RemoteZip, run: Run, spool_dir: Path, transfer: Transfer) -> None:
    for member, raw in fetch_run(remote, run):
        path = raw_path(spool_dir, member["id"])
        partial = path.with_suffix(".tmp")
        partial.write_bytes(raw)
        partial.replace(path)
        transfer.add(member["stored_bytes"])
