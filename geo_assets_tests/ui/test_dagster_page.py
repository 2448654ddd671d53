"""The Dagster page in headless Chromium: lineage, Materialize, an asset's page, force, an error's remedy.

Set GEO_TEST_SHOTS to a folder to keep the screenshots.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geo_assets.graph import GRAPH
from geo_assets_tests.browser import chromium
from geo_assets_tests.dagster_cli import Project
from geo_assets_tests.ui.dagster_server import (
    dagster_dev,
    finished,
    new_run,
    processes_of,
    resource_trackers,
    runs,
    wait_until,
)

pytestmark = [pytest.mark.slow, pytest.mark.graph, pytest.mark.timeout(900)]

WAIT_MS = 60_000
# A small world: the page is what is tested here.
SMALL = {
    "GEO_OSV_ZIPS__TRAIN_SCENES": "120",
    "GEO_OSV_ZIPS__TEST_SCENES": "60",
    "GEO_PANO_SOURCE__SOURCE": "off",
    "GEO_EVAL_PHOTOS__FOLDER": "/no/such/photos",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    ready = os.environ.get("GEO_TEST_DEMO")
    project = Project(tmp_path_factory.mktemp("page"), Path(ready) if ready else None)
    with dagster_dev(project, **({} if ready else SMALL)) as served:
        yield served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    opened = browser.new_context(viewport={"width": 1600, "height": 1000}).new_page()
    opened.set_default_timeout(WAIT_MS)
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)[:200]))
    yield opened
    if folder := os.environ.get("GEO_TEST_SHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        opened.screenshot(path=f"{folder}/{request.node.name}.png")
    opened.context.close()
    assert faults == []


def materialize(address: str, page: Any, asset: str) -> str:
    """Click "Materialize" on the asset's page; return the run."""
    before = set(runs(address))
    page.goto(f"{address}/assets/{asset}")
    page.get_by_role("button", name="Materialize").first.click()
    confirm = page.get_by_role("button", name="Confirm")
    launched = page.locator("[data-sonner-toast]", has_text="Launched run")
    confirm.or_(launched).first.wait_for()
    if confirm.count():
        confirm.click()
    return new_run(address, before)


def test_lineage_shows_every_asset(address: str, page: Any) -> None:
    groups = sorted({spec.group for spec in GRAPH.values()})
    expanded = ",".join(f"global@global:{group}" for group in groups)
    page.set_viewport_size({"width": 1500, "height": 1750})  # what lies outside is not drawn
    page.goto(f"{address}/asset-groups?expanded={expanded}")
    for group in groups:
        page.get_by_text(group, exact=True).first.wait_for()
    for asset in GRAPH:
        page.get_by_text(asset, exact=True).first.wait_for()


def test_a_click_materializes_a_small_asset(address: str, page: Any) -> None:
    for asset in ("osv_zips", "train_pool"):
        assert finished(address, materialize(address, page, asset)) == "SUCCESS"
    page.goto(f"{address}/assets/train_pool")
    page.get_by_text("country_iso2").first.wait_for()
    page.get_by_text("[Show Markdown]").first.wait_for()


def test_pictures_of_the_pool_show(address: str, page: Any) -> None:
    page.goto(f"{address}/assets/train_pool")
    row = page.locator("tr", has_text="photos")
    row.get_by_text("[Show Markdown]").first.click()
    pictures = page.locator("[role=dialog] img")
    pictures.first.wait_for()
    assert pictures.evaluate_all("all => all.every(one => one.complete && one.naturalWidth > 0)")
    assert pictures.count() == 8


def test_checks_say_what_they_found(address: str, page: Any) -> None:
    page.goto(f"{address}/assets/train_pool?view=checks&checkDetail=labels_agree")
    page.get_by_text("the nearest place lies in the labelled country").first.wait_for()


def test_again_is_reused(address: str, page: Any) -> None:
    run = materialize(address, page, "train_pool")
    assert finished(address, run) == "SUCCESS"
    page.goto(f"{address}/runs/{run}")
    page.get_by_text("reused").first.wait_for()


@pytest.mark.skipif(bool(os.environ.get("GEO_TEST_DEMO")), reason="the ready home has no wrong setting")
def test_a_mistake_shows_its_remedy(address: str, page: Any) -> None:
    run = materialize(address, page, "eval_photos")
    assert finished(address, run) == "FAILURE"
    page.goto(f"{address}/runs/{run}")
    page.get_by_text("/no/such/photos does not exist; correct the path in the profile").first.wait_for()


def test_terminate_ends_every_process_of_a_run(page: Any, tmp_path: Path) -> None:
    project = Project(tmp_path)
    with dagster_dev(project, GEO_OSV_ZIPS__TRAIN_SCENES="20000") as address:
        idle = processes_of(project)
        run = materialize(address, page, "osv_zips")
        drawn = project.artifacts / "osv_zips"
        wait_until(lambda: any(drawn.rglob("*.zip*")), seconds=180)
        working = processes_of(project) - idle - resource_trackers(idle)
        page.goto(f"{address}/runs/{run}")
        page.get_by_role("button", name="Terminate").first.click()
        page.get_by_role("dialog").get_by_role("button", name="Terminate").click()
        assert finished(address, run) == "CANCELED"
        wait_until(lambda: not working & processes_of(project))
    assert len(working) >= 3  # the run, its step, and those who draw
    assert [path.name for path in drawn.glob("*") if path.suffix not in {".partial", ".lock"}] == []
