"""Burnt-in text on drawn backgrounds; `real/test_overlays_real.py` measures it on photos."""

from importlib import metadata

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from geo_assets.errors import DataError
from geo_assets.osv import ocr, overlays, sets
from geo_assets.osv.extract import Options
from geo_assets.settings import EvalOsv, TrainPool
from geo_assets_tests.osv.mirrors import write_mirror
from geo_assets_tests.real.overlay_photos import FONTS

TEXT = "2019/05/04 11:52:07  N 48.85661 E 2.35222  48 km/h"


def road(seed=0, size=(910, 512)):
    """Asphalt-like noise, smooth at the scale of letters."""
    noise = np.random.default_rng(seed).normal(105, 25, (size[1], size[0])).clip(0, 255).astype(np.uint8)
    return Image.fromarray(noise).filter(ImageFilter.GaussianBlur(1.5))


def with_text(image, y, text=TEXT, fill=250, size=16, x=20):
    image = image.copy()
    ImageDraw.Draw(image).text((x, y), text, fill=fill, font=ImageFont.truetype(FONTS[0], size))
    return image


def test_a_road_has_no_text():
    assert [overlays.text_band_px(road(n)) for n in range(10)] == [0] * 10


@pytest.mark.parametrize("fill", [255, 5])
@pytest.mark.parametrize("size", [12, 16, 22])
def test_text_at_the_lower_edge_is_cut_off(fill, size):
    top = 512 - size - 12
    band = overlays.text_band_px(with_text(road(), top, fill=fill, size=size))
    assert size + 8 < band < 3 * size + 20
    assert 512 - band <= top + 3


def test_two_lines_are_cut_off_together():
    image = with_text(with_text(road(), 488), 466, "48.856613, 2.352222")
    assert 512 - overlays.text_band_px(image) <= 469


def test_text_above_the_bottom_tenth_is_left_alone():
    assert overlays.text_band_px(with_text(road(), 300)) == 0


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_size_and_mode_do_not_matter(mode):
    image = with_text(road(), 484).convert(mode)
    assert overlays.text_band_px(image) > 20
    half = image.resize((1820, 1024), Image.Resampling.LANCZOS)
    assert overlays.text_band_px(half) > 40


def test_flat_and_tiny_images():
    for size in ((910, 512), (32, 32), (400, 16)):
        assert overlays.text_band_px(Image.new("L", size, 128)) == 0


def test_short_text_is_unsure_and_left_to_ocr(monkeypatch):
    image = with_text(road(), 484, "12:34")
    asked = []
    monkeypatch.setattr(ocr, "has_digits", lambda strip: asked.append(strip.shape) or True)
    assert overlays.text_band_px(image) == 0 and not asked
    assert overlays.text_band_px(image, use_ocr=True) > 0
    assert asked[0] == (64, 910)
    monkeypatch.setattr(ocr, "has_digits", lambda strip: False)
    assert overlays.text_band_px(image, use_ocr=True) == 0


@pytest.mark.skipif(not ocr.available(), reason="the ocr extra is not installed")
def test_ocr_reads_digits():
    strip = np.asarray(with_text(road(), 484, "12:34:56"))[-64:]
    assert ocr.has_digits(strip) and not ocr.has_digits(np.asarray(road())[-64:])


@pytest.mark.parametrize(
    ("wanted", "installed", "used"),
    [("auto", True, True), ("auto", False, False), ("never", True, False), ("require", True, True)],
)
def test_ocr_is_used_where_it_is_wanted_and_installed(monkeypatch, wanted, installed, used):
    monkeypatch.setattr(ocr, "available", lambda: installed)
    assert Options.of(TrainPool(ocr=wanted)).use_ocr is used
    assert Options.of(EvalOsv(ocr=wanted)).use_ocr is used
    assert Options.of(TrainPool(ocr=wanted, overlay="keep")).use_ocr is False


def test_ocr_that_is_required_and_missing_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setattr(ocr, "available", lambda: False)
    mirror = write_mirror(tmp_path / "m", train=4)
    with pytest.raises(DataError, match=r"pip install 'geo_assets\[ocr\]'"):
        sets.build_train_pool(mirror, tmp_path / "pool", TrainPool(ocr="require"))


def test_the_extra_is_declared():
    (line,) = [r for r in metadata.requires("geo_assets") or [] if r.startswith("rapidocr")]
    assert line.startswith("rapidocr-onnxruntime") and 'extra == "ocr"' in line
