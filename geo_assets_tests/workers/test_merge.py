"""The merged model: same answers, cards that the Hub's own tools read, attribution, push on request alone."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from huggingface_hub import ModelCard
from PIL import Image

from geo_assets.backends.base import Completion
from geo_assets.errors import ModelError
from geo_assets.models.loading import load_model
from geo_assets.settings import Settings
from geo_assets.workers import merge, scoring
from geo_assets.workers.harness import Job
from geo_assets_tests.upload_hub import TOKEN, UploadHub

ANSWER = '<think>red soil</think><answer>{"country": "Kenya", "lat": -1.3, "lon": 36.8}</answer>'


@pytest.fixture(scope="module")
def upstream(
    tmp_path_factory: pytest.TempPathFactory, settings: Settings, base: Path, start: Path, learnable: Path
) -> dict[str, Path]:
    """An adapter that changes the model, and the evaluation that chose it."""
    from peft import LoraConfig, get_peft_model

    trained, scored = (tmp_path_factory.mktemp(name) for name in ("lora_checkpoints", "checkpoint_metrics"))
    model: Any = load_model(base / "model", settings.runtime, "float32", "sdpa")
    lora = LoraConfig(
        r=2,
        lora_alpha=4,
        target_modules=["q_proj", "v_proj"],
        exclude_modules=".*visual.*",
        task_type="CAUSAL_LM",
    )
    adapted = get_peft_model(model, lora)
    torch.manual_seed(0)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=0.5)
    adapted.save_pretrained(trained / "checkpoint-4")
    (trained / "train_stats.json").write_text(
        json.dumps({"steps": 4, "rows": 12, "trainable_parameters": 512})
    )
    rows = scoring.rows_of(learnable)
    answers = [[Completion(ANSWER if i % 4 == 2 else "no idea", 20, "stop")] for i in range(len(rows))]
    scoring.save(scored / "checkpoint-4", scoring.predictions(rows, answers, "geoguessr"))
    (scored / "checkpoints.json").write_text(json.dumps([{"step": 2}, {"step": 4}]))
    best = {"step": 4, "checkpoint": "checkpoint-4", "why": "highest mean_reward on eval_quick (greedy): 0.5"}
    (scored / "best.json").write_text(json.dumps(best))
    return {
        "base_model": base, "warm_start": start, "train_learnable": learnable,
        "lora_checkpoints": trained, "checkpoint_metrics": scored,
    }  # fmt: skip


def job(out: Path, settings: Settings, upstream: dict[str, Path], **sections: Any) -> Job:
    out.mkdir(parents=True)
    changed = {name: getattr(settings, name).model_copy(update=values) for name, values in sections.items()}
    return Job("merged_model", out, settings.model_copy(update=changed), upstream)


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory, settings: Settings, upstream: dict[str, Path]) -> Job:
    order = job(tmp_path_factory.mktemp("merged") / "m", settings, upstream)
    merge.main(order)
    return order


def test_the_merged_model_answers_as_start_with_adapter(merged: Job) -> None:
    assert merged.collected["same_greedy_answers"] == merged.collected["verified_rows"] == 4


def test_cards_load_with_the_hubs_own_tools(merged: Job) -> None:
    for folder, library in ((merged.out, "transformers"), (merged.out / "adapter", "peft")):
        card = ModelCard.load(folder / "README.md")
        assert card.data.library_name == library
        assert card.data.pipeline_tag == "image-text-to-text"
        results = {result.metric_type: result for result in card.data.eval_results}
        assert results["country_acc"].metric_value == pytest.approx(3 / 12)
        low, high = results["mean_geoscore"].metric_args["confidence_interval_95"]
        assert low <= results["mean_geoscore"].metric_value <= high
        assert results["mean_geoscore"].metric_args["n"] == 12
        assert "Privacy" in card.text
        assert "These photos chose this checkpoint" in card.text


def test_a_merge_gives_the_same_bytes_again(
    tmp_path: Path, settings: Settings, upstream: dict[str, Path], merged: Job
) -> None:
    again = job(tmp_path / "again", settings, upstream)
    merge.main(again)
    for name in ("README.md", "adapter/README.md", "model.safetensors", "ATTRIBUTION.csv"):
        assert (again.out / name).read_bytes() == (merged.out / name).read_bytes()


def test_every_training_photo_is_attributed(merged: Job, upstream: dict[str, Path]) -> None:
    lines = (merged.out / "ATTRIBUTION.csv").read_text().splitlines()
    rows = scoring.rows_of(upstream["train_learnable"])
    assert {line.split(",")[0] for line in lines[1:]} == {row["id"] for row in rows}
    assert all("CC BY-SA 4.0" in line for line in lines[1:])


def test_the_code_of_the_card_runs(merged: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str],
                                   monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    (code,) = re.findall(r"```python\n(.*?)```", (merged.out / "README.md").read_text(), re.DOTALL)
    Image.new("RGB", (96, 64), (90, 120, 60)).save(tmp_path / "photo.jpg")
    monkeypatch.chdir(tmp_path)
    exec(code.replace("path/to/this/folder", str(merged.out)), {})
    # Random weights may answer with white space alone, so what counts is that the code runs and prints.
    assert capsys.readouterr().out.endswith("\n")


def test_nothing_is_pushed_unless_asked(merged: Job) -> None:
    assert "pushed_to" not in merged.collected


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with UploadHub(tmp_path / "hub") as served:
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", served.url)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield served


def test_push_sends_the_model_and_its_cards(
    hub: UploadHub, tmp_path: Path, settings: Settings, upstream: dict[str, Path],
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    order = job(tmp_path / "m", settings, upstream, merge={"push_to": "me/where"})
    merge.main(order)
    assert order.collected["pushed_to"] == f"{hub.url}/me/where"
    assert hub.created["me/where"]["visibility"] == "private"
    sent = hub.files("models", "me/where")
    wanted = {p.relative_to(order.out).as_posix() for p in order.out.rglob("*") if p.is_file()}
    assert set(sent) == wanted
    assert {
        "README.md",
        "adapter/README.md",
        "adapter/adapter_model.safetensors",
        "model.safetensors",
    } <= wanted
    assert all(path.read_bytes() == (order.out / name).read_bytes() for name, path in sent.items())
    assert ModelCard.load(sent["README.md"]).data.model_name == "me/where"
    assert hub.messages == ["checkpoint-4 of m"]
    captured = capfd.readouterr()
    assert TOKEN not in captured.out + captured.err + caplog.text + json.dumps(order.collected)
    assert not [
        path for path in order.out.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()
    ]


def test_a_refused_push_says_what_to_do_and_keeps_the_model(
    hub: UploadHub,
    tmp_path: Path,
    settings: Settings,
    upstream: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    order = job(tmp_path / "m", settings, upstream, merge={"push_to": "me/where"})
    with pytest.raises(
        ModelError, match=r"cannot push to me/where \(.*\); log in .*HF_TOKEN.*merge\.push_to"
    ) as refused:
        merge.main(order)
    assert "hf_wrong" not in str(refused.value)
    assert (order.out / "model.safetensors").exists()
