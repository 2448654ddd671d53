"""A Hub on loopback that takes uploads: create a repository, send files (large ones by LFS), commit.

    with UploadHub(folder) as hub:
        ...                                    # HfApi(endpoint=hub.url).upload_folder(...)
        assert hub.files("models", "me/model")["README.md"].read_text().startswith("---")

It refuses whoever has not `hub.token`, and front matter that is no YAML. Left out: xet, branches, deletions.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

import yaml

from geo_assets_tests.fakehub import FakeHub, _Handler

TOKEN = "hf_writes_on_loopback"


class UploadHub(FakeHub):
    """The server. `created` has what each repository was asked to be, `messages` those of the commits."""

    def __init__(self, root: Path, token: str = TOKEN) -> None:
        super().__init__(root)
        self.token = token
        self.created: dict[str, dict[str, object]] = {}
        self.messages: list[str] = []
        self.objects: dict[str, bytes] = {}
        self.server.RequestHandlerClass = type("Handler", (_UploadHandler,), {"hub": self})


class _UploadHandler(_Handler):
    hub: UploadHub

    def do_PUT(self) -> None:
        data = self._chunks() if self.headers.get("Transfer-Encoding") == "chunked" else self._rest()
        oid = self.path.rsplit("/", 1)[-1]
        self.request_log = self.hub.log[-1]
        if hashlib.sha256(data).hexdigest() != oid:
            self.reply(400, {"error": "the content has another digest"})
            return
        self.hub.objects[oid] = data
        self.reply(200, {})

    def _rest(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _chunks(self) -> bytes:
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def may_write(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {self.hub.token}":
            return True
        self.reply(401, {"error": "Invalid username or password."})
        return False

    def create(self) -> None:
        if self.may_write():
            asked = json.loads(self.body)
            owner = asked.get("organization") or "me"
            repo = f"{owner}/{asked['name']}"
            self.hub.created[repo] = asked
            self.hub.folder("models", repo).mkdir(parents=True, exist_ok=True)
            self.reply(200, {"url": f"{self.hub.url}/{repo}", "name": repo})

    def validate(self) -> None:
        front = json.loads(self.body)["content"].split("---")[1]
        try:
            errors = [] if isinstance(yaml.safe_load(front), dict) else [{"message": "no mapping"}]
        except yaml.YAMLError as error:
            errors = [{"message": str(error)}]
        self.reply(400 if errors else 200, {"errors": errors, "warnings": []})

    def preupload(self, repo: str, revision: str) -> None:
        if self.may_write():
            files = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["size"] >= self.hub.lfs_bytes else "regular",
                    "shouldIgnore": False,
                }
                for file in json.loads(self.body)["files"]
            ]
            self.reply(200, {"files": files})

    def batch(self, repo: str) -> None:
        if self.may_write():
            objects = [
                {**one, "actions": {"upload": {"href": f"{self.hub.url}/lfs/{one['oid']}"}}}
                for one in json.loads(self.body)["objects"]
            ]
            self.reply(200, {"transfer": "basic", "objects": objects})

    def commit(self, repo: str, revision: str) -> None:
        if not self.may_write():
            return
        folder = self.hub.folder("models", repo)
        for line in map(json.loads, self.body.decode().splitlines()):
            value = line["value"]
            if line["key"] == "header":
                self.hub.messages.append(value["summary"])
                continue
            data = (
                base64.b64decode(value["content"])
                if line["key"] == "file"
                else self.hub.objects[value["oid"]]
            )
            path = folder / value["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        oid = self.hub.commit("models", repo)
        self.reply(
            200, {"success": True, "commitOid": oid, "commitUrl": f"{self.hub.url}/{repo}/commit/{oid}"}
        )

    _REPO = r"(?P<repo>[^/]+/[^/]+?)"
    ROUTES = (
        (r"/api/repos/create", create),
        (r"/api/validate-yaml", validate),
        (rf"/api/models/{_REPO}/preupload/(?P<revision>[^/]+)", preupload),
        (rf"/{_REPO}\.git/info/lfs/objects/batch", batch),
        (rf"/api/models/{_REPO}/commit/(?P<revision>[^/]+)", commit),
        *_Handler.ROUTES,
    )
