"""Would you bet on it: checks that read the figures of this run, each a fact with its number and a status.

The thresholds are rules of thumb of this report, stated in the words they print.
"""

from __future__ import annotations

from dataclasses import dataclass

from geo_assets.report import wording
from geo_assets.report.blocks import Check, Status
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.controls import Control, surviving_share
from geo_assets.report.ladder import Rung, strictest
from geo_assets.report.run import Run

_STATUS: dict[str, Status] = {"better": "good", "worse": "bad"}


@dataclass(frozen=True)
class Evidence:
    """The figures that the rules read; differences are start against policy on the main split."""

    run: Run
    greedy: dict[str, Difference] | None
    sampled: dict[str, Difference] | None
    controls: list[Control]
    rungs: list[Rung]


def gather(run: Run, controls: list[Control], rungs: list[Rung]) -> Evidence:
    """Compare the main split once for all rules."""
    pairs = [run.pair(run.main_split, decoding) for decoding in ("greedy", "sampled")]
    greedy, sampled = (compare(*pair, ids=run.unseen_ids(pair[1])) if pair else None for pair in pairs)
    return Evidence(run, greedy, sampled, controls, rungs)


def _gain_words(d: Difference) -> str:
    return f"{wording.change(d.difference, 'points')} points {wording.interval(d.low, d.high, 'points')}"


def _status(d: Difference) -> Status:
    return _STATUS.get(d.verdict, "caution")


def _decodings(e: Evidence) -> list[Check]:
    found = []
    for name, differences in (("Greedy", e.greedy), ("Sampled", e.sampled)):
        if differences is None:
            found.append(
                Check("unknown", f"{name} answers were not measured", "Set evaluate.samples to 1 or more.")
            )
            continue
        d = differences["mean_geoscore"]
        told = {"better": "gain", "worse": "lose"}.get(d.verdict, "show no clear change")
        found.append(Check(_status(d), f"{name} answers {told}", f"{_gain_words(d)}, n = {d.n:,}."))
    return found


def _other_splits(e: Evidence) -> list[Check]:
    found = []
    for split in e.run.splits:
        pair = e.run.pair(split, "greedy")
        if split in (e.run.main_split, "eval_quick") or pair is None:
            continue
        d = compare(*pair, ("mean_geoscore",))["mean_geoscore"]
        name = wording.split_name(split, e.run.is_demo)
        told = {"better": "The gain carries over to", "worse": "It lost on"}.get(d.verdict, "Not clear on")
        title = f"{told} {name[0].lower() + name[1:]}"
        found.append(Check(_status(d), title, f"{_gain_words(d)}, n = {d.n:,}, greedy."))
    return found


def _looks(e: Evidence) -> Check:
    share = surviving_share(e.controls, "shuffled")
    control = next((c for c in e.controls if c.key == "shuffled"), None)
    if share is None or control is None:
        why = "No shuffled control, or no clear gain on the quick set to compare it with."
        return Check("unknown", "Whether the gain needs the right image is open", why)
    status: Status = "good" if share <= 0.25 else "caution" if share <= 0.5 else "bad"
    title = {"good": "The gain needs the right image", "caution": "Part of the gain needs no image"}.get(
        status, "Most of the gain needs no image"
    )
    words = (
        f"With another photo's image {max(0.0, share):.0%} of the gain survives: {_gain_words(control.score)}"
    )
    open_ = "" if control.score.clear else "; that interval includes zero"
    return Check(status, title, f"{words}{open_}. Up to 25% passes.")


def _leaks(e: Evidence) -> Check:
    rung = strictest(e.rungs)
    if rung is None or rung.score is None:
        why = "No distances to training photos, or fewer than 100 photos left on every rung."
        return Check("unknown", "Whether the gain outlives the leaks is open", why)
    words = f"{rung.name}: {_gain_words(rung.score)}, n = {rung.n:,}."
    titles = {"better": "The gain outlives the leak ladder", "worse": "Far from training photos it lost"}
    return Check(
        _status(rung.score), titles.get(rung.score.verdict, "Not clear far from training photos"), words
    )


def _form(e: Evidence) -> list[Check]:
    differences = e.greedy or e.sampled
    d = differences.get("format_rate") if differences else None
    if d is None:
        return []
    status: Status = "good" if d.difference >= -0.01 else "caution" if d.difference >= -0.05 else "bad"
    title = "Answers keep their form" if status == "good" else "Answers lose their form"
    return [
        Check(
            status, title, f"{wording.value(d.before, 'share')} → {wording.value(d.after, 'share')} readable."
        )
    ]


def _collapse(e: Evidence) -> list[Check]:
    pair = e.run.pair(e.run.main_split, "greedy") or e.run.pair(e.run.main_split, "sampled")
    if pair is None:
        return []
    before, after = (wording.lookup(a.metrics, "effective_countries") for a in pair)
    if before is None or after is None or before <= 0:
        return []
    ratio = after / before
    status: Status = "good" if ratio >= 0.8 else "caution" if ratio >= 0.5 else "bad"
    title = "Answers stay spread over the world" if status == "good" else "Answers narrow to fewer countries"
    return [Check(status, title, f"Effective number of countries named: {before:.1f} → {after:.1f}.")]


def _bias(e: Evidence) -> list[Check]:
    if not e.run.planted_bias:
        return []
    words = (
        "Undoing a bias that was put in is easier than learning something new; a clean start gains far less."
    )
    return [Check("caution", "The start was biased on purpose", words)]


def checklist(e: Evidence) -> tuple[Check, ...]:
    """Every check this run allows, in the order a sceptic asks."""
    found = [*_decodings(e), *_other_splits(e), _looks(e), _leaks(e)]
    return tuple([*found, *_form(e), *_collapse(e), *_bias(e)])
