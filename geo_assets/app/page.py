"""The demo page: a photo in; clues, country and a map out, before and after training side by side.

Works offline and on CPU: the map is country outlines, the fonts are the system's, and nothing is sent
anywhere. Uploads are deleted after an hour. What it leaves out: accounts, history, sharing.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

from geo_assets.app import cards
from geo_assets.app.answer_map import Layer, answer_map
from geo_assets.app.guesser import Answers, Guesser, LatLon
from geo_assets.app.photos import MAX_BYTES, open_photo
from geo_assets.errors import DataError, GeoAssetsError
from geo_assets.report import outlines

logger = logging.getLogger(__name__)

KEEP_UPLOADS_SECONDS = 3600
MAX_SAMPLES = 32
HINT = "Choose a street photo, or one of the drawn examples."
# Reports where a click on the map lands, in the map's own units.
CLICK_JS = """
element.addEventListener('click', event => {
  const svg = event.target.closest('svg.answer-map');
  if (!svg) return;
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  trigger('select', {x: at.x, y: at.y});
});
"""
# Systems without flag glyphs draw letters or boxes, as wide as two glyphs: the country code is shown there.
FLAG_JS = """
const pen = document.createElement('canvas').getContext('2d');
pen.font = '20px sans-serif';
const [one, flag] = ['\\u{1F1EF}', '\\u{1F1EF}\\u{1F1F5}'].map(text => pen.measureText(text).width);
if (flag > 1.5 * one) element.classList.add('no-flags');
"""
LEGEND_KINDS = (
    ("before", "before"),
    ("after", "after"),
    ("cloud", "samples"),
    ("truth", "truth (click the map to set it)"),
)
LEGEND = "".join(f'<span><i class="k-{kind}"></i>{words}</span>' for kind, words in LEGEND_KINDS)


@dataclass(frozen=True)
class Shown:
    """What the page shows now."""

    answers: dict[str, Answers]
    truth: LatLon | None


def uploaded_path(payload: Mapping[str, Any] | None) -> Path | None:
    """The file behind what the browser sent, unopened, so that `open_photo` judges it.

    Raises:
        DataError: it names a file that nobody uploaded.
    """
    if not payload or not payload.get("path"):
        return None
    path = Path(payload["path"]).resolve()
    if not path.is_relative_to(Path(get_upload_folder()).resolve()):
        raise DataError("that file was not uploaded; choose a photo on the page")
    return path


def ask_all(
    guessers: Sequence[Guesser], payload: Mapping[str, Any] | None, samples: int, temperature: float
) -> Shown | str:
    """Ask every model about an uploaded photo; an error comes back as its one line."""
    try:
        path = uploaded_path(payload)
        if path is None:
            return HINT
        photo = open_photo(path)
        answers = {g.name: g.ask(photo.image, int(samples), temperature) for g in guessers}
    except GeoAssetsError as error:
        return str(error)
    return Shown(answers, photo.gps)


def render(shown: Shown | str | None) -> tuple[str, str]:
    """The HTML of the cards and of the map."""
    if shown is None or isinstance(shown, str):
        kind = "hint" if shown in (None, HINT) else "error"
        return cards.message(shown or HINT, kind), _map([], None)
    layers = [
        Layer(kind, found.greedy.place, tuple(a.place for a in found.samples if a.place))
        for kind, found in shown.answers.items()
    ]
    return cards.cards(shown.answers, shown.truth), _map(layers, shown.truth)


def _map(layers: Sequence[Layer], truth: LatLon | None) -> str:
    return f'{answer_map(layers, truth)}<div class="map-legend">{LEGEND}</div>'


def place_truth(shown: Shown | str | None, event: gr.EventData) -> tuple[Shown | str | None, str, str]:
    """Take a click on the map, in its px, as the place where the photo was taken."""
    if isinstance(shown, Shown):
        place = outlines.unproject(float(event.x), float(event.y))
        shown = replace(shown, truth=place or shown.truth)
    return (shown, *render(shown))


def page(
    guessers: Sequence[Guesser], examples: Sequence[Path], subtitle: str, temperature: float, samples: int = 8
) -> gr.Blocks:
    """Build the page; nothing is served yet."""

    def on_photo(payload: dict | None, k: float, warmth: float) -> tuple[Shown | str, str, str]:
        shown = ask_all(guessers, payload, int(k), warmth)
        return (shown, *render(shown))

    cards_now, map_now = render(None)
    with gr.Blocks(
        title="Where was this photo taken?",
        analytics_enabled=False,
        delete_cache=(KEEP_UPLOADS_SECONDS, KEEP_UPLOADS_SECONDS),
    ) as blocks:
        gr.HTML(f"<h1>Where was this photo taken?</h1><p>{cards.escape(subtitle)}</p>", elem_id="head")
        state = gr.State(None)
        with gr.Row():
            with gr.Column(scale=2, min_width=300):
                photo = gr.Image(
                    label="Photo", type="filepath", image_mode=None, height=300, elem_id="photo",
                    sources=["upload", "clipboard", "webcam"],
                )  # fmt: skip
                if examples:
                    gr.Examples([[str(path)] for path in examples], [photo], label="Drawn examples")
                with gr.Accordion("How it answers", open=False):
                    k = gr.Slider(0, MAX_SAMPLES, value=samples, step=1, label="Samples for the cloud")
                    warmth = gr.Slider(
                        0.1, 1.5, value=temperature, step=0.1, label="Temperature of the samples"
                    )
                    again = gr.Button("Ask again")
            with gr.Column(scale=3, min_width=320):
                answer = gr.HTML(cards_now, elem_id="answer", js_on_load=FLAG_JS)
                world = gr.HTML(map_now, elem_id="world", js_on_load=CLICK_JS)
        gr.HTML(
            "<p>The photo stays on this machine. Its EXIF data, GPS included, never reaches the model; GPS "
            "is read only to show you the distance. A guess can be wrong, and a photo of someone's home is "
            "not yours to locate.</p>",
            elem_id="foot",
        )
        outputs = [state, answer, world]
        # Without preprocessing the upload stays unopened: Gradio's own refusal of a bad file has no words.
        gr.on(
            [photo.change, again.click], on_photo, [photo, k, warmth], outputs, preprocess=False,
            show_progress="minimal",
        )  # fmt: skip
        world.select(place_truth, [state], outputs, show_progress="hidden")
    return blocks


def launch_options(host: str, port: int | None) -> dict[str, Any]:
    """How the page is served: system fonts, own styles, no sharing, no links, bounded uploads."""
    fonts = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "sans-serif"]
    theme = gr.themes.Base(
        primary_hue="blue", neutral_hue="slate", font=fonts, font_mono=["ui-monospace", "monospace"]
    )
    return {
        "server_name": host, "server_port": port, "theme": theme, "css": cards.page_css(), "share": False,
        "quiet": True, "max_file_size": MAX_BYTES, "footer_links": [],
    }  # fmt: skip


def serve(blocks: gr.Blocks, host: str, port: int | None, open_browser: bool = False) -> None:
    """Serve the page until interrupted."""
    blocks.queue(max_size=16).launch(inbrowser=open_browser, **launch_options(host, port))
