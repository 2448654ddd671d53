"""The product's own exceptions. Each message is one line that ends with the remedy.

A caller that sees a `GeoAssetsError` prints its message without a traceback and exits
non-zero; any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

import errno


def is_disk_full(error: BaseException | None) -> bool:
    """Whether an error, or what caused it, is a full disk; Rust libraries say so in their text alone.

    >>> is_disk_full(OSError(28, "No space left on device")), is_disk_full(ValueError("bad row"))
    (True, False)
    """
    while error is not None:
        if getattr(error, "errno", None) == errno.ENOSPC or "No space left on device" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


class GeoAssetsError(Exception):
    """Base of every error that a user can act on."""


class ProfileError(GeoAssetsError):
    """A profile is missing, mistyped or contradicts itself."""


class ArtifactError(GeoAssetsError):
    """An artifact is missing, damaged or being built by another process."""


class DataError(GeoAssetsError):
    """Source data is missing, unreadable or not what its format promises."""


class ModelError(GeoAssetsError):
    """A model, processor or adapter cannot be loaded or does not fit its use."""


class TrainingError(GeoAssetsError):
    """A training run cannot start or must not go on."""
