"""`ingot.signal.windows`: windows of M points, symmetric (for filters), or with sym=False periodic (for spectra)."""

import math

from ...ir.errors import ArgumentError
from ...ir.opdef.aval import one_integer
from ...ir.ops.core import elementwise as ew
from ..api.register.layouts import strided
from ..core.tensor import Tensor
from .window_functions import cosines, kaisers, triangle, window

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]


def _window(name, values, M, sym, dtype, layout, device, requires_grad) -> Tensor:
    """Return a window: values(positions, last position of a symmetric one)."""
    if layout != strided:
        raise ArgumentError(f"{name} makes strided tensors, got layout={layout!r}")
    M = one_integer(M, "M")
    return window(name, values, M, not sym, dtype, device, requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Return exp(-|n - center| / tau). A periodic window is centred in the middle; `center` moves that."""
    if tau <= 0:
        raise ArgumentError(f"exponential: tau must be positive, got {tau}")
    if sym and center is not None:
        raise ArgumentError("exponential: center is for periodic windows (sym=False); a symmetric one has it in the middle")

    def values(n, last):
        return ew.exp(ew.mul(ew.abs_(ew.sub(n, last / 2 if center is None else float(center))), -1 / tau))

    return _window("exponential", values, M, sym, dtype, layout, device, requires_grad)


def _fixed(name, values, doc):
    """Return the function of a window without parameters."""

    def function(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
        return _window(name, values, M, sym, dtype, layout, device, requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Return exp(-((n - center) / std)^2 / 2)."""
    if std <= 0:
        raise ArgumentError(f"gaussian: std must be positive, got {std}")

    def values(n, last):
        side = ew.mul(ew.sub(n, last / 2), 1 / std)
        return ew.exp(ew.mul(ew.mul(side, side), -0.5))

    return _window("gaussian", values, M, sym, dtype, layout, device, requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Return a Kaiser window; beta trades the width of the main lobe for the height of the others."""
    if beta < 0:
        raise ArgumentError(f"kaiser: beta must be at least 0, got {beta}")
    return _window("kaiser", kaisers(float(beta)), M, sym, dtype, layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Return the sum over k of (-1)^k a[k] cos(2 pi k n / (N - 1))."""
    if not isinstance(a, (list, tuple)) or not a:
        raise ArgumentError(f"general_cosine: a must be a sequence of coefficients that is not empty, got {a!r}")
    return _window("general_cosine", cosines(a), M, sym, dtype, layout, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Return alpha - (1 - alpha) cos(2 pi n / (N - 1))."""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


cosine = _fixed("cosine", lambda n, last: ew.sin(ew.mul(ew.add(n, 0.5), math.pi / (last + 1))), "Return half a sine.")
hamming = _fixed("hamming", cosines([0.54, 1 - 0.54]), "Return a raised cosine that is 0.08 at its ends.")
hann = _fixed("hann", cosines([0.5, 0.5]), "Return a raised cosine that is 0 at its ends.")
blackman = _fixed("blackman", cosines([0.42, 0.5, 0.08]), "Return a sum of two cosines with small side lobes.")
nuttall = _fixed("nuttall", cosines([0.3635819, 0.4891775, 0.1365995, 0.0106411]),
                 "Return a sum of three cosines with very small side lobes.")
bartlett = _fixed("bartlett", triangle, "Return a triangle that is 0 at its ends.")
