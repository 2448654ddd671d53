"""The attack suite: canned policies that must not pay, against honest ones of the same knowledge.

An attack knows nothing about the photo, or the true country, or the true place, and answers in a
way that no honest player would. It may not earn more than the honest answer from the same
knowledge: the best single answer for all photos, the best place of the true country, the true
place. Two more conditions keep a reward from passing by paying for nothing: an answer without an
answer earns exactly 0, and each step of knowledge pays strictly more than the one before.

Everything is scored in sample on the same gold rows, from a seed, without a model. Left out:
attacks that search for a reward's weak spots.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from geo_assets.errors import ProfileError
from geo_assets.geo.countries import country_name
from geo_assets.task.gold import Gold, Place, make_gold, standard_gold
from geo_assets.task.prompt import EXAMPLE_ANSWERS
from geo_assets.task.rewards import REWARDS, get_reward
from geo_assets.task.terms import Reward

TOLERANCE = 1e-9

Knowledge = Literal["nothing", "country", "place"]


@dataclass(frozen=True)
class Policy:
    """A canned policy: what it knows, and what it answers to row i."""

    name: str
    knowledge: Knowledge
    answer: Callable[[Gold, int], str]
    silent: bool = False
    """It gives no answer at all, so that any reward above 0 is a fault."""


@dataclass(frozen=True)
class AttackTable:
    """The outcome of a suite. `rows` are plain dicts: reward, attack, knowledge, score, honest, passed."""

    rows: list[dict[str, str | float | bool]]
    n_gold: int
    passed: bool
    message: str


def answer_text(country: str, lat: float | str, lon: float | str) -> str:
    """A completion in the right form; numbers may be texts that no parser should take."""
    answer = f'{{"country": {json.dumps(country, ensure_ascii=False)}, "lat": {lat}, "lon": {lon}}}'
    return f"<think>clues</think><answer>{answer}</answer>"


def _place_text(place: Place) -> str:
    return answer_text(country_name(place.country_iso2), place.latitude, place.longitude)


def _antipode(place: Place) -> Place:
    lon = place.longitude - 180.0 if place.longitude > 0 else place.longitude + 180.0
    return place._replace(latitude=-place.latitude, longitude=lon)


def _drawn(gold: Gold, i: int) -> str:
    return random.Random(i).choice(gold.common)


def _shotgun(gold: Gold, i: int) -> str:
    best = gold.medoid[gold.common[0]]
    names = " or ".join(country_name(iso2) for iso2 in gold.common)
    return answer_text(names, best.latitude, best.longitude)


def _many_answers(gold: Gold, i: int) -> str:
    return "".join(_place_text(gold.medoid[iso2]) for iso2 in reversed(gold.common))


def _swapped(gold: Gold, i: int) -> str:
    row = gold.rows[i]
    return answer_text(country_name(row.country_iso2), row.longitude, row.latitude)


def _named(gold: Gold, i: int) -> str:
    return country_name(gold.rows[i].country_iso2)


ATTACKS: tuple[Policy, ...] = (
    Policy("answer omitted", "place", lambda gold, i: "", silent=True),
    Policy("think only", "place", lambda gold, i: f"<think>{_place_text(gold.rows[i])}</think>", silent=True),
    Policy(
        "huge garbage",
        "place",
        lambda gold, i: _named(gold, i) + "<answer>" * 50 + "1" * 2_000 + "{[\"'" * 200,
        silent=True,
    ),
    Policy("country only", "country", lambda gold, i: f"Country: {_named(gold, i)}", silent=True),
    Policy(
        "country only, in answer tags",
        "country",
        lambda gold, i: f'<answer>{{"country": "{_named(gold, i)}"}}</answer>',
        silent=True,
    ),
    Policy("NaN", "country", lambda gold, i: answer_text(_named(gold, i), "NaN", "NaN"), silent=True),
    Policy(
        "infinity", "country", lambda gold, i: answer_text(_named(gold, i), "1e999", "-1e999"), silent=True
    ),
    Policy(
        "right country, far coordinates",
        "country",
        lambda gold, i: _place_text(_antipode(gold.medoid[gold.rows[i].country_iso2])),
    ),
    Policy("swapped latitude and longitude", "place", _swapped),
    Policy("null island", "nothing", lambda gold, i: answer_text("Ghana", 0.0, 0.0)),
    Policy(
        "most frequent country",
        "nothing",
        lambda gold, i: answer_text(country_name(gold.common[0]), 0.0, 0.0),
    ),
    Policy(
        "country centroid, no look", "nothing", lambda gold, i: _place_text(gold.centroid[_drawn(gold, i)])
    ),
    Policy("shotgun", "nothing", _shotgun),
    Policy("many answers", "nothing", _many_answers),
    Policy("prompt example", "nothing", lambda gold, i: f"<answer>{EXAMPLE_ANSWERS[0]}</answer>"),
)


def run_attacks(
    gold_rows: Sequence[Mapping[str, Any]] | Gold, rewards: Sequence[str | Reward] | None = None
) -> AttackTable:
    """Scores every attack by every reward beside the honest answer of the same knowledge.

    Args:
        gold_rows: mappings with `latitude`, `longitude`, `country_iso2` (1,000 or more for steady
            means), or the result of `make_gold`.
        rewards: names or rewards; None takes all registered ones.

    Returns:
        A table with one row per reward and attack, and one per reward for the honest answers.
        `score` and `honest` are mean totals over the gold rows.

    Raises:
        DataError: the gold rows hold fewer than two countries.
        ProfileError: a reward is unknown.
    """
    gold = gold_rows if isinstance(gold_rows, Gold) else make_gold(gold_rows)
    chosen = [get_reward(r) if isinstance(r, str) else r for r in (rewards or sorted(REWARDS))]
    rows = [row for reward in chosen for stage in _stages(reward) for row in _judge(reward, gold, stage)]
    failed = [f"{row['reward']}: {row['attack']}" for row in rows if not row["passed"]]
    message = f"{len(rows) - len(failed)} of {len(rows)} conditions hold on {len(gold.rows)} gold rows"
    if failed:
        message += f"; broken: {', '.join(failed[:5])}. Choose another task.reward"
    return AttackTable(rows, len(gold.rows), not failed, message)


def _stages(reward: Reward) -> tuple[float, ...]:
    return (0.0, 1.0) if reward.scheduled else (1.0,)


def _judge(reward: Reward, gold: Gold, stage: float) -> list[dict[str, str | float | bool]]:
    """All conditions on a reward at a share of training done."""
    honest = honest_scores(reward, gold, stage)
    label = reward.name if not reward.scheduled else f"{reward.name} at {stage:.0%}"

    def row(attack: str, knowledge: Knowledge, score: float, passed: bool) -> dict[str, str | float | bool]:
        shown = {"score": round(score, 4), "honest": round(honest[knowledge], 4), "passed": passed}
        return {"reward": label, "attack": attack, "knowledge": knowledge, **shown}

    rows = []
    for attack in ATTACKS:
        score = _mean(reward, gold, [attack.answer(gold, i) for i in range(len(gold.rows))], stage)
        limit = 0.0 if attack.silent else honest[attack.knowledge] + TOLERANCE
        rows.append(row(attack.name, attack.knowledge, score, score <= limit))
    rising = honest["nothing"] + TOLERANCE < honest["country"] < honest["place"] - TOLERANCE
    return [*rows, row("(knowing more pays more)", "country", honest["nothing"], rising)]


def honest_scores(reward: Reward, gold: Gold, stage: float = 1.0) -> dict[Knowledge, float]:
    """Mean reward of the honest answers: the best constant, the best place of the true country, the truth."""
    n = len(gold.rows)
    candidates = [places[iso2] for iso2 in gold.common for places in (gold.medoid, gold.centroid)]
    constant = max(_mean(reward, gold, [_place_text(place)] * n, stage) for place in candidates)
    country = [_place_text(gold.medoid[row.country_iso2]) for row in gold.rows]
    truth = [_place_text(row) for row in gold.rows]
    return {
        "nothing": constant,
        "country": _mean(reward, gold, country, stage),
        "place": _mean(reward, gold, truth, stage),
    }


def _mean(reward: Reward, gold: Gold, texts: Sequence[str], stage: float) -> float:
    latitude, longitude, country_iso2 = zip(*gold.rows, strict=True)
    totals = [terms.total for terms in reward.score(texts, latitude, longitude, country_iso2, stage)]
    if not all(0.0 <= total <= 1.0 for total in totals):
        raise ProfileError(f"reward {reward.name!r} leaves [0, 1]: bound it before it is used")
    return sum(totals) / len(totals)


_sound: set[Reward] = set()


def require_sound(reward: Reward) -> Reward:
    """The reward itself, once it has withstood the suite on standard gold rows (about a second, once).

    Raises:
        ProfileError: an attack beats the honest answer.
    """
    if reward not in _sound:
        table = run_attacks(standard_gold(), [reward])
        if not table.passed:
            raise ProfileError(f"reward {reward.name!r} can be gamed: {table.message}")
        _sound.add(reward)
    return reward
