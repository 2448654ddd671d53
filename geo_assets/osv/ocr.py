"""Reading digits with RapidOCR, where the optional `ocr` extra is installed.

Only asked about strips that `overlays.py` finds doubtful, because it takes half a second.
"""

from __future__ import annotations

import importlib.util
import logging
from functools import cache
from typing import Any

import numpy as np

MIN_DIGITS = 4
SCALE = 2


def available() -> bool:
    """Whether the `ocr` extra is installed."""
    return importlib.util.find_spec("rapidocr_onnxruntime") is not None


@cache
def _engine() -> Any:
    from rapidocr_onnxruntime import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.WARNING)
    return RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)


def has_digits(strip: np.ndarray) -> bool:
    """Whether a strip of brightness (h, w), uint8, shows at least MIN_DIGITS digits."""
    large = np.repeat(np.repeat(strip, SCALE, axis=0), SCALE, axis=1)
    found, _ = _engine()(np.repeat(large[:, :, None], 3, axis=2))
    text = "".join(line[1] for line in found or [])
    return sum(character.isdigit() for character in text) >= MIN_DIGITS
