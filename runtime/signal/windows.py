"""`ingot.signal.windows`: windows of M points, symmetric ones (for filters), or with sym=False periodic ones (for spectra)."""

import math

import numpy as np

from ...ir import dtype as dt
from ...ir.aval import integers
from ...ir.errors import ArgumentError, DTypeError
from ..api.creation import made, require_device
from ..api.layouts import strided
from ..creation import as_array_tensor
from ..placement import put
from ..state import Defaults
from ..tensor import Tensor

__all__ = ["bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
           "kaiser", "nuttall"]


def _made(name, values, M, sym, dtype, layout, device, requires_grad) -> Tensor:
    """A window: values(positions, length) for M points of a symmetric window of M, or of M + 1."""
    require_device(device)
    d = Defaults.dtype if dtype is None else dt.as_dtype(dtype)
    if not d.is_floating_point:
        raise DTypeError(f"{name} makes floating point tensors, got dtype={d}")
    if layout != strided:
        raise ArgumentError(f"{name} makes strided tensors, got layout={layout!r}")
    M, = integers(M, "M")
    if M < 0:
        raise ArgumentError(f"{name} takes a number of points of at least 0, got {M}")
    found = np.ones(M) if M < 2 else values(np.arange(M, dtype=np.float64), M if sym else M + 1)
    window = put(made(as_array_tensor(found.astype(d.np))), device)
    return window.requires_grad_() if requires_grad else window


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """exp(-|n - center| / tau); a periodic window has its center in the middle, which `center` moves."""
    if tau <= 0:
        raise ArgumentError(f"exponential: tau must be positive, got {tau}")
    if sym and center is not None:
        raise ArgumentError("exponential: center is for periodic windows (sym=False); a symmetric one has it in the middle")
    return _made("exponential", lambda n, size: np.exp(-np.abs(n - ((size - 1) / 2 if center is None else center)) / tau), M,
                 sym, dtype, layout, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Half a sine."""
    return _made("cosine", lambda n, size: np.sin(math.pi * (n + 0.5) / size), M, sym, dtype, layout, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """exp(-((n - center) / std)^2 / 2)"""
    if std <= 0:
        raise ArgumentError(f"gaussian: std must be positive, got {std}")
    return _made("gaussian", lambda n, size: np.exp(-0.5 * ((n - (size - 1) / 2) / std) ** 2), M, sym, dtype, layout, device,
                 requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """Made of a Bessel function; beta trades the width of the main lobe for the height of the others."""
    if beta < 0:
        raise ArgumentError(f"kaiser: beta must be at least 0, got {beta}")

    def values(n, size):
        return np.i0(beta * np.sqrt(np.maximum(0, 1 - (2 * n / (size - 1) - 1) ** 2))) / np.i0(beta)

    return _made("kaiser", values, M, sym, dtype, layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """sum over k of (-1)^k a[k] cos(2 pi k n / (N - 1))"""
    if not isinstance(a, (list, tuple)) or not a:
        raise ArgumentError(f"general_cosine: a must be a sequence of coefficients that is not empty, got {a!r}")

    def values(n, size):
        return sum((-1) ** k * c * np.cos(2 * math.pi * k * n / (size - 1)) for k, c in enumerate(a))

    return _made("general_cosine", values, M, sym, dtype, layout, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos(2 pi n / (N - 1))"""
    return general_cosine(M, a=[alpha, 1 - alpha], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A raised cosine that is 0.08 at its ends."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A raised cosine that is 0 at its ends."""
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A sum of two cosines with small side lobes."""
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device,
                          requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A sum of three cosines with very small side lobes."""
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout,
                          device=device, requires_grad=requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=strided, device=None, requires_grad=False):
    """A triangle that is 0 at its ends."""
    return _made("bartlett", lambda n, size: 1 - np.abs(2 * n / (size - 1) - 1), M, sym, dtype, layout, device, requires_grad)
