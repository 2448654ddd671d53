"""Files: linked where that works, copied where it does not, known by their digest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geo_assets.files import file_sha256, link_or_copy


def test_a_link_shares_the_bytes_and_replaces_what_was_there(tmp_path: Path) -> None:
    source, target = tmp_path / "a.jpg", tmp_path / "images/deep/a.jpg"
    source.write_bytes(b"jpeg")
    for _ in range(2):
        link_or_copy(source, target)
    assert target.read_bytes() == b"jpeg" and target.samefile(source)


def test_a_symbolic_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"jpeg")
    (tmp_path / "b").symlink_to("a")
    link_or_copy(tmp_path / "b", tmp_path / "out/c")
    assert not (tmp_path / "out/c").is_symlink() and (tmp_path / "out/c").samefile(tmp_path / "a")


def test_a_copy_where_links_do_not_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(18, "cross-device")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "a").write_bytes(b"jpeg")
    link_or_copy(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"jpeg" and not (tmp_path / "b").samefile(tmp_path / "a")


def test_digests(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    assert file_sha256(tmp_path / "a") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
