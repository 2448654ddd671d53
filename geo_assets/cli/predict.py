"""`predict`: where were these photos taken? One line a photo: answer, map link, distance if it has GPS.

Exit code 0: every photo got an answer with a place. 1: some photo could not be read, or its answer names no
place; the others are printed all the same.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geo_assets.artifacts import Store
from geo_assets.errors import DataError
from geo_assets.profile import home, load_profile

if TYPE_CHECKING:
    from geo_assets.app.guesser import Answers, LatLon


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("predict", help="where were these photos taken?", description=__doc__)
    parser.add_argument("photos", nargs="+", type=Path, metavar="PHOTO", help="JPEG, PNG, WebP … files")
    parser.add_argument(
        "--model", type=Path, metavar="DIR", help="merged model folder (default: merged_model)"
    )
    parser.add_argument(
        "--samples", type=_count, default=0, metavar="K", help="sampled answers beside the greedy one"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--think", action="store_true", help="print the clues too")
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    value = int(text)
    if not 0 <= value <= 64:
        raise argparse.ArgumentTypeError("give a number from 0 to 64")
    return value


def run(arguments: argparse.Namespace) -> int:
    logging.basicConfig(level=logging.WARNING)
    from geo_assets.app.guesser import guessers
    from geo_assets.app.photos import open_photo

    settings = load_profile()
    model = guessers(settings, Store(home()), arguments.model, None)[-1]
    model.load()
    whole = True
    for path in arguments.photos:
        try:
            photo = open_photo(path)
        except DataError as error:
            print(f"geo-assets: {error}", file=sys.stderr)
            whole = False
            continue
        answers = model.ask(photo.image, arguments.samples, settings.evaluate.temperature)
        record = describe(path, answers, photo.gps)
        print(
            json.dumps(record, ensure_ascii=False) if arguments.json else line(record, arguments.think),
            flush=True,
        )
        whole = whole and record["latitude"] is not None
    return 0 if whole else 1


def describe(path: Path, answers: Answers, gps: LatLon | None) -> dict[str, Any]:
    """The answer to one photo as plain values; distances in km, null where unknown."""
    from geo_assets.app.cards import map_link
    from geo_assets.app.guesser import error_of, most_named
    from geo_assets.report.examples import think_text

    answer = answers.greedy
    error = error_of(answer, gps) if gps else None
    return {
        "photo": str(path),
        "country": answer.guess.country if answer.guess else None,
        "country_iso2": answer.guess.country_iso2 if answer.guess else None,
        "latitude": answer.place[0] if answer.place else None,
        "longitude": answer.place[1] if answer.place else None,
        "map": map_link(answer.place) if answer.place else None,
        "d_km": round(error[0], 3) if error else None,
        "geoscore": round(error[1], 1) if error else None,
        "samples": dict(most_named(answers.samples)),
        "spread_km": None if answers.spread_km is None else round(answers.spread_km, 3),
        "think": think_text(answer.text),
        "seconds": round(answers.seconds, 3),
    }


def line(record: dict[str, Any], with_think: bool) -> str:
    """One readable line; the clues on lines of their own."""
    from geo_assets.report.escaping import clean
    from geo_assets.report.wording import distance

    name = Path(record["photo"]).name
    if record["latitude"] is None:
        found = f"{name}: no readable answer"
    else:
        country = clean(record["country"], 60)
        found = f"{name}: {country} ({record['latitude']:.2f}, {record['longitude']:.2f})  {record['map']}"
        if record["d_km"] is not None:
            found += f"  {distance(record['d_km'])} off, {record['geoscore']:,.0f} points"
    if record["samples"]:
        found += "  samples: " + ", ".join(f"{clean(c, 40)} {n}" for c, n in record["samples"].items())
    return found + (f"\n  {record['think']}" if with_think else "")
