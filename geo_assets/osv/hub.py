"""What the downloads need to know of a Hub repository: its commit, its files, where the bytes are.

Every question is asked again after a rate limit, a server error or a broken connection, with growing waits,
and ends in an answer or in one `DataError` that says what to do. huggingface_hub alone retries less and hides
a rate limit behind "cannot find the file". Waits are seconds. Left out: xet transfer, uploads.
"""

from __future__ import annotations

import logging
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import httpx
from huggingface_hub import HfApi, constants, get_hf_file_metadata, get_token, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled
from huggingface_hub.hf_api import RepoFile

from geo_assets.errors import DataError

logger = logging.getLogger(__name__)

T = TypeVar("T")
RETRY_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
OFFLINE = "check the network and HTTPS_PROXY, or set source: local in the profile"


@dataclass(frozen=True)
class Patience:
    """How long to keep trying."""

    tries: int = 8
    """Attempts without any progress."""
    first_tries: int = 3
    """Attempts to reach the Hub for the first time: without a network there is nothing to wait for."""
    first_wait: float = 1.0
    longest_wait: float = 60.0
    timeout: float = 20.0

    def seconds(self, attempt: int, asked: float | None = None) -> float:
        """How long to wait after attempt number `attempt` (from 1), or as the server asked, within limits."""
        seconds = self.first_wait * 2 ** (attempt - 1) if asked is None else asked
        return min(self.longest_wait, seconds) * random.uniform(0.9, 1.1)


PATIENT = Patience()


@dataclass(frozen=True)
class HubFile:
    """A file of a repository: its size and the digest by which its content is known."""

    name: str
    size: int
    etag: str
    """SHA-256 of a large file, git blob SHA-1 of a small one."""


@dataclass(frozen=True)
class Location:
    """Where the bytes of a file can be had for some time."""

    url: str
    size: int
    etag: str
    on_hub: bool
    """Whether the address is the Hub's own, which may see the token."""


def asked_wait(headers: httpx.Headers) -> float | None:
    """Seconds that a rate limit asks to wait (`Retry-After` or `RateLimit: …;t=`), or None."""
    if (after := headers.get("Retry-After", "")).isdigit():
        return float(after)
    match = re.search(r"r=0\s*;\s*t=(\d+)", headers.get("RateLimit", ""))
    return float(match[1]) if match else None


@dataclass(frozen=True)
class HubRepo:
    """A data set repository at a revision. `open_repo` pins the revision to a commit."""

    repo: str
    revision: str
    endpoint: str
    patience: Patience = PATIENT

    def api(self) -> HfApi:
        """The Hub's API at this endpoint."""
        return HfApi(endpoint=self.endpoint, token=get_token())

    def files(self, names: list[str]) -> list[HubFile]:
        """Size and digest of the named files, in order.

        Raises:
            DataError: the repository lacks some of them.
        """
        found = ask(
            lambda: self.api().get_paths_info(self.repo, names, revision=self.revision, repo_type="dataset"),
            f"the file list of {self.repo}", self.patience,
        )  # fmt: skip
        entries = {e.path: e for e in found if isinstance(e, RepoFile)}
        if missing := [name for name in names if name not in entries]:
            raise DataError(f"{self.repo} has no {', '.join(missing)}: name files that exist in the profile")
        return [
            HubFile(
                name, entries[name].size, lfs.sha256 if (lfs := entries[name].lfs) else entries[name].blob_id
            )
            for name in names
        ]

    def list_folder(self, folder: str, suffix: str) -> list[str]:
        """Sorted names of the files in a folder of the repository that end in `suffix`.

        Raises:
            DataError: there is none.
        """
        entries = ask(
            lambda: list(self.api().list_repo_tree(
                self.repo, folder, revision=self.revision, repo_type="dataset", recursive=True
            )),
            f"the file list of {self.repo}", self.patience,
        )  # fmt: skip
        names = sorted(e.path for e in entries if isinstance(e, RepoFile) and e.path.endswith(suffix))
        if not names:
            raise DataError(f"{self.repo} has no {folder}/*{suffix}: check repo and revision in the profile")
        return names

    def locate(self, name: str) -> Location:
        """Resolve a file to the address of its bytes; one request, counted by the Hub's limits."""
        url = hf_hub_url(self.repo, name, repo_type="dataset", revision=self.revision, endpoint=self.endpoint)
        meta = ask(
            lambda: get_hf_file_metadata(url, token=get_token(), endpoint=self.endpoint), name, self.patience
        )
        if meta.size is None or meta.etag is None:
            raise DataError(f"{url} names no size and no digest: set HF_ENDPOINT to a Hub that does")
        return Location(meta.location, meta.size, meta.etag, meta.location.startswith(f"{self.endpoint}/"))

    def headers(self, location: Location, start: int, stop: int | None = None) -> dict[str, str]:
        """Request headers for bytes [start, stop) of a file."""
        last = "" if stop is None else str(stop - 1)
        headers = {"Range": f"bytes={start}-{last}", "Accept-Encoding": "identity"}
        if location.on_hub and (token := get_token()):
            headers["Authorization"] = f"Bearer {token}"
        return headers


def endpoint() -> str:
    """Address of the Hub: HF_ENDPOINT as it is now (huggingface_hub reads it once, at import)."""
    return os.environ.get("HF_ENDPOINT", constants.ENDPOINT).rstrip("/")


def open_repo(repo: str, revision: str, patience: Patience = PATIENT) -> HubRepo:
    """The repository at the commit that `revision` names now."""
    hub = HubRepo(repo, revision, endpoint(), patience)
    question = partial(hub.api().dataset_info, repo, revision=revision)
    info = ask(question, f"data set {repo}", patience, reached=False)
    return HubRepo(repo, info.sha or revision, endpoint(), patience)


def ask(question: Callable[[], T], what: str, patience: Patience, reached: bool = True) -> T:
    """The answer to an idempotent request, after as many tries as patience allows.

    Args:
        question: the request.
        what: names it in messages.
        patience: how long to keep trying.
        reached: whether the Hub has been reached before.

    Raises:
        DataError: a refusal that no waiting changes, or no answer.
    """
    if constants.is_offline_mode():
        raise DataError(f"{what} is on the Hub and HF_HUB_OFFLINE is set: unset it, or set source: local")
    for attempt in range(1, patience.tries + 1):
        asked = None
        try:
            return question()
        except OfflineModeIsEnabled as error:
            raise DataError(
                f"{what} is on the Hub and the Hub is off ({error}): unset HF_HUB_OFFLINE"
            ) from error
        except HfHubHTTPError as error:
            status = error.response.status_code
            if status not in RETRY_STATUS:
                raise DataError(f"{what}: {refusal(status)}") from error
            why, asked = f"HTTP {status}", asked_wait(error.response.headers)
        except httpx.TransportError as error:
            why = f"{type(error).__name__}: {error}"
            if not reached and isinstance(error, httpx.ConnectError) and attempt >= patience.first_tries:
                break
        if attempt < patience.tries:
            logger.warning(f"{what}: {why}; trying again")
            time.sleep(patience.seconds(attempt, asked))
    raise DataError(f"{what}: no answer from the Hub in {attempt} tries ({why}): {remedy(why)}")


def refusal(status: int) -> str:
    """One line for an HTTP status that no retry changes."""
    if status in (401, 403):
        return f"the Hub refuses access (HTTP {status}): accept its terms there and set HF_TOKEN"
    if status == 404:
        return "the Hub does not have it (HTTP 404): check repo and revision in the profile"
    return f"the Hub answers HTTP {status}: try again later, or set source: local"


def remedy(why: str) -> str:
    """What to do when the last reason was `why`."""
    if "429" in why:
        return "wait five minutes and materialize again, or set HF_TOKEN for a higher limit"
    return OFFLINE
