import argparse
import json

import pytest

from geo_assets.bench import reference, task
from geo_assets.bench.completions import cases
from geo_assets.cli import bench
from geo_assets.geo.countries import to_iso2
from geo_assets.task.answer import is_truncated, parse_answer
from geo_assets.task.rewards import components


def test_completions_are_distinct_seeded_and_mostly_right_in_form():
    drawn = list(cases(400))
    assert drawn == list(cases(400))
    assert len({case.text for case in drawn}) == 400
    parsed = [parse_answer(case.text) is not None for case in drawn]
    assert sum(parsed) == 360
    assert sum(is_truncated(case.text) for case in drawn) == 20


def test_the_reference_agrees_where_the_answer_is_plain():
    for case in list(cases(200))[:16]:
        mine = components(case.text, case.latitude, case.longitude, case.country_iso2)
        theirs = reference.parse(case.text)
        name = theirs["country"]
        if reference.fuzzy_iso2(name) == to_iso2(name):
            assert reference.reward(*case) == pytest.approx(mine["total"], abs=1e-4)


def test_the_command_prints_its_figures(capsys):
    parser = argparse.ArgumentParser()
    bench.add_parser(parser.add_subparsers())
    small = ["bench", "task", "--completions", "200", "--rows", "300", "--resamples", "50", "--json"]
    arguments = parser.parse_args(small)
    assert arguments.run(arguments) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["completions"], figures["predictions"], figures["intervals"]) == (200, 300, 16)
    assert figures["times_the_reference"] > 10
    assert task.OSV_TEST_ROWS == 210_122


def test_bad_usage_ends_with_two():
    parser = argparse.ArgumentParser()
    bench.add_parser(parser.add_subparsers())
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(["bench"])
    assert stop.value.code == 2
