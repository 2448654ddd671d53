"""Would you bet on it, and what to try next: rules that read the figures of this run.

Each check is a fact with its number and a status; each step follows from a figure that is named. The
thresholds are rules of thumb of this report, stated in the words they print.
"""

from __future__ import annotations

from dataclasses import dataclass

from geo_assets.report import wording
from geo_assets.report.blocks import Check, Status
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.controls import Control, surviving_share
from geo_assets.report.figures import log_points
from geo_assets.report.ladder import Rung, strictest
from geo_assets.report.run import Run

Step = tuple[str, str]


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
    greedy, sampled = (compare(*pair) if pair else None for pair in pairs)
    return Evidence(run, greedy, sampled, controls, rungs)


def _gain_words(d: Difference) -> str:
    return f"{wording.change(d.difference, 'points')} points {wording.interval(d.low, d.high, 'points')}"


def _status(d: Difference) -> Status:
    return {"better": "good", "worse": "bad"}.get(d.verdict, "caution")  # type: ignore[return-value]


def _decodings(e: Evidence) -> list[Check]:
    found = []
    for name, differences in (("Greedy", e.greedy), ("Sampled", e.sampled)):
        if differences is None:
            found.append(Check("unknown", f"{name} answers were not measured", "Set evaluate.samples to 1 or more."))
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
    if share is None:
        why = "No shuffled control, or no clear gain on the quick set to compare it with."
        return Check("unknown", "Whether the gain needs the right image is open", why)
    status: Status = "good" if share <= 0.25 else "caution" if share <= 0.5 else "bad"
    title = {"good": "The gain needs the right image", "caution": "Part of the gain needs no image"}.get(
        status, "Most of the gain needs no image"
    )
    shown = max(0.0, share)
    return Check(status, title, f"With another photo's image {shown:.0%} of the gain survives (0% is ideal; below 25% passes).")


def _leaks(e: Evidence) -> Check:
    rung = strictest(e.rungs)
    if rung is None or rung.score is None:
        why = "No distances to training photos, or fewer than 100 photos left on every rung."
        return Check("unknown", "Whether the gain outlives the leaks is open", why)
    words = f"{rung.name}: {_gain_words(rung.score)}, n = {rung.n:,}."
    titles = {"better": "The gain outlives the leak ladder", "worse": "Far from training photos it lost"}
    return Check(_status(rung.score), titles.get(rung.score.verdict, "Not clear far from training photos"), words)


def _selection(e: Evidence) -> list[Check]:
    rung = next((r for r in e.rungs if r.name.endswith("chose the checkpoint")), None)
    if rung is None or rung.score is None:
        return []
    titles = {"better": "It holds without the photos that chose the checkpoint", "worse": "It lost on unseen photos"}
    title = titles.get(rung.score.verdict, "Not clear without the photos that chose the checkpoint")
    return [Check(_status(rung.score), title, f"{_gain_words(rung.score)}, n = {rung.n:,}.")]


def _form(e: Evidence) -> list[Check]:
    differences = e.greedy or e.sampled
    d = differences.get("format_rate") if differences else None
    if d is None:
        return []
    status: Status = "good" if d.difference >= -0.01 else "caution" if d.difference >= -0.05 else "bad"
    title = "Answers keep their form" if status == "good" else "Answers lose their form"
    return [Check(status, title, f"{wording.value(d.before, 'share')} → {wording.value(d.after, 'share')} readable.")]


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
    words = "Undoing a bias that was put in is easier than learning something new; a clean start gains far less."
    return [Check("caution", "The start was biased on purpose", words)]


def checklist(e: Evidence) -> tuple[Check, ...]:
    """Every check this run allows, in the order a sceptic asks."""
    found = [*_decodings(e), *_selection(e), *_other_splits(e), _looks(e), _leaks(e)]
    return tuple([*found, *_form(e), *_collapse(e), *_bias(e)])


def _last_mean(run: Run, key: str) -> float | None:
    points = log_points(run.log, key)
    tail = [value for _, value in points[-max(1, len(points) // 10) :]]
    return sum(tail) / len(tail) if tail else None


def _steps_from_training(run: Run) -> list[Step]:
    found = []
    steps = [int(c["step"]) for c in run.checkpoints if "step" in c]
    if len(steps) > 1 and run.best.get("step") == max(steps):
        found.append((
            "Train longer: raise train.max_steps.", f"The chosen checkpoint is the last one (step {max(steps):,}).",
        ))  # fmt: skip
    if len(steps) > 2 and run.best.get("step") == min(steps):
        found.append((
            "Lower train.learning_rate, or stop earlier.", f"The first checkpoint (step {min(steps):,}) is the best one.",
        ))  # fmt: skip
    zero = _last_mean(run, "frac_reward_zero_std")
    if zero is not None and zero > 0.3:
        found.append((
            "Filter the rows again from the trained model.",
            f"In the last tenth of training {zero:.0%} of the groups gave no signal: all their rewards were equal.",
        ))  # fmt: skip
    clipped = _last_mean(run, "completions/clipped_ratio")
    if clipped is not None and clipped > 0.05:
        found.append((
            "Raise task.max_completion_length.", f"{clipped:.0%} of the answers were cut off near the end of training.",
        ))  # fmt: skip
    return found


def _steps_from_figures(e: Evidence) -> list[Step]:
    found: list[Step] = []
    main = e.sampled or e.greedy or {}
    score, country = main.get("mean_geoscore"), main.get("country_acc")
    if score and country and score.verdict == "better" and country.verdict != "better":
        found.append((
            "Give the country more weight in the reward, and cap each country at 250 photos.",
            "The score rose but the share of right countries did not.",
        ))  # fmt: skip
    if score and score.verdict == "unclear" and score.mde:
        more = max(2.0, (score.mde / max(abs(score.difference), score.mde / 5)) ** 2)
        found.append((
            f"Test on more photos: about {min(more * score.n, 25 * score.n):,.0f}.",
            f"A difference of {abs(score.difference):,.0f} points is below the {score.mde:,.0f} that {score.n:,} can show.",
        ))  # fmt: skip
    if e.greedy and e.sampled and e.greedy["mean_geoscore"].verdict != e.sampled["mean_geoscore"].verdict:
        found.append((
            "Trust the sampled figures, and train further.", "Greedy and sampled answers disagree about the gain.",
        ))  # fmt: skip
    share = surviving_share(e.controls, "shuffled")
    if share is not None and share > 0.25:
        found.append((
            "Balance the countries of train_pool.", f"{share:.0%} of the gain survives with another photo's image.",
        ))  # fmt: skip
    return found


def next_steps(e: Evidence) -> tuple[Step, ...]:
    """What to try next, each with the figure it follows from."""
    found = _steps_from_figures(e) + _steps_from_training(e.run)
    if e.run.is_demo:
        found.append((
            "Run the laptop or pod profile on real photos.", "The demo shows that the pipeline works; skill needs OSV-5M.",
        ))  # fmt: skip
    if "eval_photos" not in e.run.splits:
        found.append((
            "Test it on your own photos: set eval_photos.folder.", "No other test is as close to your use of it.",
        ))  # fmt: skip
    found.append((
        "Repeat with another seed.", "One run shows one draw of training; two that agree are worth more than one interval.",
    ))  # fmt: skip
    return tuple(found)

