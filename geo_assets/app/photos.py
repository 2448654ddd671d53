"""A user's photo, opened safely: upright RGB for the model, GPS kept apart for the person only.

The model gets pixels that were decoded anew: no EXIF, no name. Sizes are bytes and px.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from geo_assets.errors import DataError
from geo_assets.osv import images, photos

logger = logging.getLogger(__name__)

MAX_BYTES = 40_000_000
_REFUSALS = {
    "empty": "is empty; choose another photo",
    "not_an_image": "is not an image; use a JPEG, PNG or WebP photo",
    "damaged": "is damaged and does not decode in full; export it again or choose another",
    "too_large": f"has more than {images.MAX_PIXELS // 1_000_000} million pixels; scale it down first",
    "too_small": f"is smaller than {images.MIN_EDGE_PX} px; use a larger copy",
    "too_narrow": "is too long and narrow for the model; crop it first",
}


@dataclass(frozen=True)
class UserPhoto:
    """The pixels without any metadata, and where the photo's own GPS says it was taken."""

    image: Image.Image
    gps: tuple[float, float] | None
    """(latitude, longitude) in degrees."""


def open_photo(path: Path) -> UserPhoto:
    """Open a photo of unknown origin.

    Raises:
        DataError: no such file, too many bytes or pixels, not an image, or damaged.
    """
    photos.enable_heic()
    name = f"photo {path.name[:80]!r}"
    try:
        if path.stat().st_size > MAX_BYTES:
            raise DataError(f"{name} is larger than {MAX_BYTES // 1_000_000} MB; scale it down first")
        decoded = images.decode(path.read_bytes())
    except OSError as error:
        raise DataError(f"{name} cannot be read ({error.strerror}); check the path") from None
    except images.BadImage as error:
        raise DataError(f"{name} {_REFUSALS[error.args[0]]}") from None
    gps = photos.gps_of(decoded)
    upright = images.upright_rgb(decoded)
    return UserPhoto(Image.frombytes("RGB", upright.size, upright.tobytes()), gps)
