"""Windows for signals, built from operators, so that lengths may be symbolic: Hann, Hamming, Bartlett, Blackman, Kaiser."""

import math

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ...ir.opdef.aval import one_integer
from ...ir.ops.core import elementwise as ew
from ...ir.ops.math import bessel
from ...ir.symbols.substitute import as_float
from ..api.register.layouts import require_strided
from ..api.register.register import api
from ..api.views.tensor_factories import filled, finish, of_counts, require_device
from ..state.mode import Defaults


def window(name, values, length, periodic, dtype, device, requires_grad, pin_memory=False):
    """Return a window: values(positions, last) in float64, for a symmetric one that ends at `last`. A periodic window is the
    symmetric one of one more point, without its last value."""
    require_device(device)
    d = Defaults.dtype if dtype is None else dt.as_dtype(dtype)
    if not d.is_floating_point:
        raise DTypeError(f"{name} makes floating point tensors, got dtype={d.name}")
    length = one_integer(length, f"the length of {name}")
    if length < 0:
        raise ArgumentError(f"{name} takes a number of points of at least 0, got {length}")
    if length < 2:
        made = filled(None, (length,), 1.0, d)
    else:
        made = of_counts(_formed, length, values, as_float(length - 1 + bool(periodic)), d)
    return finish(made, None, requires_grad, name, device, pin_memory)


def _formed(count, length, values, last, d):
    return ew.cast(values(count(length, dt.float64), last), dtype=d)


def cosines(weights):
    """Return a function for the sum over k of (-1)^k weights[k] cos(2 pi k n / last)."""

    def values(n, last):
        total = None
        for k, weight in enumerate(weights):
            part = ew.mul(ew.cos(ew.mul(n, 2 * math.pi * k / last)), (-1) ** k * float(weight))
            total = part if total is None else ew.add(total, part)
        return total

    return values


def triangle(n, last):
    """Return the values of a triangle that is 0 at its ends."""
    return ew.sub(1.0, ew.abs_(ew.sub(ew.mul(n, 2.0 / last), 1.0)))


def kaisers(beta):
    """Return a function for the values of a Kaiser window."""

    def values(n, last):
        side = ew.sub(ew.mul(n, 2.0 / last), 1.0)
        inside = ew.maximum(ew.sub(1.0, ew.mul(side, side)), 0.0)
        return ew.div(bessel.i0(ew.mul(ew.sqrt(inside), beta)), float(np.i0(beta)))

    return values


@api(method=False)
def hann_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a raised cosine that is 0 at its ends."""
    require_strided("hann_window", layout)
    return window("hann_window", cosines((0.5, 0.5)), window_length, periodic, dtype, device, requires_grad, pin_memory)


@api(method=False)
def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, layout=None, device=None,
                   requires_grad=False, pin_memory=False):
    """Return alpha - beta * cos(2 pi n / N)."""
    require_strided("hamming_window", layout)
    return window("hamming_window", cosines((alpha, beta)), window_length, periodic, dtype, device, requires_grad, pin_memory)


@api(method=False)
def bartlett_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False,
                    pin_memory=False):
    """Return a triangle that is 0 at its ends."""
    require_strided("bartlett_window", layout)
    return window("bartlett_window", triangle, window_length, periodic, dtype, device, requires_grad, pin_memory)


@api(method=False)
def blackman_window(window_length, periodic=True, *, dtype=None, layout=None, device=None, requires_grad=False,
                    pin_memory=False):
    """Return a sum of two cosines with small side lobes."""
    require_strided("blackman_window", layout)
    return window("blackman_window", cosines((0.42, 0.5, 0.08)), window_length, periodic, dtype, device, requires_grad,
                  pin_memory)


@api(method=False)
def kaiser_window(window_length, periodic=True, beta=12.0, *, dtype=None, layout=None, device=None, requires_grad=False,
                  pin_memory=False):
    """Return a Kaiser window; beta trades the width of the main lobe for the height of the others."""
    require_strided("kaiser_window", layout)
    return window("kaiser_window", kaisers(float(beta)), window_length, periodic, dtype, device, requires_grad, pin_memory)
