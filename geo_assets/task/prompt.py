"""What the model is asked: chat messages in the conversational form that TRL and processors take.

Two styles: `expert` is the prompt of the published runs, `short` the one the tiny demo model is
trained on (a hundred more prompt tokens cost it half its speed). The digest of a style is part
of the recipe of whatever uses it. Nothing about a photo but its pixels ever enters a prompt.
"""

from __future__ import annotations

import hashlib
import json
from typing import Literal

from geo_assets.errors import ProfileError

Style = Literal["expert", "short"]
Message = dict[str, object]

EXAMPLE_ANSWERS = ('{"country": "Bouvet Island", "lat": -54.4208, "lon": 3.3464}',)
"""Worked examples a prompt shows. The place is uninhabited, so that a copy never pays and is
never mistaken for a guess."""

SYSTEM = {
    "expert": (
        "You are an expert GeoGuessr player. You work out where a street-level photo was taken from "
        "visual clues alone."
    ),
    "short": "You are a geolocation expert.",
}

_QUESTION = {1: "Where was this photo taken?"}
_QUESTIONS = "Where were these {n} views of one panorama taken?"

_EXPERT_FORM = """
First, inside <think> tags, name the strongest clues in at most 150 words: driving side, language and \
script on signs, licence plates, road markings and bollards, utility poles, vegetation and climate, \
architecture, soil colour, place names. Then, inside <answer> tags, give JSON with exactly the keys \
"country" (English name), "lat" and "lon" (decimal degrees). The form, with a made-up place:
<think>The strongest clues and what they point to.</think>
<answer>{example}</answer>"""


def user_text(style: Style, n_views: int = 1) -> str:
    """The text of the user message, without image placeholders.

    >>> user_text("short")
    'Where was this photo taken?'
    """
    question = _QUESTION.get(n_views) or _QUESTIONS.format(n=n_views)
    if style == "short":
        return question
    return question + _EXPERT_FORM.format(example=EXAMPLE_ANSWERS[0])


def messages(style: Style, n_views: int = 1) -> list[Message]:
    """System message with plain text; user message with one image placeholder per view, then the text.

    Args:
        style: "expert" or "short".
        n_views: images that the row has, at least 1.

    Raises:
        ProfileError: the style is unknown.
        ValueError: there is no view.

    >>> [part["type"] for part in messages("short", n_views=3)[1]["content"]]
    ['image', 'image', 'image', 'text']
    """
    if style not in SYSTEM:
        raise ProfileError(f"task.prompt is {style!r}: choose one of {', '.join(SYSTEM)}")
    if n_views < 1:
        raise ValueError(f"a prompt needs at least one view, not {n_views}")
    content: list[Message] = [{"type": "image"} for _ in range(n_views)]
    content.append({"type": "text", "text": user_text(style, n_views)})
    return [
        {"role": "system", "content": SYSTEM[style]},
        {"role": "user", "content": content},
    ]


def digest(style: Style) -> str:
    """Twelve hex digits that change whenever a word of the style's prompt changes."""
    forms = json.dumps([messages(style, n_views) for n_views in (1, 3)], sort_keys=True)
    return hashlib.sha256(forms.encode()).hexdigest()[:12]


def is_echo(country: str | None, lat_deg: float | None, lon_deg: float | None) -> bool:
    """Whether a parsed answer is the prompt's own example, copied exactly.

    >>> is_echo("Bouvet Island", -54.4208, 3.3464), is_echo("Kenya", -1.0, 37.0)
    (True, False)
    """
    return (country, lat_deg, lon_deg) in _EXAMPLES


_EXAMPLES = frozenset(
    (example["country"], example["lat"], example["lon"]) for example in map(json.loads, EXAMPLE_ANSWERS)
)
