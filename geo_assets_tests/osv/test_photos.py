"""Own photos: positions from EXIF or a CSV, and no metadata in what the model sees."""

import io
import random

import pytest
from PIL import Image

from geo_assets.errors import DataError
from geo_assets.osv import photos, sets
from geo_assets.osv.schema import SET_SCHEMA
from geo_assets.settings import EvalPhotos
from geo_assets_tests.osv.mirrors import bomb, jpeg

PARIS_GPS = {1: "N", 2: (48.0, 51.0, 0.0), 3: "E", 4: (2.0, 21.0, 0.0)}


def with_gps(path, gps, orientation=1, form="JPEG"):
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif.get_ifd(0x8825).update(gps)
    image = Image.open(io.BytesIO(jpeg(len(str(gps)), (240, 160))))
    image.save(path, form, exif=exif.tobytes())
    return path


@pytest.mark.parametrize(
    ("gps", "expected"),
    [
        (PARIS_GPS, (48.85, 2.35)), ({**PARIS_GPS, 1: "S", 3: "W"}, (-48.85, -2.35)),
        ({**PARIS_GPS, 1: "n", 3: "e\x00"}, (48.85, 2.35)),
        ({1: "N", 2: (48.85,), 3: "E", 4: (2.35,)}, (48.85, 2.35)),
        ({1: "N", 2: (48.0, 51.0, 0.0)}, None), ({**PARIS_GPS, 1: ""}, None),
        ({**PARIS_GPS, 2: (98.0, 0.0, 0.0)}, None),
        ({**PARIS_GPS, 2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 0.0)}, None), ({}, None),
        ({**PARIS_GPS, 2: (float("nan"), 0.0, 0.0)}, None),
    ],
)  # fmt: skip
def test_gps_of_exif(tmp_path, gps, expected):
    exif = Image.Exif()
    exif.get_ifd(0x8825).update(gps)
    image = Image.new("RGB", (64, 64))
    image._exif = exif  # what Pillow keeps of a file
    assert photos.gps_of(image) == (pytest.approx(expected) if expected else None)


def test_gps_of_files(tmp_path):
    assert photos.read_gps(with_gps(tmp_path / "a.jpg", PARIS_GPS)) == pytest.approx((48.85, 2.35))
    assert photos.read_gps(with_gps(tmp_path / "a.png", PARIS_GPS, form="PNG")) == pytest.approx(
        (48.85, 2.35)
    )
    (tmp_path / "b.jpg").write_bytes(b"no image")
    (tmp_path / "c.jpg").write_bytes(jpeg(1))
    assert photos.read_gps(tmp_path / "b.jpg") is None
    assert photos.read_gps(tmp_path / "c.jpg") is None
    assert photos.read_gps(tmp_path / "absent.jpg") is None


def test_a_folder(tmp_path):
    folder = tmp_path / "photos"
    (folder / "deep").mkdir(parents=True)
    with_gps(folder / "b.JPG", PARIS_GPS, orientation=6)
    with_gps(folder / "deep/a b.jpeg", {**PARIS_GPS, 1: "S", 2: (22.0, 33.0, 36.0), 4: (17.0, 4.0, 48.0)})
    (folder / "none.jpg").write_bytes(jpeg(5))
    (folder / "broken.jpg").write_bytes(jpeg(6)[:500])
    (folder / ".hidden.jpg").write_bytes(jpeg(7))
    (folder / "notes.txt").write_text("x")
    (folder / "holiday.jpg").mkdir()
    stats = sets.build_eval_photos(tmp_path / "out", EvalPhotos(folder=folder))
    frame = sets.read_set(tmp_path / "out")
    assert dict(frame.schema) == SET_SCHEMA
    assert frame.select("id", "country_iso2", "width", "height").rows() == [
        ("b", "FR", 160, 240), ("a_b", "NA", 240, 160),
    ]  # fmt: skip
    assert stats.dropped == {"damaged": 1, "no_position": 1}
    for name in frame["image_path"]:
        image = Image.open(tmp_path / "out" / name)
        assert not image.getexif() and photos.gps_of(image) is None


def test_a_manifest(tmp_path):
    for n in (1, 2, 3, 5):
        (tmp_path / f"{n}.jpg").write_bytes(jpeg(n))
    (tmp_path / "list.csv").write_text(
        "file,latitude,longitude,country_iso2,attribution\n"
        '1.jpg,-22.56,17.08,NA,"A, B"\n2.jpg,48.85,2.35,,\n3.jpg,95,0,FR,\n4.jpg,1,1,FR,\n5.jpg,x,1,FR,\n'
    )
    stats = sets.build_eval_photos(tmp_path / "out", EvalPhotos(manifest=tmp_path / "list.csv"))
    frame = sets.read_set(tmp_path / "out")
    assert frame.select("id", "country_iso2").rows() == [("1", "NA"), ("2", "FR")]
    assert stats.dropped == {"coordinates_bad": 1, "file_missing": 1, "no_position": 1}
    assert '1,,"A, B",' in (tmp_path / "out/ATTRIBUTION.csv").read_text()


def test_countries_of_a_manifest_may_be_names_and_nonsense_is_filled_from_the_point(tmp_path):
    cells = ["NA", "Namibia", "UK", "ZZ", "null", ""]
    lines = ["file,latitude,longitude,country_iso2"]
    for n, cell in enumerate(cells):
        (tmp_path / f"{n}.jpg").write_bytes(jpeg(n))
        lines.append(f"{n}.jpg,48.85,2.35,{cell}")
    (tmp_path / "list.csv").write_text("\n".join(lines) + "\n")
    sets.build_eval_photos(tmp_path / "out", EvalPhotos(manifest=tmp_path / "list.csv"))
    assert sets.read_set(tmp_path / "out")["country_iso2"].to_list() == ["NA", "NA", "GB", "FR", "FR", "FR"]


def test_a_photo_of_any_size_or_damage_ends_no_run(tmp_path):
    good = with_gps(tmp_path / "good.jpg", PARIS_GPS).read_bytes()
    (tmp_path / "bomb.png").write_bytes(bomb())
    (tmp_path / "tiny.gif").write_bytes(b"GIF89a")
    rng = random.Random(0)
    for n in range(300):
        data = bytearray(good)
        for _ in range(rng.choice([1, 2, 8])):
            data[rng.randrange(min(len(data), 300))] = rng.randrange(256)
        (tmp_path / f"{n}.jpg").write_bytes(data)
    stats = sets.build_eval_photos(tmp_path / "out", EvalPhotos(folder=tmp_path))
    assert stats.rows > 50 and stats.dropped["too_large"] >= 1 and stats.dropped["no_position"] > 10
    assert stats.rows + sum(stats.dropped.values()) == 302


def test_names_never_collide(tmp_path):
    for name in ("a b.jpg", "a_b.jpg", "a-b.jpg", "é.jpg"):
        with_gps(tmp_path / name, PARIS_GPS)
    sets.build_eval_photos(tmp_path / "out", EvalPhotos(folder=tmp_path))
    ids = sets.read_set(tmp_path / "out")["id"].to_list()
    assert len(set(ids)) == 4 and len(list((tmp_path / "out/images").iterdir())) == 4


def test_limit_unset_and_mistakes(tmp_path):
    assert sets.build_eval_photos(tmp_path / "none", EvalPhotos()).rows == 0
    assert dict(sets.read_set(tmp_path / "none").schema) == SET_SCHEMA
    for n in range(3):
        with_gps(tmp_path / f"{n}.jpg", {**PARIS_GPS, 2: (40.0, float(n), 0.0)})
    assert sets.build_eval_photos(tmp_path / "two", EvalPhotos(folder=tmp_path, limit=2)).rows == 2
    with pytest.raises(DataError, match=r"eval_photos\.folder"):
        sets.build_eval_photos(tmp_path / "x", EvalPhotos(folder=tmp_path / "absent"))
    (tmp_path / "bad.csv").write_text("file,lat\n1.jpg,2\n")
    with pytest.raises(DataError, match="latitude, longitude"):
        sets.build_eval_photos(tmp_path / "x", EvalPhotos(manifest=tmp_path / "bad.csv"))
    (tmp_path / "broken.csv").write_text('file,latitude,longitude\n"1.jpg,2,3')
    for name in ("broken.csv", "absent.csv"):
        with pytest.raises(DataError, match=r"set eval_photos\.manifest to a CSV") as error:
            sets.build_eval_photos(tmp_path / "x", EvalPhotos(manifest=tmp_path / name))
        assert "delete" not in str(error.value)
