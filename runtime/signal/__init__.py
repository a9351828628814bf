"""`ingot.signal`: short-time Fourier transforms and windows for spectra and filters.

Way in: `ingot.stft`, `ingot.istft`, `ingot.hann_window`, `ingot.signal.windows`.
"""

from . import windows

__all__ = ["windows"]
