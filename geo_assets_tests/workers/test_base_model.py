"""The base model from each source, and what is said where one cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from geo_assets.errors import ModelError
from geo_assets.settings import Settings
from geo_assets.workers import base_model
from geo_assets.workers.harness import Job


def job(out: Path, settings: Settings, **section: object) -> Job:
    out.mkdir(exist_ok=True)
    changed = settings.base_model.model_copy(update=section)
    return Job("base_model", out, settings.model_copy(update={"base_model": changed}))


def test_the_tiny_model_is_the_same_bytes_each_time(tmp_path: Path, settings: Settings, base: Path) -> None:
    base_model.main(job(tmp_path, settings))
    files = sorted(path.relative_to(base) for path in base.rglob("*") if path.is_file())
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= {path.name for path in files}
    assert all((tmp_path / path).read_bytes() == (base / path).read_bytes() for path in files)


def test_a_local_model_is_linked_not_copied(tmp_path: Path, settings: Settings, base: Path) -> None:
    order = job(tmp_path, settings, source="local", local_dir=base / "model")
    base_model.main(order)
    linked = tmp_path / "model" / "model.safetensors"
    assert linked.samefile(base / "model" / "model.safetensors")
    assert json.loads((tmp_path / "source.json").read_text())["revision"] == "local"


def test_a_hub_model_records_the_commit(
    tmp_path: Path, settings: Settings, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = tmp_path / "snapshots" / "0123abcd"
    snapshot.parent.mkdir()
    snapshot.symlink_to(base / "model")
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(snapshot))
    base_model.main(job(tmp_path / "out", settings, source="hub", repo="me/model"))
    source = json.loads((tmp_path / "out" / "source.json").read_text())
    assert source == {"model": "me/model", "revision": "0123abcd"}


def test_no_network_is_one_line_with_the_remedy(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub.errors import LocalEntryNotFoundError

    def offline(*_: object, **__: object) -> str:
        raise LocalEntryNotFoundError("Cannot find the requested files.\nSecond line.")

    monkeypatch.setattr("huggingface_hub.snapshot_download", offline)
    with pytest.raises(ModelError, match=r"cannot fetch me/model@main .*base_model\.local_dir$") as caught:
        base_model.main(job(tmp_path, settings, source="hub", repo="me/model"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", ["config.json", "model.safetensors", "processor_config.json"])
def test_half_a_model_is_refused(tmp_path: Path, settings: Settings, base: Path, missing: str) -> None:
    half = tmp_path / "half"
    half.mkdir()
    for path in (base / "model").iterdir():
        if path.name != missing:
            (half / path.name).write_bytes(path.read_bytes())
    with pytest.raises(ModelError, match=r"config\.json|lacks .*safetensors|lacks preprocessor_config"):
        base_model.main(job(tmp_path / "out", settings, source="local", local_dir=half))


def test_a_local_source_without_folder_is_refused(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(ModelError, match=r"base_model\.local_dir is not set; name the model's folder"):
        base_model.main(job(tmp_path, settings, source="local"))
