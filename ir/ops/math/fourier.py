"""Discrete Fourier transforms. `norm` names the direction that is divided by the number of elements, as in numpy."""

import numpy as np

from ... import dtype as dt
from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import ALONG
from ...opdef.op import Host, op
from ...opdef.param_checks import check_choice, check_dim, check_dims, check_flag, check_int
from ...symbols.symbolic import hint
from ..core import elementwise as ew
from ..core.complex_numbers import PARTS, WHOLES, conj
from ..core.shape import iota

_OTHER_WAY = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def check_norm(norm):
    """Raise unless a norm names the direction that is divided."""
    check_choice(norm, tuple(_OTHER_WAY), "norm")


def _check_count(x, dim):
    if hint(x.shape[dim]) == 0:
        raise ShapeError(f"a transform needs at least one number, got {x} along dim {dim}")


def _infer_fft(x, *, dim, inverse, norm):
    if x.dtype not in PARTS:
        raise DTypeError(f"fft takes complex numbers, got {x}")
    check_flag(inverse, "inverse")
    check_norm(norm)
    for d in check_dims(dim, x.ndim):
        _check_count(x, d)
    return x


def _fft(x, *, dim, inverse, norm):
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=dim, norm=norm).astype(x.dtype, copy=False)


def _infer_rfft(x, *, dim, norm):
    if x.dtype not in WHOLES:
        raise DTypeError(f"rfft takes float32 or float64, got {x}")
    check_norm(norm)
    _check_count(x, check_dim(dim, x.ndim))
    return x.with_shape(_with_size(x.shape, dim, x.shape[dim] // 2 + 1)).with_dtype(WHOLES[x.dtype])


def _rfft(x, *, dim, norm):
    return np.fft.rfft(x, axis=dim, norm=norm).astype(np.result_type(x.dtype, np.complex64), copy=False)


def _rfft_vjp(g, out, x, *, dim, norm):
    """Transform with zeros as the other half of the frequencies and take real parts: half of the conjugate-symmetric result."""
    back, n = conj(g), x.shape[dim]
    return irfft(ew.where(_stand_alone(g, dim, n), back, ew.mul(back, 0.5)), dim=dim, n=n, norm=_OTHER_WAY[norm])


def _infer_irfft(x, *, dim, n, norm):
    if x.dtype not in PARTS:
        raise DTypeError(f"irfft takes complex numbers, got {x}")
    check_norm(norm)
    check_int(n, "n", 1)
    check_dim(dim, x.ndim)
    if x.shape[dim] != n // 2 + 1:
        raise ShapeError(f"irfft to {n} numbers takes {n // 2 + 1} frequencies, got {x}")
    return x.with_shape(_with_size(x.shape, dim, n)).with_dtype(PARTS[x.dtype])


def _irfft(x, *, dim, n, norm):
    return np.fft.irfft(x, n=n, axis=dim, norm=norm).astype(x.real.dtype, copy=False)


def _irfft_vjp(g, out, x, *, dim, n, norm):
    found = rfft(g, dim=dim, norm=_OTHER_WAY[norm])
    return ew.where(_stand_alone(found, dim, n), found, ew.mul(found, 2.0))


def _stand_alone(x, dim, n):
    """Return the frequencies of n real numbers that have no conjugate: the first, and the last if n is even."""
    at = iota(x, shape=x.shape, dim=dim, dtype=dt.int64)
    return ew.eq(at, 0) if n % 2 else ew.logical_or(ew.eq(at, 0), ew.eq(at, n // 2))


def _with_size(shape, dim, size):
    return (*shape[:dim], size, *shape[dim + 1:])


fft = op("fft", infer=_infer_fft, ref=_fft,
         vjp=(lambda g, out, x, *, dim, inverse, norm: fft(g, dim=dim, inverse=inverse, norm=norm),), lower=Host(), batch=ALONG,
         doc="The transform of complex numbers along some dimensions, or its inverse.")
rfft = op("rfft", infer=_infer_rfft, ref=_rfft, vjp=(_rfft_vjp,), lower=Host(), batch=ALONG,
          doc="The transform of real numbers along one dimension: frequencies from 0 to half of all.")
irfft = op("irfft", infer=_infer_irfft, ref=_irfft, vjp=(_irfft_vjp,), lower=Host(), batch=ALONG,
           doc="The real numbers, n along a dimension, that have these frequencies.")
