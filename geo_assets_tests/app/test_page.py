"""The demo page without a model: canned answers, cards, map, clicks; and once in a real browser."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from geo_assets.app import cards
from geo_assets.app import guesser as guesser_module
from geo_assets.app.answer_map import Layer, answer_map, view
from geo_assets.app.guesser import Answers, Guesser, error_of, guessers, most_named
from geo_assets.app.samples import gps_exif
from geo_assets.artifacts import Store
from geo_assets.backends.base import Completion, Request
from geo_assets.errors import ArtifactError, ModelError
from geo_assets.report import outlines
from geo_assets.settings import Settings, Task
from geo_assets_tests.app.test_photos import photo
from geo_assets_tests.browser import chromium

NAIROBI, PARIS = (-1.29, 36.82), (48.86, 2.35)


def text(country: str, lat: float, lon: float, think: str = "red soil") -> str:
    return f'<think>{think}</think>\n<answer>{{"country": "{country}", "lat": {lat}, "lon": {lon}}}</answer>'


class Canned:
    """A backend that answers in turn and keeps what it was asked."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts, self.asked = texts, []  # type: ignore[var-annotated]

    def generate(self, requests: Sequence[Request]) -> list[list[Completion]]:
        self.asked += requests
        return [
            [Completion(self.texts[k % len(self.texts)], 20, "stop") for k in range(request.sampling.samples)]
            for request in requests
        ]


def guesser(name: str, texts: Sequence[str]) -> Guesser:
    made = Guesser(
        name, Path("nowhere"), Settings(name="demo", task=Task(prompt="short", min_cells=1, max_cells=22))
    )
    made._backend = Canned(texts)
    return made


@pytest.fixture(autouse=True)
def fitted_without_transformers(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The real size comes from transformers, which takes seconds to import; one slow test asks it."""
    if "real_size" not in request.fixturenames:
        monkeypatch.setattr(guesser_module, "fitted_size", lambda *_: (160, 128))


@pytest.fixture
def real_size() -> None:
    """Asks for the real `fitted_size`."""


@pytest.fixture
def pair() -> list[Guesser]:
    after = [text("Kenya", *NAIROBI), text("Kenya", -1.0, 37.5), text("Uganda", 0.3, 32.6), "no idea"]
    return [
        guesser("before", [text("France", *PARIS, think="<script>alert(1)</script>")]),
        guesser("after", after),
    ]


@pytest.fixture
def page_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """The page, with `tmp_path` as the folder of uploads; gradio takes two seconds to import."""
    pytest.importorskip("gradio")
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    return importlib.import_module("geo_assets.app.page")


def test_photo_reaches_the_model_bare_and_at_the_budget(
    tmp_path: Path, pair: list[Guesser], page_module
) -> None:
    path = photo(tmp_path / "a.jpg", gps_exif(*NAIROBI), (683, 512))
    shown = page_module.ask_all(pair, {"path": str(path)}, 4, 0.8)
    greedy, sampled = pair[1]._backend.asked  # type: ignore[union-attr]
    (image,) = greedy.photos
    assert image.size == (160, 128)
    assert dict(image.getexif()) == {}
    assert (greedy.sampling.temperature, sampled.sampling.temperature, sampled.sampling.samples) == (
        0.0,
        0.8,
        4,
    )
    assert shown.truth == pytest.approx(NAIROBI, abs=1e-5)
    assert shown.answers["after"].greedy.place == NAIROBI


def test_cards_show_both_sides_distance_and_escape_the_model(
    tmp_path: Path, pair: list[Guesser], page_module
) -> None:
    path = photo(tmp_path / "a.jpg", gps_exif(*NAIROBI))
    html, world = page_module.render(page_module.ask_all(pair, {"path": str(path)}, 4, 0.8))
    assert "Before training" in html
    assert "After training" in html
    assert "After training the guess is 6,4" in html
    assert "4 samples: Kenya 2, Uganda 1, no answer 1" in html
    assert "<b>0.0 km</b> off, <b>5,000</b>" in html
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert world.count("truth-pin") == 1
    assert len(re.findall(r'class="sample s-after"', world)) == 3


def test_refused_photo_and_empty_page_are_one_line(tmp_path: Path, pair: list[Guesser], page_module) -> None:
    (tmp_path / "x.jpg").write_text("no photo")
    html, _ = page_module.render(page_module.ask_all(pair, {"path": str(tmp_path / "x.jpg")}, 0, 1.0))
    assert 'class="message error"' in html
    assert "is not an image" in html
    hint, world = page_module.render(page_module.ask_all(pair, None, 0, 1.0))
    assert page_module.HINT in hint
    assert f'viewBox="0.00 0.00 {outlines.WIDTH:.2f} {outlines.HEIGHT:.2f}"' in world


def test_a_file_that_nobody_uploaded_is_refused(tmp_path: Path, pair: list[Guesser], page_module) -> None:
    outside = photo(tmp_path.parent / f"{tmp_path.name}-outside.jpg")
    assert "was not uploaded" in page_module.ask_all(pair, {"path": str(outside)}, 0, 1.0)
    sneaky = str(tmp_path / ".." / outside.name)
    assert "was not uploaded" in page_module.ask_all(pair, {"path": sneaky}, 0, 1.0)
    assert pair[0]._backend.asked == []  # type: ignore[union-attr]


def test_click_sets_the_truth_and_the_sea_outside_does_not(
    tmp_path: Path, pair: list[Guesser], page_module
) -> None:
    shown = page_module.ask_all(pair, {"path": str(photo(tmp_path / "a.jpg"))}, 0, 1.0)
    assert shown.truth is None
    x, y = outlines.project(*PARIS)
    clicked, html, _ = page_module.place_truth(shown, SimpleNamespace(x=x, y=y))
    assert clicked.truth == pytest.approx(PARIS)
    assert "farther from the truth" in html
    outside, _, _ = page_module.place_truth(clicked, SimpleNamespace(x=0.0, y=0.0))
    assert outside.truth == clicked.truth
    assert page_module.place_truth(None, SimpleNamespace(x=x, y=y))[0] is None


def test_unreadable_answer_says_so() -> None:
    answers = guesser("after", ["<think>hm"]).ask(_image(), samples=0)
    html = cards.card("after", answers, PARIS)
    assert "No readable answer" in html
    assert "cut off" in html
    assert error_of(answers.greedy, PARIS) is None
    assert answers.spread_km is None


def _image():  # type: ignore[no-untyped-def]
    from PIL import Image

    return Image.new("RGB", (320, 240), "green")


def test_spread_is_the_median_distance_of_the_samples() -> None:
    answers: Answers = guesser("after", [text("Kenya", 0, 0), text("Kenya", 0, 1), text("Kenya", 0, 3)]).ask(
        _image(), 3
    )
    assert answers.spread_km == pytest.approx(222.4, abs=0.1)
    assert most_named(answers.samples) == [("Kenya", 3)]


def test_view_keeps_every_place_inside_and_never_zooms_past_the_outlines() -> None:
    for places in ([NAIROBI], [PARIS, NAIROBI], [(70.0, -170.0), (-50.0, 175.0)]):
        x, y, width, height = view(places)
        assert 130.0 <= width <= outlines.WIDTH
        assert height / width == pytest.approx(outlines.HEIGHT / outlines.WIDTH)
        for place in places:
            px, py = outlines.project(*place)
            assert x <= px <= x + width
            assert y <= py <= y + height


def test_map_draws_a_way_from_each_guess_to_the_truth() -> None:
    drawn = answer_map([Layer("before", PARIS, ()), Layer("after", NAIROBI, (PARIS,))], (10.0, 10.0))
    assert re.findall(r'class="way w-(\w+)"', drawn) == ["before", "after"]
    assert drawn.count("<circle") == 3


def test_models_without_weights_and_profiles_without_a_run_are_errors(tmp_path: Path) -> None:
    settings = Settings(name="demo")
    with pytest.raises(ModelError, match="--model"):
        guessers(settings, Store(tmp_path), tmp_path / "empty", None)[0].load()
    with pytest.raises(ArtifactError, match="merged_model is not built"):
        guessers(settings, Store(tmp_path), None, None)


@pytest.mark.slow
def test_size_is_that_of_the_pixel_budget(real_size: None) -> None:
    made = guesser("after", [text("Kenya", *NAIROBI)])
    made.ask(_image().resize((683, 512)))
    assert made._backend.asked[0].photos[0].size == (160, 128)  # type: ignore[union-attr]


@pytest.fixture
def served(tmp_path: Path, pair: list[Guesser], page_module) -> Iterator[str]:
    blocks = page_module.page(pair, [photo(tmp_path / "example.jpg", gps_exif(*NAIROBI))], "Canned.", 0.8)
    _, url, _ = blocks.queue().launch(
        prevent_thread_lock=True, **page_module.launch_options("127.0.0.1", None)
    )
    yield url
    blocks.close()


@pytest.mark.slow
def test_page_from_upload_to_pin_in_a_browser(tmp_path: Path, served: str) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        outside, problems = [], []  # type: ignore[var-annotated]
        page.on("pageerror", lambda error: problems.append(error))
        page.on(
            "request",
            lambda r: outside.append(r.url) if served not in r.url and r.url[:4] == "http" else None,
        )
        page.goto(served)
        page.wait_for_selector("svg.answer-map")
        page.set_input_files("#photo input[type=file]", photo(tmp_path / "mine.jpg"))
        page.wait_for_selector(".card.after")
        assert page.locator(".truth-pin").count() == 0
        box = page.locator("svg.answer-map").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_selector(".compare")
        assert "the truth" in page.locator(".compare").inner_text()
        page.get_by_role("button", name="example").or_(page.locator(".gallery button")).first.click()
        page.wait_for_function("document.querySelector('.compare')?.innerText.includes('closer')")
        (tmp_path / "bad.jpg").write_bytes(b"no photo")
        page.locator("#photo button[aria-label*='lear'], #photo button[aria-label*='emove']").first.click()
        page.set_input_files("#photo input[type=file]", tmp_path / "bad.jpg")
        page.wait_for_selector(".message.error")
        assert "is not an image" in page.locator(".message.error").inner_text()
        assert outside == []
        assert problems == []
