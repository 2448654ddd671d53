"""One photo as the model may see it."""

import collections
import io
import random

import numpy as np
import pytest
from PIL import Image

from geo_assets.osv import images, overlays
from geo_assets.osv.images import BadImage
from geo_assets.osv.jpeg import jpeg_segments
from geo_assets_tests.osv.mirrors import bomb, jpeg


def encoded(image, form="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def with_exif(orientation, size=(240, 160), gps=False):
    exif = Image.Exif()
    exif[0x0112] = orientation
    if gps:
        exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 51.0, 0.0), 3: "E", 4: (2.0, 21.0, 0.0)})
    return encoded(Image.open(io.BytesIO(jpeg(3, size))), "JPEG", exif=exif.tobytes(), quality=90)


def stored(data, **options):
    photo = images.process(data, 1024, **options)
    image = Image.open(io.BytesIO(photo.data))
    image.load()
    assert image.size == (photo.width, photo.height) and image.mode == "RGB"
    return photo, image


def test_a_jpeg_that_is_already_right_passes_byte_for_byte():
    data = jpeg(1, (910, 512))
    photo, _ = stored(data)
    assert photo.data == data and photo.copied


def test_metadata_goes_and_pixels_stay():
    data = with_exif(1, gps=True)
    photo, image = stored(data)
    assert not photo.copied and b"Exif" not in photo.data and not image.getexif()
    assert np.array_equal(np.asarray(image), np.asarray(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("segment", [b"\xff\xe1XMP", b"\xff\xed\x00\x06IPTC", b"\xff\xfe\x00\x09comment"])
def test_other_metadata_segments_go_too(segment):
    data = jpeg(1)
    payload = segment[2:] if segment[2] == 0 else len(segment).to_bytes(2, "big") + segment[2:]
    inserted = data[:2] + segment[:2] + payload.ljust(int.from_bytes(payload[:2], "big"), b" ") + data[2:]
    assert stored(inserted)[0].data == data


def test_exif_rotation_is_applied_and_then_gone():
    image = Image.new("RGB", (24, 16))
    exif = Image.Exif()
    exif[0x0112] = 6
    assert images.upright_rgb(Image.open(io.BytesIO(encoded(image, "JPEG", exif=exif)))).size == (16, 24)
    _, image = stored(with_exif(6))
    assert image.size == (160, 240) and not image.getexif()
    assert images.decode_luma(with_exif(6)).size == (160, 240)


@pytest.mark.parametrize("number", range(1, 9))
def test_every_orientation_is_turned_as_pillow_does(number):
    from PIL import ImageOps

    image = Image.open(io.BytesIO(with_exif(number, (48, 32))))
    expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    assert np.array_equal(np.asarray(images.upright_rgb(image)), expected)


def test_exif_that_cannot_be_written_again_does_no_harm(monkeypatch):
    def fail(self, offset=8):
        raise TypeError("write_string() takes 2 positional arguments but 4 were given")

    data = with_exif(6)
    monkeypatch.setattr(Image.Exif, "tobytes", fail)
    assert stored(data)[1].size == (160, 240)


@pytest.mark.filterwarnings("ignore")
def test_random_damage_is_refused_or_survived():
    rng = random.Random(0)
    exif = with_exif(6, (96, 64), gps=True)
    picture = Image.open(io.BytesIO(jpeg(2, (96, 64))))
    originals = [exif, jpeg(2, (96, 64)), *(encoded(picture, form) for form in ("PNG", "WEBP", "GIF"))]
    seen = collections.Counter()
    for _ in range(400):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.choice([1, 2, 8])):
            data[rng.randrange(min(len(data), rng.choice([60, 400, 10**6])))] = rng.randrange(256)
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        try:
            overlays.text_band_px(images.decode_luma(bytes(data)))
            stored(bytes(data))
            seen["stored"] += 1
        except BadImage as error:
            seen[error.args[0]] += 1
    assert seen["stored"] > 50 and seen["damaged"] > 50


def test_16_bit_grey_keeps_its_range():
    ramp = Image.fromarray(np.tile(np.linspace(0, 65535, 256).astype(np.uint16), (64, 1)))
    values = np.asarray(images.upright_rgb(Image.open(io.BytesIO(encoded(ramp)))))
    assert values.mean() == pytest.approx(127.5, abs=1) and values.min() == 0 and values.max() == 255
    assert abs(np.asarray(images.decode_luma(encoded(ramp))).mean() - 127.5) < 1


def test_transparency_lies_on_white():
    hidden = Image.new("RGBA", (64, 64), (0, 255, 0, 0))
    assert images.upright_rgb(hidden).getpixel((5, 5)) == (255, 255, 255)
    half = images.upright_rgb(Image.new("RGBA", (64, 64), (0, 0, 0, 128))).getpixel((5, 5))
    assert half == (127, 127, 127)
    palette = Image.new("P", (64, 64), 1)
    palette.putpalette([0, 255, 0, 10, 20, 30])
    see_through = Image.open(io.BytesIO(encoded(palette, transparency=1)))
    assert images.upright_rgb(see_through).getpixel((5, 5)) == (255, 255, 255)
    assert images.upright_rgb(palette).getpixel((5, 5)) == (10, 20, 30)


def test_cmyk_red_is_red():
    red = Image.new("CMYK", (64, 64), (0, 255, 255, 0))
    assert images.upright_rgb(red).getpixel((5, 5)) == (255, 0, 0)
    assert stored(encoded(red, "JPEG"))[1].mode == "RGB"


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I", "F", "I;16"])
def test_every_mode_becomes_rgb(mode):
    image = Image.new(mode, (64, 48)) if mode != "I;16" else Image.fromarray(np.zeros((48, 64), np.uint16))
    form = "TIFF" if mode in ("F", "I") else "PNG"
    assert stored(encoded(image, form))[1].size == (64, 48)


def test_a_grey_jpeg_is_converted():
    photo, image = stored(encoded(Image.new("L", (64, 48), 90), "JPEG"))
    assert not photo.copied and image.getpixel((3, 3)) == (90, 90, 90)


@pytest.mark.parametrize(
    ("size", "fitted"),
    [((910, 512), (910, 512)), ((2048, 1024), (1024, 512)), ((31, 639), (32, 660)), ((24, 16), (48, 32))],
)
def test_sizes(size, fitted):
    assert images.fitted_size(*size, 1024) == fitted
    assert stored(encoded(Image.new("RGB", size)))[1].size == fitted


@pytest.mark.parametrize(
    ("size", "reason"),
    [((1, 1), "too_small"), ((4096, 18), "too_narrow"), ((15, 500), "too_small"), ((3000, 60), "too_narrow")],
)
def test_sizes_that_no_model_can_use(size, reason):
    with pytest.raises(BadImage, match=reason):
        images.process(encoded(Image.new("RGB", size)), 1024)


@pytest.mark.parametrize("size", [(12_000, 10_000), (20_000, 10_000), (60_000, 60_000)])
def test_bombs_are_refused_before_they_are_decoded(size):
    with pytest.raises(BadImage, match="too_large"):
        images.process(bomb(size), 1024)


FULL = jpeg(5, (640, 480))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"), (FULL[: len(FULL) // 2], "damaged"), (FULL[:-2], "damaged"),
        (FULL[:20], "not_an_image"),
        (b"<html><body>429 Too Many Requests</body></html>", "not_an_image"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "not_an_image"),
        (bytes(5000), "not_an_image"),
    ],
)  # fmt: skip
def test_damage_is_refused_with_a_reason(data, reason):
    with pytest.raises(BadImage, match=reason):
        images.process(data, 1024)


def test_a_truncated_image_is_not_painted_grey(monkeypatch):
    from PIL import ImageFile

    assert ImageFile.LOAD_TRUNCATED_IMAGES is False
    with pytest.raises(BadImage, match="damaged"):
        images.decode_luma(FULL[: len(FULL) * 3 // 4])


def test_luma_decodes_all_of_the_file():
    luma = images.decode(FULL, luma=True)
    assert luma.mode == "L" and luma.size == (640, 480)


@pytest.mark.parametrize(
    "tail", [b"hidden bytes 48.85, 2.35", with_exif(1, gps=True), with_exif(6, gps=True) + b"\0" * 7]
)
def test_bytes_after_the_image_go_and_its_pixels_stay(tail):
    """Phones append a preview or a film, with EXIF of its own."""
    photo, _ = stored(FULL + tail)
    assert photo.data == FULL and not photo.copied


def test_segments_between_the_scans_of_a_progressive_jpeg():
    whole = encoded(Image.open(io.BytesIO(FULL)), "JPEG", progressive=True)
    scans = [at for at in range(len(whole) - 1) if whole[at : at + 2] == b"\xff\xda"]
    assert len(scans) > 3 and stored(whole)[0].data == whole
    at = whole.index(b"\xff\xc4", scans[1])  # the tables of a later scan
    comment = b"\xff\xfe\x00\x0c48.85,2.35"
    assert stored(whole[:at] + comment + whole[at:])[0].data == whole


@pytest.mark.parametrize(
    ("segment", "kept"),
    [(b"\xff\xe0JFXX\0preview", False), (b"\xff\xe0GPS 48.85", False), (b"\xff\xe2MPF\0II", False),
     (b"\xff\xe2ICC_PROFILE\0\1\1profile", True), (b"\xff\xeeAdobe\0\x64\0\0\0\0\1", True)],
)  # fmt: skip
def test_of_application_segments_only_colour_stays(segment, kept):
    payload = segment[2:]
    block = segment[:2] + (len(payload) + 2).to_bytes(2, "big") + payload
    data = FULL[:20] + block + FULL[20:]  # behind JFIF, which comes first
    assert FULL[2:4] == b"\xff\xe0" and jpeg_segments(data).width == 640
    assert stored(data)[0].data == (data if kept else FULL)


@pytest.mark.parametrize("cut", [1, 2, 3, 200, len(FULL) - 30, len(FULL) - 200])
def test_a_cut_jpeg_has_no_segments(cut):
    assert jpeg_segments(FULL[:-cut]) is None


def test_an_eps_is_no_photo():
    with pytest.raises(BadImage, match="not_an_image"):
        images.decode(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n%%EndComments\nshowpage\n")


def test_cropping_the_lower_edge():
    photo, image = stored(FULL, crop_bottom_px=50)
    assert image.size == (640, 430) and not photo.copied


def test_encoding_is_deterministic():
    image = Image.open(io.BytesIO(FULL)).convert("RGB")
    assert images.encode(image) == images.encode(image.copy())
