import argparse
import json

import polars as pl
import pytest

from geo_assets.cli import rewards as command
from geo_assets.errors import ArtifactError, ProfileError
from geo_assets.osv import schema
from geo_assets.task.rewards import REWARDS
from geo_assets.task.terms import Reward, Terms
from geo_assets_tests.task.samples import answered, gold, right


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    parsed = parser.parse_args(["rewards", *arguments])
    return parsed.run(parsed)


@pytest.fixture
def pool(tmp_path):
    """A set folder with 60 rows, and a train_learnable folder with four completions of each."""
    rows = gold(60)
    absent = dict.fromkeys(schema.SET_SCHEMA) | {"image_path": "x", "width": 8, "height": 8}
    filled = [absent | row for row in rows]
    (tmp_path / "train_pool").mkdir()
    frame = pl.DataFrame(filled, schema=schema.SET_SCHEMA)
    frame.write_parquet(tmp_path / "train_pool" / "train_pool.parquet")
    (tmp_path / "train_learnable").mkdir()
    with (tmp_path / "train_learnable" / "completions.jsonl").open("w") as file:
        for i in range(60):
            for k in range(4):
                text = (right(i) if k < i % 3 else answered(i, "AU", -30.0, 140.0)).completion
                entry = {"id": rows[i]["id"], "k": k, "text": text, "n_tokens": 9, "finish_reason": "stop"}
                file.write(json.dumps(entry) + "\n")
    return tmp_path


def test_the_list_names_every_reward(capsys):
    assert run() == 0
    out = capsys.readouterr().out
    assert all(name in out for name in REWARDS)


def test_attacks_on_places_of_the_world(capsys):
    assert run("--attack", "--reward", "geoguessr") == 0
    out = capsys.readouterr().out
    assert "null island" in out and "16 of 16 conditions hold on 1000 gold rows" in out


def test_attacks_on_a_set(pool, capsys):
    assert run("--attack", "--reward", "bands", "--gold", str(pool / "train_pool"), "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["reward"] for row in rows} == {"bands"} and all(row["passed"] for row in rows)


def test_a_gameable_reward_fails_the_command(monkeypatch, capsys):
    def score(texts, latitude, longitude, country_iso2, progress=1.0):
        return [Terms(0.0, 0.0, 0.0, 1.0, None, 0.0) for _ in texts]

    monkeypatch.setitem(REWARDS, "always", Reward("always", "pays always", score))
    assert run("--attack", "--reward", "always") == 1
    assert "BROKEN" in capsys.readouterr().out


def test_replay_ranks_rewards(pool, capsys):
    folders = ["--learnable", str(pool / "train_learnable"), "--pool", str(pool / "train_pool")]
    assert run("--replay", *folders, "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["reward"] for row in rows} == set(REWARDS)
    assert rows[0]["learnable_share"] == pytest.approx(2 / 3)
    assert run("--replay", *folders, "--reward", "bands", "--std-threshold", "0.9") == 0
    assert "240 completions of 60 photos; set A at std > 0.9" in capsys.readouterr().out


def test_what_is_absent_is_said_on_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("GEO_HOME", str(tmp_path))
    with pytest.raises(ArtifactError, match="train_learnable is not built"):
        run("--replay")
    with pytest.raises(ProfileError, match="choose one of"):
        run("--attack", "--reward", "nope")
    with pytest.raises(SystemExit) as stop:
        run("--attack", "--replay")
    assert stop.value.code == 2
