"""The section "Where in the world": maps, error curves and countries of one split."""

from __future__ import annotations

from geo_assets.report import countries, examples, figures, maps, wording
from geo_assets.report.blocks import Block, Figure, Section
from geo_assets.report.run import Answers, Run
from geo_assets.task.metrics import Prediction

MAP_MOVES = 8


def _error_map(run: Run, answers: Answers) -> Figure:
    spots = [
        maps.Spot(
            (p.true_latitude, p.true_longitude),
            p.d_km,
            (
                f"{wording.country(p.true_country_iso2)}; guess {p.country or 'none'}, "
                f"{wording.distance(p.d_km)} off"
            ),
        )
        for p in answers.first.values()
    ]
    near = sum(s.d_km is not None and s.d_km <= 200 for s in spots) / len(spots)
    far = sum(s.d_km is None or s.d_km > 2500 for s in spots) / len(spots)
    alt = (
        f"World map of {len(spots):,} photos: {near:.0%} of the guesses lie within 200 km, {far:.0%} beyond "
        "2,500 km."
    )
    caption = (
        "Each dot is a photo at its true place, coloured by the error of the policy's guess; n = "
        f"{len(spots):,}, {answers.decoding}."
    )
    legend = tuple((class_, words) for _, class_, words in maps.ERROR_CLASSES_KM)
    return Figure(
        "errors-map", "How far off, by place", alt, caption, maps.error_map(spots, alt), legend=legend
    )


def _moves_map(gains: list[examples.Pair], losses: list[examples.Pair]) -> Figure:
    def point(p: Prediction) -> tuple[float, float] | None:
        return (p.lat_deg, p.lon_deg) if p.lat_deg is not None and p.lon_deg is not None else None

    moves = [
        maps.Move(
            (after.true_latitude, after.true_longitude),
            point(before),
            point(after),
            better,
            f"{wording.country(after.true_country_iso2)}: {wording.distance(before.d_km)} off before, "
            f"{wording.distance(after.d_km)} after",
        )
        for better, pairs in ((True, gains), (False, losses))
        for before, after in pairs
    ]
    alt = (
        f"World map with great circles from guess to truth for the {len(gains)} best gains and "
        f"{len(losses)} worst losses."
    )
    caption = (
        f"Lines run from a guess to the truth along the great circle: n = {len(gains)} largest gains and "
        f"{len(losses)} largest losses of the score, each with its guess before and after."
    )
    legend = (
        ("truth", "truth"),
        ("end-before", "guess before"),
        ("end-after", "guess after, a gain"),
        ("end-loss", "guess after, a loss"),
    )
    return Figure(
        "moves-map", "The largest gains and losses", alt, caption, maps.moves_map(moves, alt), legend=legend
    )


def world_section(run: Run, before: Answers, after: Answers) -> Section:
    """Maps, error curves and countries."""
    found = countries.by_country(before, after)
    gains, losses = examples.extremes(before, after, MAP_MOVES)
    lines = [(run.start, "before", before), ("policy", "after", after)]
    blocks: list[Block] = [
        countries.change_map(found, after.n_photos),
        _error_map(run, after),
        figures.error_curves(lines),
        _moves_map(gains, losses),
        countries.country_chart(found),
        countries.country_table(found),
    ]
    return Section("world", "Where in the world", tuple(blocks))
