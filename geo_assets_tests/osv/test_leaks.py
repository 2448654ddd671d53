"""What an evaluation split shares with the training set."""

import polars as pl
import pytest

from geo_assets.geo.geodesy import haversine_km
from geo_assets.osv import leaks, sets, sphere
from geo_assets.settings import EvalOsv, TrainPool
from geo_assets_tests.osv.mirrors import jpeg, row, write_csv, write_zip


def points(*rows):
    return pl.DataFrame(
        [(i, lat, lon, creator) for i, lat, lon, creator in rows],
        schema={"id": pl.String, "latitude": pl.Float64, "longitude": pl.Float64, "creator_id": pl.String},
        orient="row",
    )


def test_ladder():
    train = points(("t1", 48.8566, 2.3522, "7"), ("t2", -22.56, 17.08, None))
    split = points(("a", 48.85678, 2.3522, "8"), ("b", -22.0, 17.0, "7"), ("c", 10.0, 10.0, None))
    found = leaks.ladder(train, split)
    assert found.columns == ["id", "same_creator", "nearest_train_km"]
    assert found["same_creator"].to_list() == [False, True, False]
    assert found["nearest_train_km"][0] == pytest.approx(0.020, abs=0.001)
    assert found["nearest_train_km"][1] == pytest.approx(float(haversine_km(-22.0, 17.0, -22.56, 17.08)))


def test_ladder_without_training_photos():
    found = leaks.ladder(points(), points(("a", 1.0, 1.0, None)))
    assert found["nearest_train_km"].to_list() == [float("inf")]
    assert leaks.ladder(points(("a", 1.0, 1.0, None)), points()).height == 0


@pytest.mark.parametrize(
    ("point", "other"),
    [
        ((0.0, 179.9), (0.0, -179.9)),
        ((90.0, 0.0), (89.0, 123.0)),
        ((10.0, 20.0), (-10.0, -160.0)),
        ((5.0, 5.0),) * 2,
    ],
)
def test_distances_over_the_antimeridian_the_pole_and_to_the_antipode(point, other):
    found = sphere.nearest_km([point[0]], [point[1]], [other[0]], [other[1]])
    assert found[0] == pytest.approx(float(haversine_km(*point, *other)), abs=1e-3)


@pytest.fixture(scope="module")
def leaky(tmp_path_factory):
    """Two mirrors built apart, as by someone who split at random."""
    root = tmp_path_factory.mktemp("leaky")
    train = {"1": jpeg(1), "2": jpeg(2), "3": jpeg(3), "4": jpeg(40, (640, 400))}
    test = {"1": jpeg(11), "12": jpeg(2), "13": jpeg(13), "14": jpeg(40, (320, 200)), "15": jpeg(15)}
    for split, photos in (("train", train), ("test", test)):
        folder = root / split
        write_zip(folder / f"images/{split}/00.zip", {f"{i}.jpg": data for i, data in photos.items()})
    write_csv(root / "train/train.csv", [row("1"), row("2"), row("3", sequence="same"), row("4")])
    far = {"latitude": 43.3, "longitude": 5.37}
    rows = [
        row("1", sequence="x"),
        row("12", **far),
        row("13", sequence="same"),
        row("14", **far),
        row("15", **far),
    ]
    write_csv(root / "test/test.csv", rows)
    sets.build_train_pool(root / "train", root / "pool", TrainPool())
    sets.build_eval_osv(root / "test", root / "eval", EvalOsv())
    return root


def test_every_kind_of_leak_is_found(leaky):
    report = leaks.compare(leaky / "pool", leaky / "eval")
    assert report.ids == ("1",)
    assert report.sequences == ("13",)
    assert report.identical == (("12", "2"),)
    assert report.near_identical == (("14", "4"),)
    assert report.within_1_km == 2
    assert not report.clean


def test_what_is_shared_is_listed_by_kind(leaky):
    report = leaks.compare(leaky / "pool", leaky / "eval")
    assert report.shared() == {
        "id": ["1"], "sequence": ["13"], "identical": ["12"], "near_identical": ["14"],
    }  # fmt: skip
    assert report.n == 5
