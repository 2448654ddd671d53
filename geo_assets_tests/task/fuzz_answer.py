"""Fuzzes parser, countries and rewards: `python -m geo_assets_tests.task.fuzz_answer --inputs 1000000`.

Mutates the cases and pieces of answers from a seed and checks every input: nothing raises, a
guess is on the globe with a known code, the fast path reads what the walk over the tags reads,
a reading does not depend on words around the answer, and each reward is in [0, 1]. Prints the
slowest input. A shorter run is part of the test suite (`test_fuzz.py`).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from geo_assets.geo.countries import country_table, to_iso2
from geo_assets.task import answer
from geo_assets.task.answer import Guess, is_truncated, parse_answer, read_answer
from geo_assets.task.rewards import REWARDS
from geo_assets_tests.cases.answers import BODIES, TEXTS
from geo_assets_tests.cases.countries import NATIVE, PROBES

SEEDS = tuple(f"<think>x</think><answer>{case.body}</answer>" for case in BODIES if len(case.body) < 500)
WHOLE = tuple(case.text for case in TEXTS)
NAMES = tuple(name for name, _ in (*PROBES, *NATIVE) if len(name) < 100)
PIECES = (
    "<think>", "</think>", "<answer>", "</answer>", "< ANSWER >", "</ answer>", "<", ">", "{", "}", "[",
    "]", ",", ":", '"', "'", "“", "”", "„", "\\", "\\u2212", "\\ud800", "```", "```json\n", "\n", " ",
    "\t", "\u00a0", "\u200b", "\ufeff", "lat", "lon", "lng", "latitude", "LONGITUDE", "country",
    "lat_ref", "location", "null", "None", "true", "NaN", "Infinity", "1e999", "-", "−", "–", "－", "+",
    ".", "°", "º", "′", "″", "N", "S", "E", "W", "south", "deg", "0", "00", "48,8566", "-33.8688",
    "151.2093", "90", "180", "181", "9" * 40, "٣", "４", "1_0", "0x1F", "\x00", "\ud800", "🇫🇷", " or ",
    "Kenya", "Niger", "Côte d’Ivoire", "日本", "e5", "=", ";", "//", "(", ")",
)  # fmt: skip


@dataclass
class Report:
    """What a run saw."""

    inputs: int = 0
    parsed: int = 0
    slowest_ms: float = 0.0
    slowest: str = ""
    faults: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)

    def fault(self, kind: str, text: str) -> None:
        self.faults[kind] += 1
        if kind not in self.examples or len(text) < len(self.examples[kind]):
            self.examples[kind] = text


def mutate(rng: random.Random, text: str) -> str:
    """One to six edits: insert a piece, delete, double or move a stretch, splice, or change a character."""
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        at = rng.randint(0, len(text))
        to = min(len(text), at + rng.randint(1, 12))
        edit = rng.randrange(6)
        if edit == 0:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif edit == 1:
            text = text[:at] + text[to:]
        elif edit == 2:
            text = text[:to] + text[at:to] * rng.randint(1, 3) + text[to:]
        elif edit == 3:
            text = text[:at] + rng.choice(SEEDS)[rng.randint(0, 40) :]
        elif edit == 4:
            text = (
                text[:at] + chr(rng.choice((rng.randint(32, 126), rng.randint(0, 0x2FFF)))) + text[at + 1 :]
            )
        else:
            text = text[:at] + rng.choice(NAMES) + text[to:]
    return text


def draw(rng: random.Random) -> str:
    """An input: mostly a mutated case, at times pieces alone."""
    kind = rng.random()
    if kind < 0.75:
        return mutate(rng, rng.choice(SEEDS))
    if kind < 0.9:
        return mutate(rng, rng.choice(WHOLE))
    return "<answer>" + "".join(rng.choices(PIECES, k=rng.randint(0, 25))) + "</answer>"


def check(text: str, rng: random.Random, report: Report) -> None:
    """Holds one input against all conditions."""
    report.inputs += 1
    began = time.process_time()
    try:
        guess = parse_answer(text)
        took_ms = 1_000 * (time.process_time() - began)
        cut_off = is_truncated(text)
    except Exception as error:  # any exception of any kind is what a fuzzer looks for
        report.fault(f"raises {type(error).__name__}", text)
        return
    if took_ms > report.slowest_ms:
        report.slowest_ms, report.slowest = took_ms, text
    if cut_off and guess is not None:
        report.fault("cut off and parsed", text)
    body = read_answer(text).body
    walked = None if body is None or len(body) > answer.MAX_BODY_CHARS else answer._parse_body(body)
    if walked != guess:
        report.fault("fast path differs", text)
    if guess is not None:
        report.parsed += 1
        if not _possible(guess):
            report.fault("impossible guess", text)
        if body is not None and parse_answer(f"a < b </think>\n<answer>{body}</answer> so.") != guess:
            report.fault("depends on its surroundings", text)
        _check_rewards(text, rng, report)


def _possible(guess: Guess) -> bool:
    on_globe = -90.0 <= guess.lat_deg <= 90.0 and -180.0 <= guess.lon_deg <= 180.0
    known = guess.country_iso2 is None or guess.country_iso2 in country_table().english
    floats = type(guess.lat_deg) is float and type(guess.lon_deg) is float
    return on_globe and known and floats and to_iso2(guess.country) == guess.country_iso2


def _check_rewards(text: str, rng: random.Random, report: Report) -> None:
    truth = [rng.uniform(-90, 90)], [rng.uniform(-180, 180)], [rng.choice(("KE", "FR", "XK", None))]
    name = "geoguessr" if rng.random() < 0.97 else rng.choice(sorted(REWARDS))
    terms = REWARDS[name].score([text], *truth)[0]
    if not all(0.0 <= value <= 1.0 for value in (terms.format, terms.country, terms.dist, terms.total)):
        report.fault(f"{name} out of range", text)
    if not 0.0 <= terms.geoscore <= 5000.0:
        report.fault("geoscore out of range", text)


def fuzz(inputs: int, seed: int) -> Report:
    """Draws and checks inputs from a seed."""
    to_iso2("Kenya")  # the tables load once a process; that is no reading time
    rng, report = random.Random(seed), Report()
    for _ in range(inputs):
        check(draw(rng), rng, report)
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    began = time.perf_counter()
    report = fuzz(arguments.inputs, arguments.seed)
    seconds = time.perf_counter() - began
    faults = sum(report.faults.values())
    print(f"{report.inputs} inputs in {seconds:.0f} s, {report.parsed} parsed, {faults} faults")
    print(f"slowest {report.slowest_ms:.2f} ms: {report.slowest[:200]!r}")
    for kind, count in report.faults.items():
        print(f"{count} x {kind}: {report.examples[kind]!r}")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
