"""Episodes as a page: images, what was said, rewards, and for places a map. One file, no script, no network.

Everything that a model wrote is cleaned and escaped. The same episodes give the same bytes.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from PIL.Image import Image

from geo_assets.gym.environment import text_of
from geo_assets.gym.play import Episode, Turn
from geo_assets.report import maps, palette
from geo_assets.report.escaping import clean
from geo_assets.task.answer import parse_answer

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
SHOWN_WIDTH_PX = 240
_CSS = """
body{margin:0 auto;max-width:1100px;padding:1.5rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:0}.lead{color:var(--muted);margin:.2rem 0 1.2rem}
article{border:1px solid var(--line);border-left:4px solid var(--before);border-radius:8px;padding:.8rem 1rem;
margin:0 0 1rem}article.paid{border-left-color:var(--after)}article h2{font-size:1rem;margin:0 0 .4rem}
.turn{display:grid;grid-template-columns:minmax(140px,260px) 1fr;gap:1rem;margin:.5rem 0}
.turn img{max-width:100%;border-radius:4px;display:block;margin:0 0 .3rem}.muted{color:var(--muted)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--panel);padding:.5rem .7rem;
border-radius:6px;margin:.2rem 0}dl{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:.4rem 0 0}
dt{color:var(--muted);display:inline}dd{display:inline;margin:0 0 0 .3rem;
font-variant-numeric:tabular-nums}
details summary{cursor:pointer;color:var(--muted)}
@media(max-width:620px){.turn{grid-template-columns:1fr}}
"""


def gallery(title: str, lead: str, episodes: Sequence[Episode]) -> str:
    """The page of some episodes of one environment."""
    cards = "".join(_card(episode) for episode in episodes)
    css = palette.root_css() + palette.figure_css() + _CSS
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{css}</style></head><body>"
        f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>{_map(episodes)}{cards}</body></html>\n'
    )


def _card(episode: Episode) -> str:
    turns = "".join(_turn(turn) for turn in episode.turns)
    paid = " paid" if episode.reward >= 0.5 else ""
    heading = f"Task {episode.index}" + (f", sample {episode.sample}" if episode.sample else "")
    return (
        f'<article class="episode{paid}"><h2>{heading}: reward {episode.reward:.3f}</h2>{turns}'
        f"{_figures(episode.info)}{_figures(episode.truth, 'truth: ')}</article>"
    )


def _turn(turn: Turn) -> str:
    images = "".join(_image(image) for image in turn.images)
    seen = "\n".join(f"{message['role']}: {text_of(message)}" for message in turn.new_messages)
    tokens = f"{turn.n_tokens} tokens, {turn.visual_tokens} visual tokens, ended by {turn.finish_reason}"
    said = clean(turn.completion) or "(nothing)"
    return (
        f'<div class="turn"><div>{images}</div><div><details><summary>What the model read</summary>'
        f"<pre>{escape(clean(seen, 4000))}</pre></details><pre>{escape(said)}</pre>"
        f'<span class="muted">{tokens}</span></div></div>'
    )


def _image(image: Image) -> str:
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG" if image.width <= SHOWN_WIDTH_PX else "JPEG")
    kind = "png" if image.width <= SHOWN_WIDTH_PX else "jpeg"
    data = base64.b64encode(buffer.getvalue()).decode()
    size = f'width="{image.width}" height="{image.height}"'
    return f'<img alt="what the model saw" {size} src="data:image/{kind};base64,{data}">'


def _figures(values: Mapping[str, Any], prefix: str = "") -> str:
    shown = [
        f"<div><dt>{escape(prefix + name)}</dt><dd>{escape(clean(_short(value), 200))}</dd></div>"
        for name, value in values.items()
    ]
    return f"<dl>{''.join(shown)}</dl>" if shown else ""


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return value if isinstance(value, str) else json.dumps(value)


def _map(episodes: Sequence[Episode]) -> str:
    """Guesses and truths of the episodes that are about places."""
    moves = []
    for episode in episodes:
        if "latitude" in episode.truth:
            guess = parse_answer(episode.turns[-1].completion)
            place = (guess.lat_deg, guess.lon_deg) if guess else None
            truth = (episode.truth["latitude"], episode.truth["longitude"])
            tip = f"task {episode.index}: reward {episode.reward:.3f}"
            moves.append(maps.Move(truth, None, place, episode.reward >= 0.5, tip))
    if not moves:
        return ""
    label = f"World map of {len(moves)} episodes: from each guess to its true place (dark)"
    return f"<figure style='margin:0 0 1rem'>{maps.moves_map(moves, label)}</figure>"
