"""Near-identical pictures are found, pictures of the same kind are not."""

import io

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from geo_assets.osv import fingerprint
from geo_assets.osv.fingerprint import HashTable, hashes, near_pairs
from geo_assets_tests.osv.mirrors import jpeg


def photo(seed):
    return Image.open(io.BytesIO(jpeg(seed, (640, 480)))).convert("RGB")


def reencoded(image, quality):
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return Image.open(buffer)


def table(images):
    found = [hashes(image) for image in images]
    return HashTable.of([h.phash for h in found], [h.long_hash for h in found])


COPIES = {
    "encoding": lambda image: reencoded(image, 50),
    "scale": lambda image: image.resize((320, 240), Image.Resampling.LANCZOS),
    "brightness": lambda image: ImageEnhance.Brightness(image).enhance(1.15),
    "contrast": lambda image: ImageEnhance.Contrast(image).enhance(0.8),
    "grey": lambda image: image.convert("L"),
}


@pytest.mark.parametrize("kind", sorted(COPIES))
def test_a_changed_copy_is_the_same_picture(kind):
    originals = [photo(n) for n in range(12)]
    found = near_pairs(table([COPIES[kind](image) for image in originals]), table(originals))
    assert found.tolist() == [[n, n] for n in range(12)]


def test_a_reduced_decode_gives_nearly_the_same_hashes():
    data = jpeg(3, (910, 512))
    whole, reduced = Image.open(io.BytesIO(data)), Image.open(io.BytesIO(data))
    reduced.draft("L", (96, 96))
    reduced.load()
    assert reduced.size < whole.size
    assert near_pairs(table([whole]), table([reduced]), same_bits=40).tolist() == [[0, 0]]


def test_blocks_and_empty_tables():
    rng = np.random.default_rng(0)
    short = rng.integers(0, 2**63, 700, dtype=np.uint64)
    long = rng.integers(0, 2**63, (700, 9), dtype=np.uint64)
    everything, nothing = HashTable(short, long), HashTable.of([], [])
    assert near_pairs(everything, everything).tolist() == [[n, n] for n in range(700)]
    assert near_pairs(nothing, everything).shape == near_pairs(everything, nothing).shape == (0, 2)


def test_long_hash_has_its_length():
    assert len(hashes(photo(1)).long_hash) == fingerprint.LONG_BYTES == 72
    assert fingerprint.sha256(b"") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
