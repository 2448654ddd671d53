"""What to try next: rules that read the figures of this run, each naming the figure it follows from."""

from __future__ import annotations

from geo_assets.report.checklist import Evidence
from geo_assets.report.controls import surviving_share
from geo_assets.report.figures import log_points
from geo_assets.report.run import Run

Step = tuple[str, str]
"""(what to do, why)."""


def _last_mean(run: Run, key: str) -> float | None:
    points = log_points(run.log, key)
    tail = [value for _, value in points[-max(1, len(points) // 10) :]]
    return sum(tail) / len(tail) if tail else None


def _steps_from_training(run: Run) -> list[Step]:
    found = []
    steps = [int(c["step"]) for c in run.checkpoints if "step" in c]
    if len(steps) > 1 and run.best.get("step") == max(steps):
        found.append(
            (
                "Train longer: raise train.max_steps.",
                f"The chosen checkpoint is the last one (step {max(steps):,}).",
            )
        )
    if len(steps) > 2 and run.best.get("step") == min(steps):
        found.append(
            (
                "Lower train.learning_rate, or stop earlier.",
                f"The first checkpoint (step {min(steps):,}) is the best one.",
            )
        )
    zero = _last_mean(run, "frac_reward_zero_std")
    if zero is not None and zero > 0.3:
        found.append(
            (
                "Filter the rows again from the trained model.",
                (
                    f"In the last tenth of training {zero:.0%} of the groups gave no signal: all their "
                    "rewards were equal."
                ),
            )
        )
    clipped = _last_mean(run, "completions/clipped_ratio")
    if clipped is not None and clipped > 0.05:
        found.append(
            (
                "Raise task.max_completion_length.",
                f"{clipped:.0%} of the answers were cut off near the end of training.",
            )
        )
    return found


def _steps_from_figures(e: Evidence) -> list[Step]:
    found: list[Step] = []
    main = e.sampled or e.greedy or {}
    score, country = main.get("mean_geoscore"), main.get("country_acc")
    if score and country and score.verdict == "better" and country.verdict != "better":
        found.append(
            (
                "Give the country more weight in the reward, and cap each country at 250 photos.",
                "The score rose but the share of right countries did not.",
            )
        )
    if score and score.verdict == "unclear" and score.mde:
        more = max(2.0, (score.mde / max(abs(score.difference), score.mde / 5)) ** 2)
        found.append(
            (
                f"Test on more photos: about {min(more * score.n, 25 * score.n):,.0f}.",
                (
                    f"A difference of {abs(score.difference):,.0f} points is below the {score.mde:,.0f} "
                    f"that {score.n:,} can show."
                ),
            )
        )
    if e.greedy and e.sampled and e.greedy["mean_geoscore"].verdict != e.sampled["mean_geoscore"].verdict:
        found.append(
            (
                "Trust the sampled figures, and train further.",
                "Greedy and sampled answers disagree about the gain.",
            )
        )
    share = surviving_share(e.controls, "shuffled")
    if share is not None and share > 0.25:
        found.append(
            (
                "Balance the countries of train_pool.",
                f"{share:.0%} of the gain survives with another photo's image.",
            )
        )
    return found


def next_steps(e: Evidence) -> tuple[Step, ...]:
    """What to try next, each with the figure it follows from."""
    found = _steps_from_figures(e) + _steps_from_training(e.run)
    if e.run.is_demo:
        found.append(
            (
                "Run the laptop or pod profile on real photos.",
                "The demo shows that the pipeline works; skill needs OSV-5M.",
            )
        )
    if "eval_photos" not in e.run.splits:
        found.append(
            (
                "Test it on your own photos: set eval_photos.folder.",
                "No other test is as close to your use of it.",
            )
        )
    found.append(
        (
            "Repeat with another seed.",
            "One run shows one draw of training; two that agree are worth more than one interval.",
        )
    )
    return tuple(found)
