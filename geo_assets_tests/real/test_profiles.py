"""The data part of the profiles `laptop` and `pod`, from a Hub on loopback that serves real photos."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from geo_assets.osv import schema
from geo_assets_tests.dagster_cli import Project
from geo_assets_tests.fakehub import FakeHub
from geo_assets_tests.osv.mirrors import write_split
from geo_assets_tests.real.panoramas import write_real_panoramas

pytestmark = [pytest.mark.slow, pytest.mark.graph]

PANOS = "datasets/stochastic/random_streetview_images_pano_v0.0.2"
SETS = ("train_pool", "eval_osv", "eval_quick", "eval_pano")


@pytest.fixture(scope="module")
def hub(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeHub]:
    """Real test photos and panoramas, and five train zips of noise."""
    root = tmp_path_factory.mktemp("hub")
    osv = root / "datasets/osv5m/osv5m"
    shutil.copytree(shared_data / "osv_real", osv)
    write_split(osv, "train", [c for c in ("BR", "FR", "JP", "NA") for _ in range(50)], 100_000, zips=5)
    write_real_panoramas(shared_data, root / PANOS)
    with FakeHub(root) as server:
        yield server


def build(project: Project, hub: FakeHub, profile: str, **overrides: str) -> str:
    select = " or ".join(f"+key:{name}" for name in SETS)
    finished = project.materialize(
        select, GEO_PROFILE=profile, HF_ENDPOINT=hub.url, HF_HUB_DISABLE_XET="1", **overrides
    )
    assert finished.code == 0, finished.output[-8000:]
    return finished.output


def papers(project: Project, name: str) -> tuple[str, list[dict[str, str]], dict[str, int]]:
    """Card, attribution and losses of a set."""
    folder = project.latest(name)
    with (folder / "ATTRIBUTION.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return (folder / "data_card.md").read_text(), rows, json.loads((folder / "dropped.json").read_text())


def table(project: Project, name: str) -> pl.DataFrame:
    return pl.read_parquet(project.latest(name) / f"{name}.parquet")


def test_laptop(hub: FakeHub, tmp_path: Path) -> None:
    project = Project(tmp_path)
    hub.log.clear()
    output = build(project, hub, "laptop")
    sent = {request.path.partition("?")[0] for request in hub.log if "/resolve/" in request.path}
    assert {name.rpartition("osv5m/resolve/")[2].partition("/")[2] for name in sent} == {
        "test.csv", "images/test/00.zip",
    }  # fmt: skip
    assert "verified, 0 damaged members" in output
    assert table(project, "train_pool").schema == schema.SET_SCHEMA
    assert [table(project, name).height for name in SETS] == [0, 89, 20, 0]
    card, rows, dropped = papers(project, "eval_osv")
    assert "- From: hub:osv5m/osv5m@" in card and "- Rows: 89 in 57 countries" in card
    assert len(rows) == dropped["rows"] == 89 and all("Mapillary" in row["attribution"] for row in rows)
    assert len(papers(project, "eval_quick")[1]) == 20


def test_pod_by_whole_zips_and_by_ranges(hub: FakeHub, tmp_path: Path) -> None:
    whole, ranges = Project(tmp_path / "whole"), Project(tmp_path / "ranges")
    build(whole, hub, "pod", GEO_OSV_ZIPS__TRAIN_ZIPS="[0,1,2,3,4]")
    build(ranges, hub, "pod", GEO_OSV_ZIPS__TRAIN_ZIPS="[0,1,2,3,4]", GEO_OSV_ZIPS__REACH="ranges")
    for name in SETS:
        assert whole.manifests(name)[0]["content"] == ranges.manifests(name)[0]["content"]
        assert papers(whole, name) == papers(ranges, name)
    assert table(whole, "train_pool").height == 200 and table(whole, "eval_pano").height >= 10
    assert not list(ranges.latest("osv_zips").glob("images/train/*.zip"))
    card, rows, _ = papers(ranges, "train_pool")
    assert "| country | rows | usable in the first two zips | usable in all 5 zips |" in card
    assert "| BR | 50 | 20 | 50 |" in card and len(rows) == 200
    assert "Never redistribute" in papers(whole, "eval_pano")[0]


def test_without_a_network_one_line_says_what_to_do(tmp_path: Path) -> None:
    project = Project(tmp_path)
    finished = project.materialize(
        "+key:eval_osv", GEO_PROFILE="laptop", HF_ENDPOINT="http://nowhere.invalid", HF_HUB_DISABLE_XET="1"
    )
    assert finished.code == 1
    lines = [line for line in finished.output.splitlines() if "no answer from the Hub" in line]
    assert lines and all("check the network and HTTPS_PROXY, or set source: local" in line for line in lines)
    assert "Traceback" not in finished.output
