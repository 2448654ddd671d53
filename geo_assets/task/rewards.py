"""What a completion earns: pure functions from text and truth to numbers in [0, 1].

Distances are in km on the mean sphere. An unparsed completion earns exactly 0 in every term, is
never None and never dropped. A reward is chosen by name; `trl_reward_functions` refuses one
that a canned policy can game (`attacks.py`).

Left out: anything that judges the thinking text, and length penalties.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from typing import NamedTuple, Protocol

from geo_assets.errors import DataError, ProfileError
from geo_assets.geo.geodesy import point_distance_km
from geo_assets.geo.score import MAX_GEOSCORE, SCALE_KM
from geo_assets.task.answer import Guess, parse_answer


class Terms(NamedTuple):
    """The terms of one completion: rewards in [0, 1], `d_km` None where unparsed."""

    format: float
    country: float
    dist: float
    total: float
    d_km: float | None
    geoscore: float


UNPARSED = Terms(0.0, 0.0, 0.0, 0.0, None, 0.0)


class Scorer(Protocol):
    """Scores n completions against n true places; `progress` is the share of training done, 0 to 1."""

    def __call__(
        self,
        texts: Sequence[str],
        latitude: Sequence[float],
        longitude: Sequence[float],
        country_iso2: Sequence[str | None],
        progress: float = 1.0,
    ) -> list[Terms]: ...


@dataclass(frozen=True)
class Reward:
    """A reward that a profile can name."""

    name: str
    about: str
    """One sentence for the table of `geo-assets rewards`."""
    score: Scorer


def geoguessr_dist(d_km: float) -> float:
    """`0.5·exp(-d/1492.7) + 0.5·exp(-d/250)`: the GeoScore's decay and a sharper one (SPEC section 5).

    >>> geoguessr_dist(0.0), round(geoguessr_dist(250.0), 4)
    (1.0, 0.6068)
    """
    return 0.5 * exp(-d_km / SCALE_KM) + 0.5 * exp(-d_km / 250.0)


def bands_dist(d_km: float) -> float:
    """Piecewise linear: 0 km → 1, 750 → 0.5, 2500 → 0.2, 20000 and beyond → 0 (SPEC section 5).

    >>> [bands_dist(d_km) for d_km in (0.0, 375.0, 750.0, 2500.0, 20000.0, 20015.0)]
    [1.0, 0.75, 0.5, 0.2, 0.0, 0.0]
    """
    if d_km <= 750.0:
        return 1.0 - 0.5 * d_km / 750.0
    if d_km <= 2500.0:
        return 0.5 - 0.3 * (d_km - 750.0) / 1750.0
    return max(0.0, 0.2 - 0.2 * (d_km - 2500.0) / 17500.0)


def region_dist(d_km: float) -> float:
    """`exp(-d/200)` up to 2000 km, then 0 (SPEC section 5).

    >>> region_dist(0.0), round(region_dist(200.0), 4), region_dist(2000.1)
    (1.0, 0.3679, 0.0)
    """
    return exp(-d_km / 200.0) if d_km <= 2000.0 else 0.0


def geoguessr_total(form: float, country: float, dist: float) -> float:
    """`0.10·format + 0.30·country + 0.60·dist` (SPEC section 5)."""
    return 0.10 * form + 0.30 * country + 0.60 * dist


def by_distance(kernel: Callable[[float], float], combine: Callable[[float, float, float], float]) -> Scorer:
    """A scorer that looks at distance and stated country alone.

    Args:
        kernel: maps d_km to the `dist` term.
        combine: maps (format, country, dist) to the total.
    """

    def score(texts, latitude, longitude, country_iso2, progress=1.0) -> list[Terms]:
        rows = []
        for text, lat, lon, iso2 in zip(texts, latitude, longitude, country_iso2, strict=True):
            guess = parse_answer(text)
            rows.append(UNPARSED if guess is None else _terms(guess, lat, lon, iso2, kernel, combine))
        return rows

    return score


def _terms(guess: Guess, lat: float, lon: float, iso2: str | None, kernel, combine) -> Terms:
    if not (-90.0 <= lat <= 90.0 and -180.0 <= lon <= 180.0):
        raise DataError(f"a row has no true place ({lat}, {lon}): build its set again")
    d_km = point_distance_km(guess.lat_deg, guess.lon_deg, lat, lon)
    form = 1.0 if guess.country else 0.0
    country = 1.0 if iso2 is not None and guess.country_iso2 == iso2 else 0.0
    dist = kernel(d_km)
    return Terms(
        form, country, dist, combine(form, country, dist), d_km, MAX_GEOSCORE * exp(-d_km / SCALE_KM)
    )


def _dist_only(form: float, country: float, dist: float) -> float:
    return dist


REWARDS: dict[str, Reward] = {
    reward.name: reward
    for reward in (
        Reward(
            "geoguessr",
            "0.10 format + 0.30 country + 0.60 distance with decays of 1492.7 and 250 km",
            by_distance(geoguessr_dist, geoguessr_total),
        ),
        Reward(
            "bands",
            "distance alone, piecewise linear through 750, 2500 and 20000 km",
            by_distance(bands_dist, _dist_only),
        ),
        Reward(
            "region",
            "distance alone, exp(-d/200 km), nothing beyond 2000 km",
            by_distance(region_dist, _dist_only),
        ),
    )
}


def reward(name: str) -> Reward:
    """The reward of a name.

    Raises:
        ProfileError: there is none of that name.
    """
    if name not in REWARDS:
        raise ProfileError(f"task.reward is {name!r}: choose one of {', '.join(sorted(REWARDS))}")
    return REWARDS[name]


def components(
    text: str, latitude: float, longitude: float, country_iso2: str | None, reward: str = "geoguessr"
) -> dict[str, float | None]:
    """Every term of one completion as a plain dict: format, country, dist, total, d_km, geoscore.

    Args:
        text: the completion.
        latitude, longitude: the true place in degrees.
        country_iso2: the true country.
        reward: a name in `REWARDS`.

    Raises:
        ProfileError: the reward is unknown.
        DataError: the true place is not on the globe.

    >>> answer = '<answer>{"country": "Kenya", "lat": -1.0, "lon": 37.0}</answer>'
    >>> components(answer, -1.0, 37.0, "KE")["total"]
    1.0
    >>> components("no idea", -1.0, 37.0, "KE")
    {'format': 0.0, 'country': 0.0, 'dist': 0.0, 'total': 0.0, 'd_km': None, 'geoscore': 0.0}
    """
    if reward not in REWARDS:
        raise ProfileError(f"task.reward is {reward!r}: choose one of {', '.join(sorted(REWARDS))}")
    return REWARDS[reward].score([text], [latitude], [longitude], [country_iso2])[0]._asdict()


@dataclass
class TrainingClock:
    """Where training stands, in optimizer steps, for rewards that change on the way.

    A trainer callback sets `step` from the trainer's own counter (`state.global_step`), which a
    checkpoint restores; so a resumed run blends as an uninterrupted one does.
    """

    total_steps: int
    step: int = 0

    @property
    def progress(self) -> float:
        """Share of training done, in [0, 1].

        >>> TrainingClock(total_steps=200, step=50).progress
        0.25
        """
        return min(1.0, max(0.0, self.step / max(1, self.total_steps)))


DIAGNOSTICS = ("format", "country", "dist", "geoscore")
"""Terms that TRL logs as curves of their own, at weight 0."""


def trl_reward_functions(
    name: str, schedule: TrainingClock | None = None
) -> tuple[list[Callable[..., list[float]]], list[float]]:
    """Reward functions and weights for `GRPOTrainer`: the total at weight 1, its terms at weight 0.

    Each has the form `f(prompts, completions, latitude, longitude, country_iso2, **columns)`; the
    text is `completion[0]["content"]`. Their names are `total_reward`, `format_reward`,
    `country_reward`, `dist_reward` and `geoscore`.

    Args:
        name: a name in `REWARDS`.
        schedule: the clock that a trainer callback sets; without one, rewards are those of the end.

    Raises:
        ProfileError: the reward is unknown.
    """
    chosen = reward(name)
    memo: dict[tuple, list[Terms]] = {}

    def scored(completions, latitude, longitude, country_iso2) -> list[Terms]:
        texts = tuple(completion_text(completion) for completion in completions)
        progress = 1.0 if schedule is None else schedule.progress
        key = (texts, tuple(latitude), tuple(longitude), tuple(country_iso2), progress)
        if key not in memo:
            memo.clear()
            memo[key] = chosen.score(texts, latitude, longitude, country_iso2, progress)
        return memo[key]

    def function(term: str, label: str) -> Callable[..., list[float]]:
        def score(prompts, completions, latitude, longitude, country_iso2, **columns) -> list[float]:
            return [getattr(row, term) for row in scored(completions, latitude, longitude, country_iso2)]

        score.__name__ = score.__qualname__ = label
        return score

    labels = [("total", "total_reward")]
    labels += [(term, term if term == "geoscore" else f"{term}_reward") for term in DIAGNOSTICS]
    return [function(*pair) for pair in labels], [1.0] + [0.0] * len(DIAGNOSTICS)


def completion_text(completion: object) -> str:
    """The text of a completion in TRL's forms: a string, or messages whose content is text or parts.

    >>> completion_text([{"role": "assistant", "content": [{"type": "text", "text": "hi"}]}])
    'hi'
    """
    if isinstance(completion, (list, tuple)):
        content = completion[0].get("content") if completion and isinstance(completion[0], dict) else ""
    else:
        content = completion
    if isinstance(content, (list, tuple)):
        content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""
