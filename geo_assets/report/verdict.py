"""The verdict in one sentence, its caveats, and the four figures beside it.

The word "improved" appears only where the paired 95% interval of the mean score excludes zero. Greedy and
sampled answers are both stated; where they disagree, the verdict says so instead of choosing one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from geo_assets.report import wording
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.costs import Costs, dollars
from geo_assets.report.run import DECODINGS, Run

Word = Literal["Improved", "Partly improved", "No change shown", "Worse"]
Tone = Literal["good", "caution", "bad", "unknown"]
TONES: dict[Word, Tone] = {
    "Improved": "good",
    "Partly improved": "caution",
    "No change shown": "unknown",
    "Worse": "bad",
}


@dataclass(frozen=True)
class Tile:
    """One figure of the header."""

    title: str
    value: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """What the header says; `tone` colours it."""

    word: Word
    tone: Tone
    sentence: str
    caveats: tuple[str, ...]
    tiles: tuple[Tile, ...]
    headline: dict[str, float]
    """Numbers for the asset's metadata, so that they plot over time."""


def _figures(run: Run, split: str) -> dict[str, dict[str, Difference]]:
    """Decoding to metric to difference, start against policy."""
    pairs = {decoding: run.pair(split, decoding) for decoding in DECODINGS}
    return {
        decoding: compare(*pair, ids=run.unseen_ids(pair[1]))
        for decoding, pair in pairs.items()
        if pair is not None
    }


def judge(verdicts: list[str]) -> Word:
    """The word for the verdicts of greedy and sampled.

    >>> judge(["better", "better"]), judge(["better", "unclear"])
    ('Improved', 'Partly improved')
    >>> judge(["unclear"]), judge(["worse", "unclear"])
    ('No change shown', 'Worse')
    """
    if all(v == "better" for v in verdicts):
        return "Improved"
    if "better" in verdicts:
        return "Partly improved"
    return "Worse" if "worse" in verdicts else "No change shown"


def _moved(d: Difference, decoding: str) -> str:
    return (
        f"{decoding} answers went from {wording.value(d.before, 'points')} to "
        f"{wording.value(d.after, 'points')} points ({wording.change(d.difference, 'points')}, 95% interval "
        f"{wording.interval(d.low, d.high, 'points')})"
    )


def _photos(run: Run, n: int) -> str:
    """The photos of the main split, after a number."""
    whole = run.get("policy", run.main_split, "greedy") or run.get("policy", run.main_split, "sampled")
    if whole is not None and n < len(whole.first):
        return f"{_split_photos(run)} that chose no checkpoint"
    return _split_photos(run)


def _split_photos(run: Run) -> str:
    if run.main_split == "eval_quick":
        return "photos of the quick set"
    if run.main_split == "eval_photos":
        return "of your own photos"
    name = wording.split_name(run.main_split, run.is_demo)
    return name if name.startswith("OSV") else name[0].lower() + name[1:]


def _sentence(run: Run, word: Word, scores: dict[str, Difference], n: int) -> str:
    where = f"on {n:,} {_photos(run, n)}"
    moved = " and ".join(_moved(d, decoding) for decoding, d in scores.items())
    missing = [d for d in DECODINGS if d not in scores]
    unmeasured = f"; {missing[0]} answers were not measured" if missing else ""
    if word == "Improved":
        return f"Training improved the model: {where}, {moved}{unmeasured}."
    if word == "Partly improved":
        better = next(decoding for decoding, d in scores.items() if d.verdict == "better")
        other = next(decoding for decoding, d in scores.items() if d.verdict != "better")
        rest = "got worse" if scores[other].verdict == "worse" else "show no clear change"
        return f"Training improved {better} answers only, and {other} answers {rest}: {where}, {moved}."
    if word == "Worse":
        return f"Training made the model worse: {where}, {moved}{unmeasured}."
    least = [d.mde for d in scores.values() if d.mde is not None]
    detect = f" This many photos can show a gain of about {max(least):,.0f} points or more." if least else ""
    return f"No gain can be shown: {where}, {moved}{unmeasured}. The intervals include zero.{detect}"


def _caveats(run: Run) -> tuple[str, ...]:
    found = []
    if run.settings.train.shuffle_rewards:
        found.append(
            "This is a control run: every reward went to a random row, so a gain here would mean a fault "
            "in the pipeline."
        )
    if run.planted_bias:
        share = run.settings.warm_start.lookalike_share
        found.append(
            "The start was biased on purpose: for about half of the countries the warm-up's captions name "
            f"a look-alike {share:.0%} of the time, and GRPO had to unlearn that from coordinates alone. "
            "Greedy answers overstate such a flip, so read the sampled figures first."
        )
    if run.is_demo:
        found.append(
            "The scenes are drawn and the model is tiny: this proves that the pipeline works, not that the "
            "model can place real photos."
        )
    return tuple(found)


def _tile(title: str, figures: dict[str, dict[str, Difference]], key: str) -> Tile:
    unit = wording.BY_KEY[key].unit
    found = {decoding: f[key] for decoding, f in figures.items() if key in f}
    if not found:
        return Tile(title, wording.NONE, ())
    first = next(iter(found.values()))
    lines = tuple(
        f"{wording.change(d.difference, unit, False)} {wording.interval(d.low, d.high, unit)} {decoding}"
        for decoding, d in found.items()
    )
    return Tile(f"{title}, {next(iter(found))}", wording.move(first.before, first.after, unit), lines)


def _tiles(figures: dict[str, dict[str, Difference]], costs: Costs) -> tuple[Tile, ...]:
    spent = Tile(
        "Time and cost",
        wording.duration(costs.seconds),
        (dollars(costs.dollars), f"{costs.tokens / 1e6:,.1f} M tokens"),
    )
    return (
        _tile("Mean score", figures, "mean_geoscore"),
        _tile("Country right", figures, "country_acc"),
        _tile("Median error", figures, "median_km"),
        spent,
    )


def _headline(figures: dict[str, dict[str, Difference]]) -> dict[str, float]:
    found = {}
    for decoding, differences in figures.items():
        for key in ("mean_geoscore", "country_acc", "median_km", "mean_reward", "format_rate"):
            if (d := differences.get(key)) is not None:
                for part, amount in (
                    ("before", d.before),
                    ("after", d.after),
                    ("gain", d.difference),
                    ("gain_low", d.low),
                    ("gain_high", d.high),
                ):
                    if amount is not None:
                        found[f"{decoding}/{key}/{part}"] = round(float(amount), 4)
    return found


def verdict(run: Run, costs: Costs) -> Verdict:
    """Judge the main split."""
    figures = _figures(run, run.main_split)
    scores = {decoding: f["mean_geoscore"] for decoding, f in figures.items()}
    word = judge([d.verdict for d in scores.values()])
    n = max(d.n for d in scores.values())
    return Verdict(
        word,
        TONES[word],
        _sentence(run, word, scores, n),
        _caveats(run),
        _tiles(figures, costs),
        _headline(figures),
    )
