"""The report in a real browser: offline, no sideways scrolling, readable in both modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from geo_assets.report.render import render
from geo_assets.report.run import Run
from geo_assets_tests.browser import chromium

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_report_opens_offline_and_fits(pod_run: Run, tmp_path: Path, width: int, dark: bool) -> None:
    render(pod_run, tmp_path)
    with chromium() as browser:
        page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light"
        )
        problems: list[Any] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(error))
        page.on("request", lambda r: problems.append(r.url) if r.url.startswith("http") else None)
        page.goto((tmp_path / "report.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        broken = "[...document.images].filter(i => !i.complete || !i.naturalWidth).length"
        assert page.evaluate(broken) == 0
        assert page.locator("svg.map:visible").count() == 3
        shown = page.locator("#fig-gains .narrow" if width < 620 else "#fig-gains .wide")
        assert shown.is_visible()
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(19, 22, 26)" if dark else "rgb(255, 255, 255)")
        assert problems == []
