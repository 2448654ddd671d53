"""`caption`: describe a drawn scene. Pays for the right words, and nothing for saying everything.

A scene has keywords, each with synonyms (`drives left`, `traffic on the left`). The reward is the share of
keywords that the caption names, less what it names wrongly (a word of the same kind that is not there),
times a length factor. Without the wrong words a caption that lists every word there is would be perfect.

Formula: `max(0, right - wrong) / keywords · min(1, max_words / words)`. Left out: grammar and word order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from geo_assets.gym.attacks import Attack
from geo_assets.gym.environment import Limits, Observation, ask
from geo_assets.gym.scenes import Scene, drawn_scenes
from geo_assets.gym.single_turn import SingleTurn
from geo_assets.world.attributes import SCRIPT_WORDS
from geo_assets.world.climate import VEGETATION_WORDS
from geo_assets.world.clues import Clues

QUESTION = "Describe this street scene in one line: sign, traffic side, road line, plants."
MAX_WORDS = 24


class Keyword(NamedTuple):
    """A kind of thing, its value, and the phrases that name it."""

    kind: str
    value: str


def _phrases() -> dict[Keyword, tuple[str, ...]]:
    found: dict[Keyword, tuple[str, ...]] = {}
    for side in ("left", "right"):
        found[Keyword("side", side)] = (
            f"drives {side}", f"drive on the {side}", f"driving on the {side}", f"traffic on the {side}",
            f"keeps {side}", f"{side} hand traffic",
        )  # fmt: skip
    for script in SCRIPT_WORDS.values():
        found[Keyword("sign", script)] = tuple(
            f"{script} {word}".lower() for word in ("sign", "text", "script")
        )
    for colour in ("yellow", "white"):
        found[Keyword("line", colour)] = (
            f"{colour} line", f"{colour} centre line", f"{colour} center line", f"{colour} road line",
        )  # fmt: skip
    for word in VEGETATION_WORDS.values():
        found[Keyword("plants", word)] = (word, *SYNONYMS.get(word, ()))
    return found


SYNONYMS = {
    "palms": ("palm trees", "palm tree"),
    "broadleaf": ("broad leaved trees", "deciduous trees"),
    "acacia": ("acacias", "acacia trees"),
    "shrubs": ("bushes", "scrub"),
    "bare": ("no plants", "bare ground"),
    "cypress": ("cypresses", "cypress trees"),
    "olives": ("olive trees",),
    "conifers": ("pines", "fir trees", "pine trees"),
    "birches": ("birch trees",),
    "gum trees": ("eucalypts", "eucalyptus"),
    "cacti": ("cactus", "cactuses"),
}
PHRASES = _phrases()


def named(caption: str) -> set[Keyword]:
    """The keywords that a caption names. A phrase after `no` or `not` names nothing.

    >>> sorted(named("Thai sign, traffic on the left, no palms"))
    [Keyword(kind='side', value='left'), Keyword(kind='sign', value='Thai')]
    """
    words = f" {' '.join(re.findall(r'[a-z]+', caption.lower()))} "
    found = set()
    for keyword, phrases in PHRASES.items():
        for phrase in phrases:
            for match in re.finditer(f" {phrase}(?= )", words):
                before = words[: match.start()].split()[-1:]
                if before not in (["no"], ["not"], ["without"]):
                    found.add(keyword)
    return found


def keywords_of(clues: Clues) -> set[Keyword]:
    """What a perfect caption of a drawn scene names."""
    found = {Keyword("side", clues.drive_side), Keyword("plants", VEGETATION_WORDS[clues.vegetation])}
    if "script" in clues.shows:
        found.add(Keyword("sign", SCRIPT_WORDS[clues.script]))
    if "centre_line" in clues.shows:
        found.add(Keyword("line", clues.centre_line))
    return found


class Caption(SingleTurn):
    """One scene, one line about it."""

    name = "caption"
    about = "describe a drawn street scene; pays for the right words, less the wrong ones"
    limits = Limits(max_tokens=48)
    parts = ("format", "coverage", "brevity")

    def make_tasks(self) -> Sequence[Scene]:
        """See `Environment.make_tasks`."""
        return drawn_scenes(self.spec.split, self.spec.size, self.spec.seed)

    def ask(self, task: Scene) -> Observation:
        """See `SingleTurn.ask`."""
        return ask(QUESTION, task.pictures())

    def score(self, task: Scene, completion: str) -> Mapping[str, float]:
        """See `SingleTurn.score`. A caption in the right form names at least one keyword."""
        assert task.clues is not None, "only drawn scenes are captioned"
        wanted, said = keywords_of(task.clues), named(completion[:4000])
        right, wrong = len(wanted & said), len(said - wanted)
        coverage = max(0, right - wrong) / len(wanted)
        brevity = min(1.0, MAX_WORDS / max(1, len(completion.split())))
        return {
            "total": coverage * brevity, "format": float(bool(said)), "coverage": coverage, "brevity": brevity
        }  # fmt: skip

    def solution(self, task_index: int) -> str:
        """See `Environment.solution`."""
        return ", ".join(PHRASES[keyword][0] for keyword in sorted(keywords_of(self.tasks[task_index].clues)))

    def attacks(self) -> Sequence[Attack]:
        """Every word there is, the commonest caption, negation, repetition, nothing."""
        everything = ", ".join(phrases[0] for phrases in PHRASES.values())
        common = "drives right, Latin sign, white line, broadleaf"
        constant = sum(self.score(task, common)["total"] for task in self.tasks) / len(self.tasks)
        return (
            Attack("nothing", lambda i: ""),
            Attack("every word there is", lambda i: everything),
            Attack(
                "both sides and both lines", lambda i: "drives left, drives right, yellow line, white line"
            ),
            Attack("everything denied", lambda i: "no " + everything.replace(", ", ", no ")),
            Attack("the question", lambda i: QUESTION),
            Attack("a thousand times", lambda i: "drives right " * 1000, 0.05),
            Attack("the commonest caption", lambda i: common, constant),
        )
