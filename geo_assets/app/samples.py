"""Example photos for the demo page, drawn by the demo's world at places training never saw.

Each carries its place as EXIF GPS, as a phone would write it, so that the page can show the distance; the
model never gets to see that.
"""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

from PIL import ExifTags, Image

from geo_assets.world.clues import COUNTRIES
from geo_assets.world.scene import draw_scene
from geo_assets.world.shots import new_shot

SEED = 20_240
SHOWN = ("JP", "BR", "KE", "SE", "IN", "AU", "MX", "GR")


def gps_exif(lat_deg: float, lon_deg: float) -> Image.Exif:
    """EXIF that holds a position in degrees, minutes and hundredths of seconds."""
    exif = Image.Exif()
    ifd = exif.get_ifd(ExifTags.IFD.GPSInfo)
    for number, value, letters in ((1, lat_deg, "NS"), (3, lon_deg, "EW")):
        minutes, seconds = divmod(abs(value) * 3600, 60)
        degrees, minutes = divmod(minutes, 60)
        ifd[number] = letters[value < 0]
        ifd[number + 1] = (float(degrees), float(minutes), float(Fraction(round(seconds * 100), 100)))
    return exif


def draw_samples(folder: Path, shown: tuple[str, ...] = SHOWN) -> list[Path]:
    """Draw one scene per country into `folder`; countries that the world lacks are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    paths: list[Path] = []
    for iso2 in shown:
        if iso2 not in COUNTRIES:
            continue
        shot = new_shot(SEED, "test", f"sample-{iso2}", iso2, taken)
        picture = draw_scene(random.Random(shot.drawing_seed), shot.clues)
        path = folder / f"scene-{len(paths) + 1}.jpg"
        place = shot.clues.place
        picture.save(path, "JPEG", quality=90, exif=gps_exif(place.lat_deg, place.lon_deg))
        paths.append(path)
    return paths
