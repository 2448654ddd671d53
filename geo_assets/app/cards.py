"""HTML of the demo page: one card per model, the line that compares them, the styles.

Everything that a model wrote is cleaned and escaped here.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files

from geo_assets.app.guesser import Answer, Answers, LatLon, error_of, most_named
from geo_assets.report import wording
from geo_assets.report.escaping import clean
from geo_assets.report.examples import think_text
from geo_assets.report.palette import DARK, LIGHT, variables

TITLES = {"before": "Before training", "after": "After training"}


def page_css() -> str:
    """The page's styles; Gradio marks dark mode with the class `dark`."""
    own = files("geo_assets.app").joinpath("page.css").read_text(encoding="utf-8")
    return f":root{{{variables(LIGHT)}}}.dark{{{variables(DARK)}}}{own}"


def flag(iso2: str | None) -> str:
    """The flag emoji of a country code.

    >>> flag("KE") == "\\U0001F1F0\\U0001F1EA", flag(None)
    (True, '')
    """
    return "".join(chr(0x1F1E6 + ord(letter) - ord("A")) for letter in iso2) if iso2 else ""


def map_link(place: LatLon) -> str:
    """A link to the place on OpenStreetMap.

    >>> map_link((1.5, -2.25))
    'https://www.openstreetmap.org/?mlat=1.50000&mlon=-2.25000#map=7/1.50000/-2.25000'
    """
    lat, lon = (f"{v:.5f}" for v in place)
    return f"https://www.openstreetmap.org/?mlat={lat}&mlon={lon}#map=7/{lat}/{lon}"


def _place(answer: Answer) -> str:
    if answer.guess is None or answer.place is None:
        why = "The answer was cut off." if answer.truncated else "The answer names no place."
        return f'<p class="country">No readable answer</p><p class="where">{why}</p>'
    code = answer.guess.country_iso2
    named = escape(wording.country(code) if code else clean(answer.guess.country, 60))
    where = f"{answer.place[0]:.2f}, {answer.place[1]:.2f}"
    link = f'<a href="{escape(map_link(answer.place))}" target="_blank" rel="noreferrer">on OpenStreetMap</a>'
    flag_ = f'<span class="flag">{flag(code)}</span><span class="code">{code}</span>' if code else ""
    return f'<p class="country">{flag_} {named}</p><p class="where">{where} {link}</p>'


def _error(answer: Answer, truth: LatLon | None) -> str:
    found = error_of(answer, truth) if truth else None
    if found is None:
        return ""
    d_km, score = found
    return f'<p class="error"><b>{wording.distance(d_km)}</b> off, <b>{score:,.0f}</b> of 5,000 points</p>'


def _samples(answers: Answers) -> str:
    if not answers.samples:
        return ""
    named = ", ".join(f"{escape(clean(name, 40))} {n}" for name, n in most_named(answers.samples)[:4])
    spread = answers.spread_km
    apart = f"; typically {wording.distance(spread)} apart" if spread is not None else ""
    return f'<p class="samples">{len(answers.samples)} samples: {named}{apart}</p>'


def card(kind: str, answers: Answers, truth: LatLon | None) -> str:
    """One model's answer."""
    think = escape(think_text(answers.greedy.text))
    return (
        f'<section class="card {kind}"><h3>{TITLES[kind]}</h3>{_place(answers.greedy)}'
        f'{_error(answers.greedy, truth)}{_samples(answers)}<p class="think-title">Clues it names</p>'
        f'<p class="think" dir="auto">{think}</p><p class="took">{answers.seconds:.1f} s</p></section>'
    )


def cards(found: Mapping[str, Answers], truth: LatLon | None) -> str:
    """All cards side by side, with the comparison above where the truth is known."""
    shown = "".join(card(kind, answers, truth) for kind, answers in found.items())
    return f'{_comparison(found, truth)}<div class="cards">{shown}</div>'


def _comparison(found: Mapping[str, Answers], truth: LatLon | None) -> str:
    if truth is None or len(found) < 2:
        return ""
    errors = {kind: error_of(answers.greedy, truth) for kind, answers in found.items()}
    before, after = errors["before"], errors["after"]
    if before is None or after is None:
        return ""
    closer = before[0] - after[0]
    if abs(closer) < 1:
        words = "Both guesses are equally far from the truth."
    else:
        way = "closer to the truth" if closer > 0 else "farther from the truth"
        words = f"After training the guess is {wording.distance(abs(closer))} {way}."
    return f'<p class="compare">{words}</p>'


def message(words: str, kind: str = "hint") -> str:
    """A line for the person: a hint or an error."""
    return f'<p class="message {kind}" role="status">{escape(words)}</p>'
