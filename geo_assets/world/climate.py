"""What a Köppen climate class looks like from the road: vegetation, verge, sky, hills.

Colours are RGB in 0–255. Classes that look alike share a row. Left out: seasons other than
what the sun's height says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

RGB = tuple[int, int, int]


@dataclass(frozen=True)
class Climate:
    """Vegetation (a kind listed twice is twice as common) and the colours of ground and sky."""

    vegetation: tuple[str, ...]
    verge: RGB
    sky_top: RGB
    sky_bottom: RGB
    hill: RGB


_CLIMATES = {
    "Af": Climate(("palm", "palm", "broad"), (62, 128, 52), (95, 160, 225), (205, 225, 235), (60, 110, 60)),
    "Am": Climate(("palm", "broad", "palm"), (92, 130, 58), (95, 160, 225), (205, 225, 235), (70, 115, 60)),
    "Aw": Climate(
        ("palm", "acacia", "broad"), (178, 106, 62), (90, 155, 230), (215, 225, 225), (120, 120, 70)
    ),
    "BWh": Climate(
        ("shrub", "palm", "none"), (222, 196, 138), (120, 175, 235), (235, 225, 200), (200, 170, 120)
    ),
    "BWk": Climate(
        ("shrub", "none", "shrub"), (200, 178, 140), (110, 170, 235), (225, 225, 215), (170, 145, 115)
    ),
    "BSh": Climate(
        ("acacia", "shrub", "acacia"), (196, 150, 96), (105, 165, 232), (230, 225, 205), (165, 135, 95)
    ),
    "BSk": Climate(
        ("shrub", "broad", "shrub"), (186, 172, 110), (100, 160, 230), (222, 226, 222), (150, 140, 100)
    ),
    "Csa": Climate(
        ("cypress", "olive", "olive"), (190, 172, 104), (80, 150, 235), (200, 222, 238), (125, 135, 85)
    ),
    "Csb": Climate(
        ("cypress", "conifer", "olive"), (160, 160, 90), (90, 155, 230), (205, 222, 235), (100, 125, 85)
    ),
    "Cfa": Climate(
        ("broad", "broad", "cypress"), (112, 150, 70), (95, 155, 228), (205, 220, 235), (80, 120, 75)
    ),
    "Cwa": Climate(
        ("broad", "palm", "broad"), (140, 140, 76), (110, 160, 222), (215, 222, 228), (95, 120, 75)
    ),
    "Cwb": Climate(
        ("broad", "acacia", "shrub"), (156, 140, 80), (90, 150, 230), (210, 222, 232), (110, 120, 75)
    ),
    "Cfb": Climate(
        ("broad", "broad", "conifer"), (84, 152, 66), (140, 165, 195), (212, 218, 224), (85, 125, 80)
    ),
    "Dfa": Climate(
        ("broad", "birch", "broad"), (138, 142, 76), (120, 160, 215), (212, 220, 228), (100, 120, 80)
    ),
    "Dfb": Climate(
        ("birch", "conifer", "broad"), (112, 138, 78), (135, 165, 205), (212, 220, 228), (75, 105, 80)
    ),
    "Dfc": Climate(
        ("conifer", "conifer", "birch"), (126, 132, 92), (150, 172, 200), (218, 224, 230), (60, 90, 75)
    ),
}
_LOOKS_LIKE = {
    "As": "Aw", "Cfc": "Dfc", "Csc": "Csb", "Cwc": "Cwb", "Dwa": "Dfa", "Dwb": "Dfb", "Dwc": "Dfc",
    "Dsa": "Dfa", "Dsb": "Dfb", "Dsc": "Dfc", "Dfd": "Dfc", "Dwd": "Dfc", "ET": "Dfc", "EF": "Dfc",
}  # fmt: skip

_AMERICAS, _ASIA, _EUROPE = ("AR", "BR", "CA", "MX", "US"), ("ID", "TH", "TW"), ("ES", "GR")
_LOCAL_VEGETATION: dict[tuple[str, str], tuple[str, ...]] = {
    **{(iso2, "Aw"): ("palm", "broad", "broad") for iso2 in _AMERICAS + _ASIA},
    **{(iso2, "Cwb"): ("broad", "conifer", "shrub") for iso2 in _AMERICAS},
    **{(iso2, "BSh"): ("shrub", "cactus", "cactus") for iso2 in _AMERICAS},
    **{(iso2, "BWh"): ("shrub", "cactus", "none") for iso2 in _AMERICAS},
    **{(iso2, "BSh"): ("olive", "shrub", "palm") for iso2 in _EUROPE},
    **{(iso2, "Cfa"): ("broad", "broad", "conifer") for iso2 in ("JP", "KR", "US")},
    **{(iso2, "Cfa"): ("broad", "palm", "broad") for iso2 in ("BR", "TW")},
    **{("AU", koppen): ("eucalypt", "broad", "eucalypt") for koppen in ("Cfa", "Cfb", "Cwa")},
    **{("AU", koppen): ("eucalypt", "eucalypt", "shrub") for koppen in ("Csa", "Csb", "BSh", "BSk")},
    ("AU", "Aw"): ("eucalypt", "palm", "eucalypt"),
}
"""Where a country's plants differ from what its climate class has elsewhere."""

VEGETATION_WORDS = {
    "palm": "palms",
    "broad": "broadleaf",
    "acacia": "acacia",
    "shrub": "shrubs",
    "none": "bare",
    "cypress": "cypress",
    "olive": "olives",
    "conifer": "conifers",
    "birch": "birches",
    "eucalypt": "gum trees",
    "cactus": "cacti",
}
"""Kind of vegetation -> the word that the clue text uses."""

MAX_DECLINATION_DEG = 23.4


def climate(koppen: str) -> Climate:
    """The look of a Köppen class.

    >>> climate("BWh").vegetation
    ('shrub', 'palm', 'none')
    """
    return _CLIMATES[_LOOKS_LIKE.get(koppen, koppen)]


def local_vegetation(iso2: str, koppen: str) -> tuple[str, ...]:
    """The kinds of plants at a place: a kind listed twice is twice as common.

    >>> local_vegetation("KE", "BSh"), local_vegetation("MX", "BSh")
    (('acacia', 'shrub', 'acacia'), ('shrub', 'cactus', 'cactus'))
    """
    alike = _LOOKS_LIKE.get(koppen, koppen)
    return _LOCAL_VEGETATION.get((iso2, alike), _CLIMATES[alike].vegetation)


def noon_sun(lat_deg: float, year_share: float) -> tuple[str, float]:
    """Side of the sky ("south" or "north") and height in degrees of the sun at noon.

    `year_share` in [0, 1) counts from the March equinox; the declination is a sine wave.

    >>> noon_sun(60.0, 0.25)
    ('south', 53.4)
    >>> noon_sun(-34.0, 0.75)[0]
    'north'
    """
    declination_deg = MAX_DECLINATION_DEG * math.sin(year_share * 2 * math.pi)
    side = "south" if lat_deg > declination_deg else "north"
    return side, round(90 - abs(lat_deg - declination_deg), 6)
