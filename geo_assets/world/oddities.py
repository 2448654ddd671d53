"""The awkward members and rows that every mirror holds, so that each run meets them.

Beside the scenes: damaged files, rows of Namibia (whose code `NA` reads as null, and which
OSV-5M also labels `NMB`), a test photo that is a training photo under another id, coordinates
burnt into the picture, a row without an image, an image without a row, macOS debris.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PIL import Image, ImageDraw

from geo_assets.world.lettering import font
from geo_assets.world.places import Split
from geo_assets.world.rows import Photo
from geo_assets.world.shots import Shot, Treatment, new_shot

DAMAGED: dict[Split, tuple[tuple[str, Treatment], ...]] = {
    "train": (("FR", "truncated"), ("BR", "truncated"), ("JP", "empty"), ("US", "not an image")),
    "test": (("ZA", "truncated"), ("AU", "empty"), ("SE", "not an image")),
}
OVERLAYS: dict[Split, tuple[str, ...]] = {"train": ("MX", "TH"), "test": ("KE",)}
NAMIBIA_LABELS: dict[Split, tuple[str, ...]] = {"train": ("NA", "NMB"), "test": ("NA",)}

STRIP_PX = 34
MACOS_MEMBER = "__MACOSX/{zip}/._{id}.jpg"
MACOS_BYTES = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X        " + bytes(50)


def odd_shots(seed: int, split: Split, taken: set[str], train: Sequence[Shot] = ()) -> list[Shot]:
    """The odd shots of a split; the test split copies one of the `train` shots."""

    def shot(name: str, iso2: str) -> Shot:
        return new_shot(seed, split, f"odd {name}", iso2, taken)

    shots = [replace(shot(f"{kind} {iso2}", iso2), treatment=kind) for iso2, kind in DAMAGED[split]]
    shots += [replace(shot(f"overlay {iso2}", iso2), treatment="overlay") for iso2 in OVERLAYS[split]]
    for label in NAMIBIA_LABELS[split]:
        namibian = shot(f"label {label}", "NA")
        shots.append(replace(namibian, photo=replace(namibian.photo, country=label)))
    shots.append(replace(shot("row without image", "GB"), has_image=False))
    shots.append(replace(shot("image without row", "CA"), has_row=False))
    if train:
        original = train[0]
        other = new_shot(seed, split, "odd copy", original.photo.place.iso2, taken).photo
        photo = replace(original.photo, id=other.id, sequence=other.sequence)
        shots.append(replace(original, photo=photo))
    return shots


def burn_in(image: Image.Image, photo: Photo) -> Image.Image:
    """A dash camera's strip along the bottom with position, date and speed."""
    image = image.copy()
    pen = ImageDraw.Draw(image)
    top = image.height - STRIP_PX
    pen.rectangle([0, top, image.width, image.height], fill=(8, 8, 8))
    north, east = "N" if photo.latitude >= 0 else "S", "E" if photo.longitude >= 0 else "W"
    position = f"{abs(photo.latitude):.5f} {north}  {abs(photo.longitude):.5f} {east}"
    text = f"{position}   2019/05/04 11:52:07   48 km/h"
    pen.text((10, top + STRIP_PX / 2), text, font=font("Latin", 20), fill=(245, 245, 245), anchor="lm")
    return image


def spoil(jpeg: bytes, treatment: Treatment) -> bytes:
    """The bytes of a damaged member.

    >>> len(spoil(bytes(100), "truncated")), len(spoil(bytes(100), "empty"))
    (50, 0)
    """
    match treatment:
        case "truncated":
            return jpeg[: len(jpeg) // 2]
        case "empty":
            return b""
        case "not an image":
            return b"<html><body>503 Service Unavailable</body></html>\n"
    return jpeg
