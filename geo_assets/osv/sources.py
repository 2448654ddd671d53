"""Put the OSV-5M mirror and the panorama source in place: downloaded, linked from a directory, or drawn.

The result has the Hub's own layout, and `files.json` says of each file its size, digest and origin. A rerun
after a kill keeps what is whole and verified. With `reach: ranges` train zips stay on the Hub and only
their directories come.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path

import httpx

from geo_assets.errors import DataError
from geo_assets.files import file_sha256
from geo_assets.osv import archive, local
from geo_assets.osv.download import fetch_files
from geo_assets.osv.hub import PATIENT, HubFile, HubRepo, Patience, open_repo
from geo_assets.osv.mirror import TABLE_SUFFIX, write_table
from geo_assets.osv.ranges import NoRanges, RemoteZip, read_directory
from geo_assets.osv.spool import RemoteZips
from geo_assets.osv.transfer import finish, threads
from geo_assets.settings import OsvZips, PanoSource, Runtime

logger = logging.getLogger(__name__)

FILES = "files.json"
PIN = "pin.json"
DIRECTORY_CONNECTIONS = 8
PANO_FOLDER = "data"


def wanted_files(settings: OsvZips) -> list[str]:
    """Files of the mirror that the settings name; a split without zips needs no CSV."""
    names = []
    for split, numbers in (("train", settings.train_zips), ("test", settings.test_zips)):
        if numbers:
            names += [f"{split}.csv", *(f"images/{split}/{n:02d}.zip" for n in sorted(set(numbers)))]
    return names


def build_osv_zips(
    settings: OsvZips, out_dir: Path, runtime: Runtime, patience: Patience = PATIENT
) -> dict[str, dict]:
    """Fill `out_dir` with the mirror that the settings describe; returns what `files.json` holds.

    Raises:
        DataError: a file is missing, damaged or cannot be fetched.
    """
    out_dir.mkdir(parents=True, exist_ok=True)
    if settings.source == "demo":
        from geo_assets.world import mirror

        mirror.draw_mirror(out_dir, settings, runtime.workers)
        return _describe(out_dir, "drawn")
    names = wanted_files(settings)
    if settings.source == "local":
        local.place(local.folder_of(settings.local_dir, "osv_zips"), out_dir, names)
        return _describe(out_dir, "local")
    hub = _pinned(settings.repo, settings.revision, out_dir, patience)
    remote = [n for n in names if settings.reach == "ranges" and n.startswith("images/train/")]
    files = hub.files(names)
    try:
        read_directories(hub, [file for file in files if file.name in remote], out_dir)
    except NoRanges as error:
        logger.warning(f"{error}; downloading whole zips instead")
        remote = []
    fetched = [file for file in files if file.name not in remote]
    fetch_files(hub, fetched, out_dir)
    return _describe(out_dir, _origin(hub), fetched, [file for file in files if file.name in remote])


def build_pano_source(
    settings: PanoSource, out_dir: Path, runtime: Runtime, patience: Patience = PATIENT
) -> dict[str, dict]:
    """Fill `out_dir` with the panorama parquet files; nothing but `files.json` where the source is off."""
    out_dir.mkdir(parents=True, exist_ok=True)
    if settings.source == "off":
        return _describe(out_dir, "off")
    if settings.source == "demo":
        from geo_assets.world import panorama

        panorama.draw_panoramas(out_dir, settings, runtime.workers)
        return _describe(out_dir, "drawn")
    if settings.source == "local":
        folder = local.folder_of(settings.local_dir, "pano_source")
        names = sorted(
            path.relative_to(folder).as_posix() for path in (folder / PANO_FOLDER).glob("*.parquet")
        )
        if not names:
            raise DataError(
                f"{folder} has no data/*.parquet: set pano_source.local_dir to a copy of the data set"
            )
        local.place(folder, out_dir, names)
        return _describe(out_dir, "local")
    hub = _pinned(settings.repo, settings.revision, out_dir, patience)
    files = hub.files(hub.list_folder(PANO_FOLDER, ".parquet"))
    fetch_files(hub, files, out_dir)
    return _describe(out_dir, _origin(hub), files)


def _origin(hub: HubRepo) -> str:
    return f"hub:{hub.repo}@{hub.revision}"


def _pinned(repo: str, revision: str, out_dir: Path, patience: Patience) -> HubRepo:
    """The repository at one commit, the same one when an interrupted download goes on."""
    pin, asked = out_dir / PIN, {"repo": repo, "revision": revision}
    known = json.loads(pin.read_text(encoding="utf-8")) if pin.exists() else {}
    if asked.items() <= known.items():
        return open_repo(repo, known["commit"], patience)
    hub = open_repo(repo, revision, patience)
    pin.write_text(json.dumps({**asked, "commit": hub.revision}), encoding="utf-8")
    return hub


def read_directories(hub: HubRepo, zips: list[HubFile], out_dir: Path) -> None:
    """Keep the member tables of zips that stay on the Hub, and where they are.

    Raises:
        NoRanges: the server sends whole files only.
    """
    if not zips:
        return
    with httpx.Client(timeout=hub.patience.timeout, follow_redirects=True) as client:

        def one(file: HubFile) -> None:
            path = out_dir / f"{file.name}{TABLE_SUFFIX}"
            if path.exists():
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            table, skipped = read_directory(RemoteZip(hub, file.name, client, file.etag))
            write_table(path, table, skipped)
            logger.info(f"{file.name}: {table.height:,} photos, {file.size / 1e9:.2f} GB left on the Hub")

        with threads(DIRECTORY_CONNECTIONS) as pool:
            jobs = [pool.submit(one, file) for file in zips]
            finish(jobs)
            for job in jobs:
                job.result()
    RemoteZips(hub.repo, hub.revision, {f.name: (f.size, f.etag) for f in zips}).write(out_dir)


def _describe(
    out_dir: Path, origin: str, fetched: Sequence[HubFile] = (), remote: Sequence[HubFile] = ()
) -> dict[str, dict]:
    """Verify the zips and write files.json from what lies in the directory.

    The SHA-256 of a large file that was fetched is known: the download was checked against it.
    """
    files: dict[str, dict] = {}
    known = {file.name: file.etag for file in fetched if len(file.etag) == 64}
    for path in sorted(p for p in out_dir.rglob("*") if p.is_file() and p.name not in (FILES, PIN)):
        name = path.relative_to(out_dir).as_posix()
        sha256 = known.get(name) or file_sha256(path)
        files[name] = {"size": path.stat().st_size, "sha256": sha256, "source": origin}
        if path.suffix == ".zip":
            files[name]["damaged_members"] = damaged = archive.damaged_members(path)
            logger.info(f"{name}: {files[name]['size'] / 1e9:.2f} GB verified, {damaged} damaged members")
    for file in remote:
        files[file.name] = {"size": file.size, "etag": file.etag, "source": origin, "reach": "ranges"}
    (out_dir / FILES).write_text(json.dumps(files, indent=2) + "\n", encoding="utf-8")
    (out_dir / PIN).unlink(missing_ok=True)
    return files
