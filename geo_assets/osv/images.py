"""One photo as the model may see it: upright RGB, at most `max_edge_px` on its long edge, no metadata.

A JPEG that is already so passes through byte for byte; one that only carries metadata loses it and keeps its
pixels (`jpeg.py`). Anything else is decoded and encoded once. Every photo is decoded in full, and what does
not decode is refused with a reason: nothing is painted grey. Left out: colour management (profiles are
ignored, as they are by the models) and frames after the first.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from PIL import ExifTags, Image

from geo_assets.osv.jpeg import jpeg_segments, without_metadata

MAX_PIXELS = 80_000_000
MIN_EDGE_PX = 16
CELL_PX = 32
MAX_ASPECT = 200.0
JPEG_QUALITY = 95
BACKGROUND = (255, 255, 255)
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_270, 7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}  # fmt: skip
"""How to turn a photo upright. `ImageOps.exif_transpose` writes EXIF anew, which fails where it is broken."""
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "GIF", "BMP", "TIFF", "HEIF", "AVIF")
"""What a photo may be. Pillow would hand EPS to Ghostscript, and other formats come from no camera."""
_BROKEN = (
    OSError, SyntaxError, ValueError, TypeError, EOFError, LookupError, ArithmeticError, struct.error,
)  # fmt: skip
"""What Pillow's decoders and its EXIF reader raise on broken input."""


class BadImage(Exception):
    """A photo that cannot be used; `args[0]` is the reason to count."""


@contextmanager
def refusing() -> Iterator[None]:
    """Turn whatever Pillow raises on broken input into a `BadImage`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Image.DecompressionBombError:
        raise BadImage("too_large") from None
    except Image.UnidentifiedImageError:
        raise BadImage("not_an_image") from None
    except _BROKEN:
        raise BadImage("damaged") from None


def open_photo(source: Path | IO[bytes]) -> Image.Image:
    """`Image.open` of the formats that a photo may have; nothing is decoded. Use inside `refusing`."""
    Image.init()
    return Image.open(source, formats=[name for name in FORMATS if name in Image.OPEN])


def decode(data: bytes, luma: bool = False) -> Image.Image:
    """Open and fully decode an image, at no more than MAX_PIXELS.

    Args:
        data: bytes of an image file.
        luma: decode only the brightness of a JPEG, at full size: reads all of its data in half the time.

    Raises:
        BadImage: empty, not an image, cut off, too large, too small or too narrow.
    """
    if not data:
        raise BadImage("empty")
    with refusing():
        image = open_photo(io.BytesIO(data))
        check_size(image.width, image.height)
        if luma and image.format == "JPEG":
            image.draft("L", image.size)
        image.load()
    return image


def check_size(width: int, height: int) -> None:
    """Refuse sizes no model can use, before any pixel is decoded."""
    if width * height > MAX_PIXELS:
        raise BadImage("too_large")
    if min(width, height) < MIN_EDGE_PX:
        raise BadImage("too_small")
    if max(width, height) > MAX_ASPECT * min(width, height):
        raise BadImage("too_narrow")


def upright_rgb(image: Image.Image) -> Image.Image:
    """The image as EXIF says to hold it, in 8-bit RGB: alpha on white, 16-bit scaled, CMYK converted."""
    turn = _TURNS.get(orientation(image))
    image = image if turn is None else image.transpose(turn)
    if image.mode.startswith("I") or image.mode == "F":
        image = _to_8_bit(image)
    if "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info:
        layer = image.convert("RGBA")
        sheet = Image.new("RGBA", layer.size, (*BACKGROUND, 255))
        return Image.alpha_composite(sheet, layer).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _to_8_bit(image: Image.Image) -> Image.Image:
    values = np.asarray(image, dtype=np.float64)
    full_scale = 65535.0 if values.max(initial=0.0) > 255 else 255.0
    scaled = np.clip(values * (255.0 / full_scale), 0, 255).round().astype(np.uint8)
    return Image.fromarray(scaled, mode="L")


def fitted_size(width: int, height: int, max_edge_px: int) -> tuple[int, int]:
    """Size with the long edge at most `max_edge_px` and the short edge at least one visual cell.

    >>> fitted_size(4096, 3072, 1024), fitted_size(640, 512, 1024), fitted_size(639, 31, 1024)
    ((1024, 768), (640, 512), (660, 32))
    """
    scale = min(1.0, max_edge_px / max(width, height))
    if min(width, height) * scale < CELL_PX:
        scale = CELL_PX / min(width, height)
    if scale == 1.0:
        return width, height
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    if max(size) > max_edge_px:
        raise BadImage("too_narrow")
    return size


def encode(image: Image.Image) -> bytes:
    """JPEG bytes without any metadata; the same pixels give the same bytes."""
    buffer = io.BytesIO()
    bare = Image.frombytes(image.mode, image.size, image.tobytes())
    bare.save(buffer, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    return buffer.getvalue()


def decode_luma(data: bytes) -> Image.Image:
    """The upright brightness (mode L) of an image, after a full decode.

    Raises:
        BadImage: as `decode`.
    """
    return luma_of(decode(data, luma=True))


def luma_of(image: Image.Image) -> Image.Image:
    """The upright brightness (mode L) of an image.

    Raises:
        BadImage: it does not decode.
    """
    if image.mode == "L" and orientation(image) not in _TURNS:
        return image
    with refusing():
        return upright_rgb(image).convert("L")


def orientation(image: Image.Image) -> int:
    """EXIF orientation, 1 where it has none or one that cannot be read."""
    try:
        return int(exif_of(image).get(ExifTags.Base.Orientation, 1))
    except _BROKEN:
        return 1


def exif_of(image: Image.Image, block: ExifTags.IFD | None = None) -> Mapping[int, Any]:
    """EXIF of an image, or one block of it; empty where it cannot be read."""
    try:
        exif = image.getexif()
        return exif if block is None else exif.get_ifd(block)
    except _BROKEN:
        return {}


@dataclass(frozen=True)
class Photo:
    """A processed photo: the bytes to store and its size."""

    data: bytes
    width: int
    height: int
    copied: bool
    """True where the stored bytes are the source's own."""


def process(data: bytes, max_edge_px: int, crop_bottom_px: int = 0, decoded: bool = False) -> Photo:
    """The photo as stored; see the module's docstring.

    Args:
        data: bytes of an image file.
        max_edge_px: upper bound of the long edge.
        crop_bottom_px: rows to cut from the lower edge of the upright source image.
        decoded: the caller knows from `decode_luma` that the image decodes in full.

    Raises:
        BadImage: with the reason to count.
    """
    if not decoded:
        decode(data, luma=True)
    if not crop_bottom_px and (photo := pass_through(data, max_edge_px)):
        return photo
    with refusing():
        rgb = upright_rgb(decode(data))
    if crop_bottom_px:
        rgb = rgb.crop((0, 0, rgb.width, rgb.height - crop_bottom_px))
    size = fitted_size(*rgb.size, max_edge_px)
    if size != rgb.size:
        rgb = rgb.resize(size, Image.Resampling.LANCZOS)
    return Photo(encode(rgb), *size, copied=False)


def pass_through(data: bytes, max_edge_px: int) -> Photo | None:
    """The photo without decoding it, where it is a JPEG that needs no conversion; else None."""
    jpeg = jpeg_segments(data)
    if jpeg is None or jpeg.components != 3:
        return None
    size = (jpeg.width, jpeg.height)
    check_size(*size)
    if fitted_size(*size, max_edge_px) != size:
        return None
    if jpeg.metadata:
        with refusing():
            if orientation(open_photo(io.BytesIO(data))) in _TURNS:
                return None
    bare = without_metadata(data, jpeg)
    return Photo(bare, *size, copied=len(bare) == len(data))
