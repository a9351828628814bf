"""Windows for signals: Hann, Hamming, Bartlett, Blackman, Kaiser."""

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ..creation import as_array_tensor
from ..placement import put
from ..state import Defaults
from .creation import made, require_device
from .register import api


def _window(name, values, window_length, periodic, dtype, device, requires_grad):
    """A window of some length; a periodic one is the symmetric one of one more, without its last value."""
    require_device(device)
    d = Defaults.dtype if dtype is None else dt.as_dtype(dtype)
    if not d.is_floating_point:
        raise DTypeError(f"{name} makes floating point tensors, got dtype={d}")
    if window_length < 0:
        raise ArgumentError(f"{name} takes a length of at least 0, got {window_length}")
    if window_length < 2:
        found = np.ones(window_length)
    else:
        found = values(window_length + bool(periodic))[:window_length]
    window = put(made(as_array_tensor(found.astype(d.np))), device)
    return window.requires_grad_() if requires_grad else window


@api(method=False)
def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A raised cosine that is 0 at its ends."""
    return _window("hann_window", np.hanning, window_length, periodic, dtype, device, requires_grad)


@api(method=False)
def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None,
                   requires_grad=False, pin_memory=False):
    """alpha - beta * cos(2 pi n / N)"""
    alpha, beta = float(alpha), float(beta)

    def values(n):
        return alpha - beta * np.cos(2 * np.pi * np.arange(n) / (n - 1))

    return _window("hamming_window", values, window_length, periodic, dtype, device, requires_grad)


@api(method=False)
def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False,
                    pin_memory=False):
    """A triangle that is 0 at its ends."""
    return _window("bartlett_window", np.bartlett, window_length, periodic, dtype, device, requires_grad)


@api(method=False)
def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False,
                    pin_memory=False):
    """A sum of two cosines with small side lobes."""
    return _window("blackman_window", np.blackman, window_length, periodic, dtype, device, requires_grad)


@api(method=False)
def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, requires_grad=False,
                  pin_memory=False):
    """Made of a Bessel function; beta trades the width of the main lobe for the height of the others."""
    return _window("kaiser_window", lambda n: np.kaiser(n, float(beta)), window_length, periodic, dtype, device, requires_grad)
