"""Take the README's pictures from a home that `make demo` has built, and time the demo page.

    .venv/bin/python -m tools.screenshots        writes docs/see-*.png

Needs Chromium. The Dagster pages show the history in the project's .dagster folder, so run it where the
demo was materialized, or set DAGSTER_HOME and GEO_HOME.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from geo_assets.graph import GRAPH
from geo_assets.profile import home
from geo_assets_tests.browser import chromium

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MOST_BYTES = 200_000
MARGIN_PX = 60
DAGSTER, DEMO = 3_917, 7_917
"""Ports on loopback."""


def main() -> None:
    with chromium() as browser:
        report(browser)
        with serving("-m", "dagster", "dev", "-h", "127.0.0.1", "-p", str(DAGSTER)):
            lineage(browser)
            asset(browser, "lora_checkpoints")
        with serving("-m", "geo_assets", "demo", "--port", str(DEMO)):
            demo_page(browser)


def report(browser: Any) -> None:
    page = opened(browser, (home() / "report/latest/report.html").resolve().as_uri(), width=1100, height=1000)
    shoot(page, "see-report")


def lineage(browser: Any) -> None:
    groups = sorted({spec.group for spec in GRAPH.values()})
    expanded = ",".join(f"global@global:{group}" for group in groups)
    page = opened(browser, f"http://127.0.0.1:{DAGSTER}/asset-groups?expanded={expanded}", 1500, 1750, 1.5)
    page.get_by_text(groups[0], exact=True).first.wait_for()
    page.wait_for_timeout(5_000)
    page.get_by_text("Hide navigation").click()
    page.wait_for_timeout(2_000)
    boxes = [page.get_by_text(name, exact=True).first.bounding_box() for name in GRAPH]
    left, top = (min(box[side] for box in boxes) - MARGIN_PX for side in "xy")
    right = max(box["x"] + box["width"] for box in boxes) + MARGIN_PX
    bottom = max(box["y"] + box["height"] for box in boxes) + MARGIN_PX
    shoot(page, "see-lineage", clip={"x": left, "y": top, "width": right - left, "height": bottom - top})


def asset(browser: Any, name: str) -> None:
    page = opened(browser, f"http://127.0.0.1:{DAGSTER}/assets/{name}", 1500, 1150)
    page.get_by_text("Metadata").first.wait_for()
    page.wait_for_timeout(5_000)
    shoot(page, "see-asset")


def demo_page(browser: Any) -> None:
    page = opened(browser, f"http://127.0.0.1:{DEMO}", 1280, 900)
    page.wait_for_selector("svg.answer-map")
    example = page.locator(".gallery button").nth(2)  # of a country that the warm-up took for another
    for turn in ("first", "second"):
        started = time.monotonic()
        page.evaluate("document.querySelectorAll('.card').forEach(card => card.remove())")
        example.click()
        page.wait_for_selector(".card.after")
        print(f"demo page, {turn} answer: {time.monotonic() - started:.1f} s")
    page.wait_for_timeout(1_500)
    shoot(page, "see-demo")


def opened(browser: Any, url: str, width: int, height: int, scale: float = 1.0) -> Any:
    page = browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=scale)
    page.set_default_timeout(120_000)
    page.goto(url)
    return page


def shoot(page: Any, name: str, **options: Any) -> None:
    """A screenshot with a palette, so that it stays small."""
    path = DOCS / f"{name}.png"
    page.screenshot(path=path, **options)
    with Image.open(path) as image:
        image.convert("RGB").quantize(colors=128, method=Image.Quantize.MEDIANCUT).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {size / 1e3:.0f} kB{'' if size < MOST_BYTES else ', too large'}")
    page.close()


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[None]:
    """A server in the background, ready when its port answers."""
    environment = {**os.environ, "DAGSTER_DISABLE_TELEMETRY": "yes", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen([sys.executable, *arguments], cwd=ROOT, env=environment)
    port = int(arguments[-1])
    try:
        await_port(port, process)
        yield
    finally:
        process.terminate()
        process.wait(60)


def await_port(port: int, process: subprocess.Popen[bytes], seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.5)
    raise TimeoutError(f"nothing answers on port {port}")


if __name__ == "__main__":
    main()
