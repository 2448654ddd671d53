import json
import logging

import pytest

from geo_assets.errors import DataError
from geo_assets.task.replay import read_completions
from geo_assets_tests.task.samples import right, row, unparsed


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def line(prediction) -> str:
    return json.dumps(
        {
            "id": prediction.id,
            "k": prediction.k,
            "text": prediction.completion,
            "n_tokens": 40,
            "finish_reason": "stop",
        }
    )


def test_completions_are_scored_again(tmp_path):
    made = [right(0), unparsed(1), right(2)]
    path = write(tmp_path / "completions.jsonl", map(line, made))
    assert read_completions(path, [row(i) for i in range(5)]) == made


def test_strangers_and_damage_are_counted_and_not_fatal(tmp_path, caplog):
    path = write(
        tmp_path / "completions.jsonl", [line(right(0)), line(right(7)), '{"id": "row-0001", "k": 0, "te']
    )
    with caplog.at_level(logging.WARNING):
        assert read_completions(path, [row(0), row(1)]) == [right(0)]
    assert "1 completions of unknown rows and 1 damaged lines" in caplog.text


def test_nothing_to_replay_is_an_error_with_a_remedy(tmp_path):
    with pytest.raises(DataError, match="train_learnable first"):
        read_completions(tmp_path / "absent.jsonl", [row(0)])
    path = write(tmp_path / "completions.jsonl", [line(right(3))])
    with pytest.raises(DataError, match="train_pool"):
        read_completions(path, [row(0)])
