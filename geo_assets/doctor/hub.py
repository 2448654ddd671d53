"""The Hub: whether each repository of the profile answers, with which rights, and whether the clock is right.

One HEAD for each repository, five seconds at most; nothing is downloaded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime

from geo_assets.doctor.finding import Finding
from geo_assets.settings import Settings

TIMEOUT_SECONDS = 5.0
CLOCK_LIMIT_SECONDS = 120.0
OFFLINE_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def examine(
    settings: Settings, environment: Mapping[str, str], *, offline: bool = False
) -> Iterator[Finding]:
    """Findings for every repository that the profile downloads from."""
    wanted = repositories(settings)
    if not wanted:
        yield Finding("ok", "this profile downloads nothing")
        return
    names = ", ".join(repo for _, repo, _, _ in wanted)
    blocked = [
        name for name in OFFLINE_VARIABLES if environment.get(name, "").upper() in {"1", "TRUE", "YES", "ON"}
    ]
    if blocked:
        yield Finding(
            "warn",
            f"{blocked[0]} is set; this profile downloads {names}",
            f"unset {blocked[0]}, or set source: local",
        )
        return
    if offline:
        yield Finding(
            "warn",
            f"the Hub was not asked (--offline); this profile downloads {names}",
            "run doctor without --offline",
        )
        return
    for kind, repo, revision, file in wanted:
        yield from _ask(kind, repo, revision, file, environment.get("HF_ENDPOINT"))


def repositories(settings: Settings) -> list[tuple[str, str, str, str]]:
    """(kind, repository, revision, a small file in it) for each source that is on the Hub."""
    found = []
    if settings.osv_zips.source == "hub":
        found.append(("dataset", settings.osv_zips.repo, settings.osv_zips.revision, "test.csv"))
    if settings.pano_source.source == "hub":
        found.append(("dataset", settings.pano_source.repo, settings.pano_source.revision, "README.md"))
    if settings.base_model.source == "hub":
        found.append(("model", settings.base_model.repo, settings.base_model.revision, "config.json"))
    return found


def _ask(kind: str, repo: str, revision: str, file: str, endpoint: str | None) -> Iterator[Finding]:
    import httpx
    from huggingface_hub import constants, get_token, hf_hub_url
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status

    address = hf_hub_url(repo, file, repo_type=kind, revision=revision, endpoint=endpoint)
    began = time.monotonic()
    try:
        response = httpx.head(address, headers=build_hf_headers(), timeout=TIMEOUT_SECONDS)
        hf_raise_for_status(response)
    except httpx.TransportError as error:
        what = f"{endpoint or constants.ENDPOINT} does not answer for {repo}: {type(error).__name__}"
        yield Finding("fail", what, "check the network and HTTPS_PROXY, or set source: local with local_dir")
        return
    except GatedRepoError:
        yield Finding(
            "fail",
            f"{repo} is gated",
            "accept its terms on the Hub, then set HF_TOKEN or run `hf auth login`",
        )
        return
    except HfHubHTTPError as error:
        yield Finding(
            "fail", f"{repo}: HTTP {error.response.status_code}", _remedy(error.response.status_code)
        )
        return
    token = "a token was found" if get_token() else "no token (3,000 file requests in 5 minutes)"
    commit = response.headers.get("X-Repo-Commit", "unknown")[:8]
    yield Finding(
        "ok", f"the Hub answers for {repo} at {commit} in {time.monotonic() - began:.2f} s, {token}"
    )
    yield from _clock(response.headers.get("Date"))


def _remedy(status: int) -> str:
    return {
        401: "set HF_TOKEN or run `hf auth login`",
        403: "accept the repository's terms on the Hub and set HF_TOKEN",
        404: "correct the repository's name or revision in the profile",
        429: "wait five minutes, or set HF_TOKEN for a higher limit",
    }.get(status, "try again in a few minutes")


def _clock(date: str | None) -> Iterator[Finding]:
    if date is None:
        return
    skew = time.time() - parsedate_to_datetime(date).timestamp()
    if abs(skew) > CLOCK_LIMIT_SECONDS:
        yield Finding(
            "warn",
            f"this clock is {skew:+.0f} s off",
            "set it with ntp, or signed download links may be refused",
        )
