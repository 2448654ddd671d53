"""The sections of the report in reading order, each a heading and its blocks.

What a run lacks is said in the section's place, in one sentence.
"""

from __future__ import annotations

from functools import partial

from geo_assets.report import (
    advice,
    calibration,
    checklist,
    controls,
    costs,
    curriculum,
    examples,
    figures,
    ladder,
    provenance,
    tables,
    wording,
)
from geo_assets.report.blocks import Block, Checks, Grid, Section, Steps, Text
from geo_assets.report.comparison import compare, own_interval
from geo_assets.report.gym import gym_sections
from geo_assets.report.run import DECODINGS, Answers, Run
from geo_assets.report.verdict import Verdict
from geo_assets.report.world import world_section

Pair = tuple[Answers, Answers]


def main_pair(run: Run) -> Pair:
    """(start, policy) on the main split: greedy where there is one."""
    pairs = [run.pair(run.main_split, decoding) for decoding in DECODINGS]
    return next(pair for pair in pairs if pair is not None)


def gains_section(run: Run) -> Section:
    """The forest of gains over splits and decodings."""
    gains = []
    for split in run.splits:
        for decoding in DECODINGS:
            if pair := run.pair(split, decoding):
                difference = compare(*pair, ("mean_geoscore",))["mean_geoscore"]
                gains.append(figures.Gain(decoding, difference, wording.split_name(split, run.is_demo)))
    return Section("gains", "How much better", (figures.forest(gains),))


def trust_section(evidence: checklist.Evidence) -> Section:
    """The checklist and what to try next."""
    blocks: tuple[Block, ...] = (
        Checks(checklist.checklist(evidence)),
        Text("What to try next:"),
        Steps(advice.next_steps(evidence)),
    )
    return Section("trust", "Would you bet on it?", blocks)


def tables_section(run: Run) -> Section:
    """Every metric of every split."""
    remark = Text(
        "Intervals are paired 95% bootstrap intervals of the difference over the same photos; p is the "
        "exact McNemar test where each photo is right or wrong. Answers that cannot be read count as wrong "
        "and score 0. Blue: better, interval excludes zero. Orange: worse.",
        aside=True,
    )
    return Section("metrics", "Before and after, every metric", (remark, *tables.metric_tables(run)))


def landscape_section(run: Run) -> Section:
    """This run among published results, on the main split."""
    shown = []
    for who, kind in (("base", "before"), ("start", "before"), ("policy", "after")):
        answers = run.get(who, run.main_split, "greedy") or run.get(who, run.main_split, "sampled")
        if answers:
            score = float(answers.values["mean_geoscore"].mean())
            shown.append((f"This run: {who}", kind, score, *own_interval(answers, "mean_geoscore")))
    n = main_pair(run)[1].n_photos
    blocks: tuple[Block, ...] = (figures.landscape(shown, n, run.is_demo),)
    if run.main_split != "eval_osv" and not run.is_demo:
        blocks += (
            Text("This run has no OSV-5M test photos, so its marks are not comparable with the others."),
        )
    return Section("landscape", "Where this stands", blocks)


def training_section(run: Run) -> Section:
    """Reward curves and the checkpoint curve."""
    blocks: list[Block] = []
    points = partial(figures.log_points, run.log)
    curves = (*figures.training_curves(run), *curriculum.level_curves(points))
    if curves:
        remark = (
            "Light line: each step. Dark line: moving average. Rewards are on the training photos, as "
            "sampled."
        )
        blocks += [Text(remark, aside=True), Grid(curves)]
    else:
        blocks.append(Text("The trainer's log has no curves."))
    if stages := curriculum.weights_figure(points):
        blocks.append(stages)
    pair = run.pair("eval_quick", run.settings.checkpoint_metrics.decoding)
    criterion = run.settings.checkpoint_metrics.criterion
    start = compare(*pair, (criterion,))[criterion].before if pair else None
    chart = figures.checkpoint_curve(run, start)
    blocks.append(chart or Text("No checkpoint was measured."))
    return Section("training", "Training", tuple(blocks))


def examples_section(run: Run) -> Section:
    """Best gains and worst losses, with photos and texts."""
    before, after = main_pair(run)
    gains, losses = examples.extremes(before, after, run.settings.report.examples)
    remark = Text(
        f"Picked by the change of the score among {after.n_photos:,} photos, so they are the extremes, not "
        "the typical case. The texts are the model's own words and may be wrong.",
        aside=True,
    )
    blocks = examples.example_blocks(run, run.main_split, gains, losses)
    return Section("examples", "Photos it got right, and wrong", (remark, *blocks))


def controls_section(run: Run, found: list[controls.Control]) -> Section:
    """What remains without the right image."""
    answers = run.get("policy", controls.SPLIT, "greedy")
    if answers is None or not found:
        return Section(
            "controls", "Controls", (Text("The quick set was not answered, so there are no controls."),)
        )
    fitted = controls.baselines(answers)
    blocks: list[Block] = []
    if len(found) == 1:
        blocks.append(
            Text("The models were not asked with blank or shuffled images (evaluate.controls is off).")
        )
    blocks.append(controls.controls_figure(found, fitted, answers.n_photos))
    shares = [(c.name, controls.surviving_share(found, c.key)) for c in found[1:]]
    told = [f"{name.lower()}: {max(0.0, share):.0%}" for name, share in shares if share is not None]
    if told:
        blocks.append(Text(f"Share of the gain that survives with {'; with '.join(told)}."))
    blocks.append(controls.controls_table(found, fitted))
    return Section("controls", "Controls", tuple(blocks))


def leaks_section(run: Run, rungs: list[ladder.Rung]) -> Section:
    """The ladder of the main split, and of every other split with leak figures."""
    blocks: list[Block] = []
    if run.main_split not in run.leaks:
        blocks.append(Text("No distances to training photos were recorded for this split."))
    if chart := ladder.ladder_figure(rungs):
        blocks.append(chart)
    blocks.append(ladder.ladder_table(rungs))
    return Section("leaks", "Leak ladder", tuple(blocks))


def calibration_section(run: Run) -> Section:
    """The spread of samples against the score, where k allows it."""
    found = calibration.calibration(run, run.main_split)
    if found is None:
        words = (
            "Needs at least two sampled answers for each photo; this run has fewer. Set evaluate.samples "
            "to 4 or more to see whether the spread of the guesses tells which to trust."
        )
        return Section("calibration", "Calibration", (Text(words),))
    return Section("calibration", "Calibration", (calibration.calibration_figure(found),))


def data_section(run: Run) -> Section:
    """Filter statistics and dropped rows."""
    blocks = (provenance.filter_table(run), provenance.dropped_table(run))
    return Section("data", "Training rows and dropped data", blocks)


def cost_section(run: Run, spent: costs.Costs) -> Section:
    """Time, tokens, dollars."""
    blocks: list[Block] = [costs.costs_table(spent)]
    per_step = [
        wording.lookup(run.timings[name], "seconds_per_step") for name in ("lora_checkpoints", "smoke_test")
    ]
    seconds = per_step[0] or per_step[1]
    if seconds:
        blocks.append(Text(f"One training step took {seconds:.1f} s."))
    return Section("cost", "Hours, tokens, dollars", tuple(blocks))


def provenance_section(run: Run) -> Section:
    """Versions and recipes."""
    return Section(
        "provenance", "Versions and recipes", (provenance.versions_text(run), provenance.recipes_table(run))
    )


def sections(run: Run, spent: costs.Costs, judged: Verdict) -> list[Section]:
    """All sections in reading order."""
    found = controls.controls(run)
    rungs = ladder.ladder(run, run.main_split)
    evidence = checklist.gather(run, found, rungs)
    return [
        gains_section(run),
        trust_section(evidence),
        world_section(run, *main_pair(run)),
        examples_section(run),
        tables_section(run),
        landscape_section(run),
        training_section(run),
        controls_section(run, found),
        leaks_section(run, rungs),
        calibration_section(run),
        data_section(run),
        cost_section(run, spent),
        *gym_sections(run.upstream.get("gym_metrics")),
        provenance_section(run),
    ]
