"""The papers of a set: card, attribution, what was left out."""

import csv
import json
import shutil

from geo_assets.osv import sets
from geo_assets.settings import EvalQuick
from geo_assets_tests.osv.mirrors import EVAL, POOL, jpeg, row, write_csv, write_mirror, write_zip


def test_papers_say_where_from_and_what_was_left_out(pool):
    out, _ = pool
    card = (out / "data_card.md").read_text()
    assert "CC BY-SA 4.0" in card and "| NA | 8 |" in card
    rows = list(csv.DictReader((out / "ATTRIBUTION.csv").open()))
    assert len(rows) == 32 and all(r["id"] in r["url"] for r in rows)
    dropped = json.loads((out / "dropped.json").read_text())
    assert dropped["rows"] == 32 and dropped["copied"] == 32


def test_the_card_says_what_other_zips_would_give(pool, tmp_path):
    out, stats = pool
    both = "32 rows of 4 countries, 4 at the cap"
    assert stats.notes["zips_and_caps"] == {"the zips (2)": both}
    assert f"- the zips (2): {both}" in (out / "data_card.md").read_text()
    mirror = write_mirror(tmp_path / "m", train=61, train_zips=5)
    sets.build_train_pool(mirror, tmp_path / "pool", POOL)
    card = (tmp_path / "pool/data_card.md").read_text()
    assert "- the first two zips: 25 rows of 4 countries, 0 at the cap" in card
    assert "- all 5 zips: 32 rows of 4 countries, 4 at the cap" in card
    assert "| country | rows | usable in the first two zips | usable in all 5 zips |" in card
    assert "| BR | 8 | 7 | 16 |" in card and "| FR | 8 | 6 | 15 |" in card


def test_zips_and_caps():
    available = {"a": {"FR": 500, "NA": 3}, "b": {"FR": 1}, "c": {"NA": 400, "JP": 7}}
    usable = sets.usable_by_choice(available)
    assert usable == {
        "the first two zips": {"FR": 501, "NA": 3}, "all 3 zips": {"FR": 501, "JP": 7, "NA": 403},
    }  # fmt: skip
    assert sets.zips_and_caps(usable, 400) == {
        "the first two zips": "403 rows of 2 countries, 1 at the cap",
        "all 3 zips": "807 rows of 3 countries, 2 at the cap",
    }


def test_the_papers_name_mapillary_for_photos_of_osv5m_and_nobody_for_drawn_scenes(mirror, pool, tmp_path):
    out, _ = pool
    card = (out / "data_card.md").read_text()
    assert "https://creativecommons.org/licenses/by-sa/4.0/" in card and "Changed here" in card
    first = next(csv.DictReader((out / "ATTRIBUTION.csv").open()))
    assert first["licence"] == "CC BY-SA 4.0 (https://creativecommons.org/licenses/by-sa/4.0/)"
    assert first["url"] == f"https://www.mapillary.com/app/?pKey={first['id']}"
    for origin, named in (("hub:osv5m/osv5m@abc", True), ("drawn", False)):
        folder = tmp_path / origin.replace("/", "_")
        shutil.copytree(mirror, folder / "m")
        (folder / "m/files.json").write_text(json.dumps({"test.csv": {"size": 1, "source": origin}}))
        sets.build_eval_osv(folder / "m", folder / "eval", EVAL)
        sets.build_eval_quick(folder / "eval", folder / "quick", EvalQuick(rows=3))
        for name in ("eval", "quick"):
            papers = "".join((folder / name / n).read_text() for n in ("data_card.md", "ATTRIBUTION.csv"))
            assert ("apillary" in papers) == ("CC BY-SA" in papers) == named
            assert f"- From: {origin}\n" in papers


def test_contributors_are_named_where_the_csv_has_their_name(tmp_path):
    write_zip(tmp_path / "images/test/00.zip", {f"{n}.jpg": jpeg(n) for n in (1, 2, 3)})
    write_csv(
        tmp_path / "test.csv",
        [row("1", creator_username='O\'Neil, "Pat"'), row("2"), row("3", creator_id="")],
    )
    sets.build_eval_osv(tmp_path, tmp_path / "out", EVAL)
    found = {r["id"]: r["attribution"] for r in csv.DictReader((tmp_path / "out/ATTRIBUTION.csv").open())}
    assert found == {
        "1": 'Mapillary contributor O\'Neil, "Pat"',
        "2": "Mapillary contributor 92",
        "3": "Mapillary contributor",
    }
