"""Burnt-in text measured on real photos, with and without drawn camera text; figures in docs/log-data.md."""

import random

import pytest

from geo_assets.osv import ocr, overlays
from geo_assets_tests.real.overlay_photos import burn_in, real_photos


@pytest.fixture(scope="module")
def clean_photos(shared_data):
    return [image for _, image in real_photos(shared_data)]


def test_clean_photos_are_left_alone(clean_photos):
    flagged = sum(overlays.text_band_px(image) > 0 for image in clean_photos)
    assert len(clean_photos) == 109 and flagged == 0


@pytest.mark.parametrize("share", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_drawn_text_is_found_and_cut_off(clean_photos, share):
    found, left_over, photos = 0, 0, clean_photos[::share]
    for number, image in enumerate(photos):
        photo, text_top = burn_in(image, random.Random(5000 + number))
        band = overlays.text_band_px(photo)
        found += band > 0
        left_over += band > 0 and photo.height - band > text_top + 5
    assert found >= (0.93 if share == 1 else 0.85) * len(photos)
    assert left_over <= 2


@pytest.mark.slow
@pytest.mark.skipif(not ocr.available(), reason="the ocr extra is not installed")
def test_ocr_adds_recall_and_no_false_alarm(clean_photos):
    plain = with_ocr = 0
    for number, image in enumerate(clean_photos):
        photo, _ = burn_in(image, random.Random(6000 + number))
        plain += overlays.text_band_px(photo) > 0
        with_ocr += overlays.text_band_px(photo, use_ocr=True) > 0
    assert with_ocr >= plain
    assert not any(overlays.text_band_px(image, use_ocr=True) for image in clean_photos)
