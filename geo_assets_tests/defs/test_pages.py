"""What asset pages show: small enough, nothing that fails a page, damaged and empty inputs included."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from dagster import MarkdownMetadataValue, PathMetadataValue, TableMetadataValue, UrlMetadataValue
from PIL import Image

from geo_assets.defs import asset, metadata, model, previews, results, rl, sources
from geo_assets.osv.schema import SET_SCHEMA, write_parquet
from geo_assets.report.previews import INLINE_CHARS
from geo_assets.settings import Settings

SETTINGS = Settings.model_validate({"name": "test", "task": {"prompt": "short"}})


def whole(path: Path, figures: Mapping[str, Any] | None = None) -> asset.Whole:
    return asset.Whole(path, SETTINGS, {}, figures or {})


def jpeg(shade: int, size: tuple[int, int] = (640, 480)) -> bytes:
    buffer = io.BytesIO()
    noise = np.random.default_rng(shade).integers(0, 255, (size[1] // 8, size[0] // 8, 3), dtype=np.uint8)
    Image.fromarray(noise).resize(size).save(buffer, "JPEG", quality=85)
    return buffer.getvalue()


def assert_shows(page: Mapping[str, Any]) -> dict[str, Any]:
    """The page as Dagster gets it; nothing was too large or failed."""
    cleaned = metadata.clean(page)
    texts = {name: str(value.value) for name, value in cleaned.items()}
    assert not [name for name, text in texts.items() if "cannot be shown" in text or "too large" in text]
    assert max(map(len, texts.values())) <= metadata.MAX_BYTES
    return cleaned


def test_a_table_takes_rows_that_lack_columns() -> None:
    table = metadata.table([{"a": 1}, {"a": 2, "b": "x"}])
    assert isinstance(table, TableMetadataValue)
    assert [dict(record.data) for record in table.records] == [{"a": 1, "b": ""}, {"a": 2, "b": "x"}]


def test_an_address_is_a_link_and_a_sentence_is_not() -> None:
    page = metadata.clean({"run": "https://wandb.ai/me/geo/runs/1", "note": "https://a.b is not it"})
    assert isinstance(page["run"], UrlMetadataValue)
    assert not isinstance(page["note"], UrlMetadataValue)


def test_zips_show_photos_and_skip_what_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "images" / "train"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "00.zip", "w") as archive:
        archive.writestr("__MACOSX/00/._1.jpg", b"junk")
        archive.writestr("00/1.jpg", jpeg(1)[:2000])
        archive.writestr("00/2.JPG", jpeg(2))
        archive.writestr("00/3.jpg", b"no photo")
        archive.writestr("00/4.jpg", jpeg(4))
    (folder / "01.zip").write_bytes(b"no zip")
    files = {
        "images/train/00.zip": {"size": 3_000_000, "sha256": "ab" * 32, "source": "hub"},
        "train.csv": {"size": 5},
    }
    (tmp_path / "files.json").write_text(json.dumps(files))
    page = assert_shows(sources._describe_zips(whole(tmp_path)))
    assert page["photos"].value.count("data:image/jpeg") == 2
    assert page["n_files"].value == 2
    assert page["total_mb"].value == 3.0


def test_panoramas_show(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = {
        "image": [{"bytes": jpeg(n, (3050, 561)), "path": None} for n in range(6)],
        "country_iso_alpha2": ["FR"] * 6,
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "data" / "train-0.parquet")
    (tmp_path / "files.json").write_text("{}")
    page = assert_shows(sources._describe_panoramas(whole(tmp_path)))
    assert page["panoramas"].value.count("data:image/jpeg") == 4


@pytest.mark.parametrize("n", [0, 40])
def test_a_set_shows_photos_map_and_countries(tmp_path: Path, n: int) -> None:
    (tmp_path / "images").mkdir()
    rows = []
    for k in range(n):
        (tmp_path / "images" / f"{k}.jpg").write_bytes(jpeg(k))
        row = {"id": str(k), "image_path": f"images/{k}.jpg",
               "latitude": 4.0 * k - 80, "longitude": 8.0 * k - 160,
               "country_iso2": ("FR", "NA")[k % 2], "width": 640, "height": 480}  # fmt: skip
        rows.append({column: row.get(column) for column in SET_SCHEMA})
    write_parquet(pl.DataFrame(rows, schema=SET_SCHEMA), tmp_path / "eval_osv.parquet")
    page = assert_shows(previews.describe_set("eval_osv", whole(tmp_path)))
    assert page["dagster/row_count"].value == n
    assert page["n_countries"].value == (2 if n else 0)
    columns = {column.name: column.description for column in page["dagster/column_schema"].value.columns}
    assert list(columns) == list(SET_SCHEMA)
    assert all(columns.values())
    if n:
        assert page["photos"].value.count("data:image/jpeg") == 8
        assert "Namibia" in page["countries"].value
        assert page["map"].value.startswith("![where 40 photos are](data:image/jpeg")


def test_the_warm_up_shows_its_loss_inline(tmp_path: Path) -> None:
    losses = [5 / (step + 1) for step in range(500)]
    (tmp_path / "warm_start.json").write_text(json.dumps({"losses": losses}))
    page = assert_shows(model._describe_start(whole(tmp_path, {"sample": "<think>a\u202eb</think>"})))
    assert isinstance(page["loss_curve"], MarkdownMetadataValue)
    assert len(page["loss_curve"].value) < INLINE_CHARS
    assert page["sample"].value == "<think>ab</think>"


def test_a_pass_through_says_so(tmp_path: Path) -> None:
    assert "passed through" in str(model._describe_start(whole(tmp_path))["model"])


def test_a_run_shows_curves_samples_and_where_its_curves_are(tmp_path: Path) -> None:
    log = [{"step": n, "reward": n / 100, "rewards/format_reward/mean": 1.0} for n in range(1, 71)]
    (tmp_path / "log_history.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log))
    answer = '<think>left</think><answer>{"country": "Kenya", "lat": -1, "lon": 36.8}</answer>'
    samples = [{"step": n, "id": "1", "completion": text, "total": 0.51234, "format": 1.0, "dist": 0.3}
               for n, text in enumerate([answer, "no idea"])]  # fmt: skip
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(line) + "\n" for line in samples))
    page = assert_shows(rl._describe_run(whole(tmp_path, {"tracker_run": "wandb/offline-run-1"})))
    assert len(page["reward_curve"].value) < INLINE_CHARS
    guesses = [record.data["guess"] for record in page["samples"].records]
    assert guesses == ["Kenya -1, 36.8", "none"]
    assert isinstance(page["tracker_run"], PathMetadataValue)
    assert page["tracker_run"].value == str(tmp_path / "wandb/offline-run-1")


def test_the_report_shows_verdict_and_gains(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("# Report")
    gain = {"before": 2407.6, "after": 3084.04, "gain": 676.46, "gain_low": 522.2, "gain_high": 835.5}
    figures = {"verdict": "Improved", "sentence": "Better.", "caveats": ["A demo."],
               **{f"greedy/mean_geoscore/{part}": value for part, value in gain.items()}}  # fmt: skip
    page = assert_shows(results._describe_report(whole(tmp_path, figures)))
    (row,) = page["gains"].records
    assert dict(row.data) == {"metric": "score", "answers": "greedy", "before": 2408, "after": 3084,
                              "gain": 676, "95% interval": "522 to 836"}  # fmt: skip
    assert page["verdict"].value == "Improved"
