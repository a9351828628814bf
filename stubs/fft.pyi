"""The names of `ingot.fft`, and functions that factories build.

Made by `make stubs` from the live package; not edited by hand.
"""

from typing import Any

from .runtime.linalg.fft import fftfreq as fftfreq
from .runtime.linalg.fft import fftshift as fftshift
from .runtime.linalg.fft import ifftshift as ifftshift
from .runtime.linalg.fft import rfftfreq as rfftfreq

def fft(input, n=None, dim=-1, norm=None, *, out=None, axis=-1) -> Any:
    """Transform along a dim, truncated or padded with zeros to n."""
def fft2(input, s=None, dim=(-2, -1), norm=None, *, out=None, axis=(-2, -1)) -> Any:
    """Compute `fftn` along two dims."""
def fftn(input, s=None, dim=None, norm=None, *, out=None, axis=None) -> Any:
    """Transform along dims: by default all, or as many last ones as `s` has sizes."""
def hfft(input, n=None, dim=-1, norm=None, *, out=None, axis=-1) -> Any:
    """Return the real transform of the first half of conjugate symmetric numbers."""
def hfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None, axis=(-2, -1)) -> Any:
    """Compute `hfftn` along two dims."""
def hfftn(input, s=None, dim=None, norm=None, *, out=None, axis=None) -> Any:
    """Return the real transform along dims of conjugate symmetric numbers, halved along the last of the dims."""
def ifft(input, n=None, dim=-1, norm=None, *, out=None, axis=-1) -> Any:
    """Compute the inverse of `fft`."""
def ifft2(input, s=None, dim=(-2, -1), norm=None, *, out=None, axis=(-2, -1)) -> Any:
    """Compute `ifftn` along two dims."""
def ifftn(input, s=None, dim=None, norm=None, *, out=None, axis=None) -> Any:
    """Compute the inverse of `fftn`."""
def ihfft(input, n=None, dim=-1, norm=None, *, out=None, axis=-1) -> Any:
    """Compute the inverse of `hfft`."""
def ihfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None, axis=(-2, -1)) -> Any:
    """Compute `ihfftn` along two dims."""
def ihfftn(input, s=None, dim=None, norm=None, *, out=None, axis=None) -> Any:
    """Compute the inverse of `hfftn`."""
def irfft(input, n=None, dim=-1, norm=None, *, out=None, axis=-1) -> Any:
    """Compute the inverse of `rfft`: n real numbers, by default an even number of them."""
def irfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None, axis=(-2, -1)) -> Any:
    """Compute `irfftn` along two dims."""
def irfftn(input, s=None, dim=None, norm=None, *, out=None, axis=None) -> Any:
    """Compute the inverse of `rfftn`."""
def rfft(input, n=None, dim=-1, norm=None, *, out=None, axis=-1) -> Any:
    """Return the n // 2 + 1 frequencies of real numbers; the others are their conjugates."""
def rfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None, axis=(-2, -1)) -> Any:
    """Compute `rfftn` along two dims."""
def rfftn(input, s=None, dim=None, norm=None, *, out=None, axis=None) -> Any:
    """Compute `fftn` of real numbers: half of the frequencies along the last of the dims."""
