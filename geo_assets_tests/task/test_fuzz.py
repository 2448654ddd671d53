import pytest

from geo_assets_tests.task.fuzz_answer import fuzz


@pytest.mark.parametrize("seed", [1, 2])
def test_fuzzed_completions_break_nothing(seed):
    report = fuzz(4_000, seed)
    assert not report.faults, report.examples
    assert report.parsed > 250


@pytest.mark.slow
def test_a_hundred_thousand_fuzzed_completions_break_nothing():
    report = fuzz(100_000, seed=3)
    assert not report.faults, report.examples
