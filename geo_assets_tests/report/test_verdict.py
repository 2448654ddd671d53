"""The word "improved" and its conditions; sentences; checks; advice."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from geo_assets.report import advice, checklist, controls, costs, ladder, verdict
from geo_assets.report.comparison import Difference, compare
from geo_assets.report.run import Run, read_run
from geo_assets.report.wording import BY_KEY
from geo_assets.settings import Runtime, Settings, Train
from geo_assets_tests.report.conftest import FEW_RESAMPLES, demo_settings


def difference(change: float, low: float, high: float, key: str = "mean_geoscore") -> Difference:
    return Difference(BY_KEY[key], 100, 1000.0, 1000.0 + change, change, low, high, None, 80.0)


@pytest.mark.parametrize(
    ("change", "low", "high", "key", "expected"),
    [
        (50, 10, 90, "mean_geoscore", "better"),
        (50, -1, 90, "mean_geoscore", "unclear"),
        (50, 0, 90, "mean_geoscore", "unclear"),
        (-50, -90, -10, "mean_geoscore", "worse"),
        (-50, -90, -10, "median_km", "better"),
        (50, 10, 90, "median_km", "worse"),
        (0.2, 0.1, 0.3, "country_agreement", "unclear"),
    ],
)
def test_direction_and_zero_decide(change: float, low: float, high: float, key: str, expected: str) -> None:
    assert difference(change, low, high, key).verdict == expected


@pytest.mark.parametrize(
    ("verdicts", "word"),
    [
        (["better", "better"], "Improved"),
        (["better"], "Improved"),
        (["unclear", "better"], "Partly improved"),
        (["better", "worse"], "Partly improved"),
        (["worse", "worse"], "Worse"),
        (["unclear", "unclear"], "No change shown"),
    ],
)
def test_both_decodings_decide_the_word(verdicts: list[str], word: str) -> None:
    assert verdict.judge(verdicts) == word


def test_sentence_states_both_decodings_with_intervals(pod_run: Run) -> None:
    found = verdict.verdict(pod_run, costs.costs(pod_run))
    before, after = pod_run.pair("eval_osv", "sampled")  # type: ignore[misc]
    unseen = set(after.first) - set(pod_run.get("policy", "eval_quick", "greedy").first)  # type: ignore[union-attr]
    d = compare(before, after, ("mean_geoscore",), unseen)["mean_geoscore"]
    assert found.word == "Improved"
    assert len(unseen) == 120
    assert "on 120 OSV-5M test photos that chose no checkpoint" in found.sentence
    assert f"sampled answers went from {d.before:,.0f} to {d.after:,.0f} points" in found.sentence
    assert found.sentence.count("95% interval") == 2
    assert found.caveats == ()


def test_swapped_models_are_worse(pod_upstream: dict[str, Path], pod_run: Run) -> None:
    swap = {"policy": "base", "base": "policy"}
    answers = {
        (swap[w], s, d): replace(a, who=swap[w], remembered={}) for (w, s, d), a in pod_run.answers.items()
    }
    swapped = replace(pod_run, answers=answers)
    found = verdict.verdict(swapped, costs.costs(swapped))
    assert found.word == "Worse"
    assert found.sentence.startswith("Training made the model worse")
    assert "improved" not in found.sentence


def test_control_run_is_called_a_control(pod_upstream: dict[str, Path]) -> None:
    settings = Settings(name="pod", evaluate=FEW_RESAMPLES, train=Train(shuffle_rewards=True))
    run = read_run(pod_upstream, settings, {})
    assert "control run" in verdict.verdict(run, costs.costs(run)).caveats[0]


def evidence(run: Run) -> checklist.Evidence:
    return checklist.gather(run, controls.controls(run), ladder.ladder(run, run.main_split))


def test_checklist_covers_what_a_sceptic_asks(demo_run: Run) -> None:
    titles = " ".join(check.title for check in checklist.checklist(evidence(demo_run)))
    for words in ("Greedy answers", "Sampled answers", "panoramas", "image",
                  "form", "spread over the world", "biased on purpose"):  # fmt: skip
        assert words in titles


def test_bare_run_is_open_where_nothing_was_measured(bare_run: Run) -> None:
    checks = checklist.checklist(evidence(bare_run))
    assert {c.title for c in checks if c.status == "unknown"} == {
        "Sampled answers were not measured",
        "Whether the gain needs the right image is open",
        "Whether the gain outlives the leaks is open",
    }
    assert not [c for c in checks if c.status == "good" and "gain" in c.title.lower()]


def test_advice_follows_from_the_figures(pod_run: Run) -> None:
    last = max(c["step"] for c in pod_run.checkpoints)
    longer = replace(pod_run, best={"step": last})
    assert "Train longer: raise train.max_steps." in [what for what, _ in advice.next_steps(evidence(longer))]
    first = replace(pod_run, best={"step": min(c["step"] for c in pod_run.checkpoints)})
    assert "Lower train.learning_rate, or stop earlier." in [w for w, _ in advice.next_steps(evidence(first))]
    dead = replace(pod_run, log=tuple({"step": i, "frac_reward_zero_std": 0.6} for i in range(50)))
    assert "Filter the rows again from the trained model." in [
        w for w, _ in advice.next_steps(evidence(dead))
    ]
    assert advice.next_steps(evidence(pod_run))[-1][0] == "Repeat with another seed."


def test_advice_asks_for_more_photos_when_nothing_shows(bare_run: Run) -> None:
    assert advice.next_steps(evidence(bare_run))[0][0].startswith("Test on more photos: about ")


def test_costs_add_up_and_a_cpu_costs_nothing(pod_run: Run, demo_upstream: dict[str, Path]) -> None:
    found = costs.costs(
        replace(pod_run, settings=Settings(name="pod", runtime=Runtime(gpu_dollars_per_hour=2.0)))
    )
    assert found.seconds == pytest.approx(sum(s.seconds or 0 for s in found.stages))
    assert found.dollars == pytest.approx(found.seconds / 1800)
    train = next(s for s in found.stages if s.asset == "lora_checkpoints")
    assert train.seconds == pytest.approx(19.2 * 60)
    assert train.tokens == 60 * 32 * 520
    demo = read_run(demo_upstream, demo_settings(), {})
    assert costs.costs(demo).dollars is None
