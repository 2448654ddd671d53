"""A Hugging Face Hub on loopback that can misbehave on purpose.

Serves what downloads ask of a Hub (resolve with redirect, repository info, file list, paths info) from a
folder: `root/{models,datasets}/<owner>/<name>/<files>`. Files of `lfs_bytes` and more redirect to a "CDN"
under another host name, as the Hub does. Left out: xet, git, uploads, access control.

    with FakeHub(root) as hub:
        hub.fault("GET", r"00\\.zip", drop_after=1 << 20)
        ...
        assert [request.status for request in hub.log] == [302, 200, 206]
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

BLOCK = 1 << 16


@dataclass
class Request:
    """One request as it was served."""

    method: str
    path: str
    range: str | None
    status: int = 0
    sent: int = 0


@dataclass
class Fault:
    """How matching requests misbehave."""

    method: str
    pattern: str
    times: int = 1
    """How many requests misbehave; -1 for all."""
    skip: int = 0
    """Let so many pass first."""
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    stall: float = 0.0
    """Seconds before the first byte, or before byte `stall_after`."""
    stall_after: int | None = None
    drop_after: int | None = None
    """Send so many bytes, then reset the connection."""
    truncate: int | None = None
    """Promise all, send so many bytes, close."""
    flip: int | None = None
    """Invert the byte at this offset of the file."""
    ignore_range: bool = False
    etag: str | None = None


class FakeHub:
    """The server; `url` is its HF_ENDPOINT."""

    def __init__(self, root: Path, *, lfs_bytes: int = 1 << 10, bandwidth: float | None = None) -> None:
        self.root, self.lfs_bytes, self.bandwidth = Path(root), lfs_bytes, bandwidth
        self.log: list[Request] = []
        self.faults: list[Fault] = []
        self.lock = threading.Lock()
        self._digests: dict[tuple[str, int, int], tuple[str, str]] = {}
        handler = type("Handler", (_Handler,), {"hub": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        port = self.server.server_address[1]
        self.url, self.cdn_url = f"http://127.0.0.1:{port}", f"http://localhost:{port}"

    def __enter__(self) -> FakeHub:
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def fault(self, method: str, pattern: str, **how: object) -> None:
        """Let requests of a method whose path matches a pattern misbehave."""
        self.faults.append(Fault(method, pattern, **how))  # type: ignore[arg-type]

    def take_fault(self, method: str, path: str) -> Fault | None:
        """The first fault that applies to a request; counts it."""
        with self.lock:
            for fault in self.faults:
                if fault.times and fault.method in (method, "*") and re.search(fault.pattern, path):
                    if fault.skip:
                        fault.skip -= 1
                        continue
                    fault.times -= fault.times > 0
                    return fault
        return None

    def folder(self, kind: str, repo: str) -> Path:
        """Where a repository's files are."""
        return self.root / kind / repo

    def files(self, kind: str, repo: str) -> dict[str, Path]:
        """A repository's files by name."""
        folder = self.folder(kind, repo)
        return {p.relative_to(folder).as_posix(): p for p in sorted(folder.rglob("*")) if p.is_file()}

    def digests(self, path: Path) -> tuple[str, str]:
        """(git blob SHA-1, SHA-256) of a file."""
        stat = path.stat()
        key = (str(path), stat.st_mtime_ns, stat.st_size)
        if key not in self._digests:
            data = path.read_bytes()
            sha1 = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
            self._digests[key] = (sha1, hashlib.sha256(data).hexdigest())
        return self._digests[key]

    def is_large(self, path: Path) -> bool:
        """Whether a file is served by the CDN and known by its SHA-256."""
        return path.stat().st_size >= self.lfs_bytes

    def commit(self, kind: str, repo: str) -> str:
        """A repository's commit: a digest of its content."""
        content = "".join(f"{name} {self.digests(p)[0]}\n" for name, p in self.files(kind, repo).items())
        return hashlib.sha1(content.encode()).hexdigest()

    def entry(self, name: str, path: Path) -> dict[str, object]:
        """A file as the API lists it."""
        sha1, sha256 = self.digests(path)
        size = path.stat().st_size
        entry: dict[str, object] = {"type": "file", "path": name, "size": size, "oid": sha1}
        if self.is_large(path):
            entry["lfs"] = {"oid": sha256, "size": size, "pointerSize": 134}
        return entry


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def do_GET(self) -> None:
        self.route = unquote(urlsplit(self.path).path)
        self.request_log = Request(self.command, self.path, self.headers.get("Range"))
        self.hub.log.append(self.request_log)
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.fault = self.hub.take_fault(self.command, self.path) or Fault("", "")
        if self.fault.stall and self.fault.stall_after is None:
            time.sleep(self.fault.stall)
        if self.fault.status:
            self.reply(self.fault.status, {"error": "on purpose"}, self.fault.headers)
            return
        for pattern, serve in self.ROUTES:
            if match := re.fullmatch(pattern, self.route):
                serve(self, **match.groupdict())
                return
        self.reply(404, {"error": f"no route {self.route}"})

    do_HEAD = do_POST = do_GET

    def reply(self, status: int, content: object, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(content).encode()
        self.request_log.status = status
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def missing(self, code: str) -> None:
        self.reply(404, {"error": code}, {"X-Error-Code": code, "X-Error-Message": code})

    def known(self, kind: str, repo: str, revision: str | None) -> bool:
        """Whether repository and revision exist; answers 404 where they do not."""
        if not self.hub.folder(kind, repo).is_dir():
            self.missing("RepoNotFound")
        elif revision not in (None, "main", self.hub.commit(kind, repo)):
            self.missing("RevisionNotFound")
        else:
            return True
        return False

    def resolve(self, kind: str | None, repo: str, revision: str, name: str) -> None:
        kind = kind or "models"
        if not self.known(kind, repo, revision):
            return
        path = self.hub.folder(kind, repo) / name
        commit = {"X-Repo-Commit": self.hub.commit(kind, repo)}
        if not path.is_file():
            self.reply(404, {}, {**commit, "X-Error-Code": "EntryNotFound"})
            return
        sha1, sha256 = self.hub.digests(path)
        if not self.hub.is_large(path):
            self.send_file(path, {**commit, "ETag": f'"{self.fault.etag or sha1}"'})
            return
        etag, size = f'"{self.fault.etag or sha256}"', str(path.stat().st_size)
        address = f"{self.hub.cdn_url}/cdn/{kind}/{repo}/{name}?Signature=fake"
        self.reply(302, {}, {**commit, "X-Linked-Size": size, "X-Linked-Etag": etag, "Location": address})

    def cdn(self, kind: str, repo: str, name: str) -> None:
        self.send_file(self.hub.folder(kind, repo) / name, {})

    def span(self, size: int) -> tuple[int, int, int]:
        """(status, start, stop) for the request's range."""
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if asked is None or self.fault.ignore_range:
            return 200, 0, size
        start, stop = int(asked[1]), min(size, int(asked[2]) + 1) if asked[2] else size
        return (206, start, stop) if start < stop else (416, 0, 0)

    def send_file(self, path: Path, headers: dict[str, str]) -> None:
        size = path.stat().st_size
        status, start, stop = self.span(size)
        self.request_log.status = status
        self.send_response(status)
        if status == 206:
            headers = {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{size}"}
        for name, value in {**headers, "Content-Length": str(stop - start)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.send_bytes(path, start, stop)

    def send_bytes(self, path: Path, start: int, stop: int) -> None:
        fault, log = self.fault, self.request_log
        data = bytearray(path.read_bytes())
        if fault.flip is not None:
            data[fault.flip] ^= 0xFF
        end = stop if fault.truncate is None else min(stop, start + fault.truncate)
        stalled = False
        while start + log.sent < end:
            at = start + log.sent
            block = data[at : min(end, at + BLOCK)]
            if fault.drop_after is not None:
                block = block[: fault.drop_after - log.sent]
                if not block:
                    self.reset()
                    return
            if fault.stall_after is not None and log.sent >= fault.stall_after and not stalled:
                stalled = True
                time.sleep(fault.stall)
            self.wfile.write(block)
            log.sent += len(block)
            if self.hub.bandwidth:
                time.sleep(len(block) / self.hub.bandwidth)
        self.close_connection = end < stop

    def reset(self) -> None:
        """Close with RST, so that the client sees a broken connection and not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def info(self, kind: str, repo: str, revision: str | None = None) -> None:
        if self.known(kind, repo, revision):
            files = [{"rfilename": name} for name in self.hub.files(kind, repo)]
            commit = self.hub.commit(kind, repo)
            self.reply(200, {"_id": "0", "id": repo, "sha": commit, "private": False, "siblings": files,
                             "tags": [], "downloads": 0, "likes": 0})  # fmt: skip

    def tree(self, kind: str, repo: str, revision: str, path: str) -> None:
        if self.known(kind, repo, revision):
            names = [n for n in self.hub.files(kind, repo) if n.startswith(path.strip("/"))]
            files = self.hub.files(kind, repo)
            self.reply(200, [self.hub.entry(name, files[name]) for name in names])

    def paths_info(self, kind: str, repo: str, revision: str) -> None:
        if self.known(kind, repo, revision):
            is_json = "json" in self.headers.get("Content-Type", "")
            asked = json.loads(self.body) if is_json else parse_qs(self.body.decode())
            files = self.hub.files(kind, repo)
            self.reply(200, [self.hub.entry(n, files[n]) for n in asked["paths"] if n in files])

    _REPO, _KIND = r"(?P<repo>[^/]+/[^/]+?)", r"(?P<kind>models|datasets)"
    ROUTES = (
        (rf"/(?:(?P<kind>datasets)/)?{_REPO}/resolve/(?P<revision>[^/]+)/(?P<name>.+)", resolve),
        (rf"/cdn/{_KIND}/{_REPO}/(?P<name>.+)", cdn),
        (rf"/api/{_KIND}/{_REPO}/tree/(?P<revision>[^/]+)(?P<path>/.*)?", tree),
        (rf"/api/{_KIND}/{_REPO}/paths-info/(?P<revision>[^/]+)", paths_info),
        (rf"/api/{_KIND}/{_REPO}(?:/revision/(?P<revision>[^/]+))?", info),
    )
