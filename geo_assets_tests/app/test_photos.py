"""Photos of unknown origin: what is refused, and what the model never sees."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image

from geo_assets.app.photos import MAX_BYTES, open_photo
from geo_assets.app.samples import draw_samples, gps_exif
from geo_assets.errors import DataError


def photo(path: Path, exif: Image.Exif | None = None, size: tuple[int, int] = (320, 240)) -> Path:
    Image.linear_gradient("L").resize(size).convert("RGB").save(
        path, exif=Image.Exif() if exif is None else exif
    )
    return path


@pytest.mark.parametrize(
    ("lat", "lon"), [(48.8584, 2.2945), (-33.8568, 151.2153), (-22.9519, -43.2105), (0.5, -0.5)]
)
def test_gps_is_read_for_the_person_and_gone_for_the_model(tmp_path: Path, lat: float, lon: float) -> None:
    opened = open_photo(photo(tmp_path / "a.jpg", gps_exif(lat, lon)))
    assert opened.gps == pytest.approx((lat, lon), abs=1e-5)
    assert dict(opened.image.getexif()) == {}
    assert opened.image.info == {}
    assert getattr(opened.image, "filename", "") == ""


def test_exif_orientation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert open_photo(photo(tmp_path / "a.jpg", exif)).image.size == (240, 320)


def test_transparent_and_grey_photos_become_rgb(tmp_path: Path) -> None:
    Image.new("RGBA", (64, 64), (0, 0, 0, 0)).save(tmp_path / "a.png")
    opened = open_photo(tmp_path / "a.png")
    assert opened.image.mode == "RGB"
    assert opened.image.getpixel((5, 5)) == (255, 255, 255)
    assert opened.gps is None


def bomb() -> bytes:
    """A PNG of 100,000 x 100,000 px in a few bytes."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


def cut_jpeg() -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((300, 300), 90).save(buffer, "JPEG")
    return buffer.getvalue()[:4000]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"GIF89a but no more", "is not an image|is damaged"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is not an image"),
        (bomb(), "million pixels; scale it down"),
        (cut_jpeg(), "is damaged"),
    ],
)
def test_what_is_no_photo_is_refused_in_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "x.jpg").write_bytes(data)
    with pytest.raises(DataError, match=words) as refused:
        open_photo(tmp_path / "x.jpg")
    assert "\n" not in str(refused.value)


def test_huge_files_and_missing_ones_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge.jpg").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(DataError, match="larger than 40 MB"):
        open_photo(tmp_path / "huge.jpg")
    with pytest.raises(DataError, match="No such file"):
        open_photo(tmp_path / "none.jpg")


def test_drawn_samples_carry_their_place_and_differ(tmp_path: Path) -> None:
    paths = draw_samples(tmp_path, ("JP", "KE", "not a country"))
    assert [path.name for path in paths] == ["scene-1.jpg", "scene-2.jpg"]
    japan, kenya = (open_photo(path) for path in paths)
    assert japan.gps and 24 < japan.gps[0] < 46 and 122 < japan.gps[1] < 146
    assert kenya.gps and -5 < kenya.gps[0] < 5
    assert japan.image.tobytes() != kenya.image.tobytes()
