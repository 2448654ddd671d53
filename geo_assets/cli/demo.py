"""`demo`: a page on loopback; photo in, clues, country and a map out. Works offline and on CPU."""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
from pathlib import Path

from geo_assets.artifacts import Store
from geo_assets.errors import GeoAssetsError
from geo_assets.profile import home, load_profile


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "demo", help="a page that guesses where your photo was taken", description=__doc__
    )
    parser.add_argument(
        "--model", type=Path, metavar="DIR", help="merged model folder (default: merged_model)"
    )
    parser.add_argument("--before", type=Path, metavar="DIR", help="model folder to compare with")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback only)")
    parser.add_argument("--port", type=int, help="port (default: the first free one from 7860)")
    parser.add_argument("--samples", type=int, default=8, metavar="K", help="sampled answers for the cloud")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        import gradio  # noqa: F401
    except ImportError:
        raise GeoAssetsError("the demo page needs gradio: pip install 'geo_assets[demo-page]'") from None
    from geo_assets.app.guesser import guessers
    from geo_assets.app.page import page, serve
    from geo_assets.app.samples import draw_samples

    settings = load_profile()
    models = guessers(settings, Store(home()), arguments.model, arguments.before)
    for model in models:
        model.load()
    drawn = settings.osv_zips.source == "demo"
    subtitle = (
        "A tiny model trained on drawn scenes: try the drawn examples, real photos are beyond it."
        if drawn
        else "A vision-language model names the clues it sees, then a country and coordinates."
    )
    with tempfile.TemporaryDirectory(prefix="geo-assets-demo-") as folder:
        examples = draw_samples(Path(folder))
        temperature = settings.evaluate.temperature
        blocks = page(models, examples, subtitle, temperature, arguments.samples)
        print(
            f"demo page on http://{arguments.host}:{arguments.port or '7860 or the next free port'} (stop: "
            "Ctrl+C)"
        )
        serve(blocks, arguments.host, arguments.port, arguments.open)
    return 0
