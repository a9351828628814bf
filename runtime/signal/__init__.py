"""`ingot.signal`: windows for spectra and filters."""

from . import windows

__all__ = ["windows"]
