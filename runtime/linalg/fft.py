"""`ingot.fft`: discrete Fourier transforms of float32, float64 and complex tensors, with gradients."""

from functools import partial

from ...ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ...ir.opdef.aval import canonical_dim, integers
from ...ir.ops.core import complex_numbers as co
from ...ir.ops.core.shape import pad, slice_
from ...ir.ops.math import fourier as fo
from ...ir.suggestions import unknown_choice
from ..api.register.layouts import require_strided
from ..api.register.register import FUNCTIONS, deliver, rename_all
from ..api.register.type_promotion import widened
from ..api.views.ranges import arange
from ..state.mode import Defaults, tls

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
           "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]

_NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}


def _norm(norm, name):
    if norm not in _NORMS:
        raise unknown_choice(f"{name}: norm", norm, ("backward", "ortho", "forward"))
    return _NORMS[norm]


def _as_float(x, name):
    """Return a real or complex tensor in a dtype that transforms take."""
    if not x.dtype.is_inexact:
        return x.to(Defaults.dtype)
    if tls.m.autocast is not None:
        x = widened(x)
    if x.dtype not in co.PARTS and x.dtype not in co.WHOLES:
        raise DTypeError(f"{name} does not take {x.dtype.name}; cast with .float()")
    return x


def _as_complex(x, name):
    x = _as_float(x, name)
    return x if x.dtype.is_complex else x.to(co.WHOLES[x.dtype])


def _as_real(x, name):
    if x.dtype.is_complex:
        raise DTypeError(f"{name} takes a real tensor, got {x.aval}")
    return _as_float(x, name)


def _sized(x, d, n, name):
    """Truncate a dimension, or pad it with zeros, to a size."""
    have = x.shape[d]
    size = have if n is None else n
    if size < 1:
        raise ShapeError(f"{name} takes at least one number along dim {d}, got {size}")
    if size < have:
        return slice_(x, dim=d, start=0, stop=size, step=1)
    nothing = (0,) * x.ndim
    return x if size == have else pad(x, low=nothing, interior=nothing, value=0,
                                      high=tuple([size - have if i == d else 0 for i in range(x.ndim)]))


def _dims(x, s, dim, name):
    """Return (dims, sizes) of a transform along several dims."""
    s = None if s is None else integers(s, "s")
    if dim is None:
        dim = range(x.ndim) if s is None else range(-len(s), 0)
    dim = integers(dim, "dim")
    if dim and not x.ndim:
        raise DimError(f"{name}: dim {dim[0]} of a tensor that has no dimensions")
    dims = tuple([canonical_dim(d, x.ndim) for d in dim])
    if len(set(dims)) < len(dims):
        raise ArgumentError(f"{name}: the dims {tuple(dim)} are not all different")
    sizes = (None,) * len(dims) if s is None else tuple([None if n == -1 else n for n in s])
    if len(sizes) != len(dims):
        raise ArgumentError(f"{name}: {len(sizes)} sizes for {len(dims)} dims")
    return dims, sizes


def _one(n, dim, name):
    """Return the sizes of a transform along one dim, where -1 does not stand for the dim's own size."""
    if n == -1:
        raise ShapeError(f"{name} takes at least one number along dim {dim}, got -1")
    return None if n is None else (n,)


def _whole(input, s, dim, norm, out, name, inverse):
    x = _as_complex(input, name)
    dims, sizes = _dims(x, s, dim, name)
    for d, n in zip(dims, sizes):
        x = _sized(x, d, n, name)
    return deliver(fo.fft(x, dim=dims, inverse=inverse, norm=_norm(norm, name)) if dims else x, out, name)


def _half(input, s, dim, norm, out, name):
    x = _as_real(input, name)
    dims, sizes = _dims(x, s, dim, name)
    if not dims:
        raise ShapeError(f"{name} needs a dimension to transform along")
    for d, n in zip(dims, sizes):
        x = _sized(x, d, n, name)
    found = fo.rfft(x, dim=dims[-1], norm=_norm(norm, name))
    return deliver(fo.fft(found, dim=dims[:-1], inverse=False, norm=_norm(norm, name)) if dims[1:] else found, out, name)


def _of_half(input, s, dim, norm, out, name):
    x = _as_complex(input, name)
    dims, sizes = _dims(x, s, dim, name)
    if not dims:
        raise ShapeError(f"{name} needs a dimension to transform along")
    n = 2 * (x.shape[dims[-1]] - 1) if sizes[-1] is None else sizes[-1]
    if n < 1:
        raise ShapeError(f"{name} takes at least one number along dim {dims[-1]}, got {n}")
    for d, size in zip(dims, (*sizes[:-1], n // 2 + 1)):
        x = _sized(x, d, size, name)
    if dims[1:]:
        x = fo.fft(x, dim=dims[:-1], inverse=True, norm=_norm(norm, name))
    return deliver(fo.irfft(x, dim=dims[-1], n=n, norm=_norm(norm, name)), out, name)


_OTHER_WAY = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hermitian(input, s, dim, norm, out, name):
    _norm(norm, name)
    return _of_half(FUNCTIONS["conj"](input), s, dim, _OTHER_WAY[norm], out, name)


def _inverse_hermitian(input, s, dim, norm, out, name):
    _norm(norm, name)
    return deliver(co.conj(_half(input, s, dim, _OTHER_WAY[norm], None, name)), out, name)


def _transforms(name, compute, along_one, along_several):
    """Return a transform along one dim, along several, and along two; the texts are the first two docstrings."""

    def one(input, n=None, dim=-1, norm=None, *, out=None):
        return compute(input, _one(n, dim, name), (dim,), norm, out, name)

    def several(input, s=None, dim=None, norm=None, *, out=None):
        return compute(input, s, dim, norm, out, f"{name}n")

    def two(input, s=None, dim=(-2, -1), norm=None, *, out=None):
        return compute(input, s, dim, norm, out, f"{name}2")

    for function, suffix, doc in ((one, "", along_one), (several, "n", along_several),
                                  (two, "2", f"Compute `{name}n` along two dims.")):
        function.__name__ = function.__qualname__ = name + suffix
        function.__doc__ = doc
    return one, several, two


fft, fftn, fft2 = _transforms(
    "fft", partial(_whole, inverse=False), "Transform along a dim, truncated or padded with zeros to n.",
    "Transform along dims: by default all, or as many last ones as `s` has sizes.")
ifft, ifftn, ifft2 = _transforms(
    "ifft", partial(_whole, inverse=True), "Compute the inverse of `fft`.", "Compute the inverse of `fftn`.")
rfft, rfftn, rfft2 = _transforms(
    "rfft", _half, "Return the n // 2 + 1 frequencies of real numbers; the others are their conjugates.",
    "Compute `fftn` of real numbers: half of the frequencies along the last of the dims.")
irfft, irfftn, irfft2 = _transforms(
    "irfft", _of_half, "Compute the inverse of `rfft`: n real numbers, by default an even number of them.",
    "Compute the inverse of `rfftn`.")
hfft, hfftn, hfft2 = _transforms(
    "hfft", _hermitian, "Return the real transform of the first half of conjugate symmetric numbers.",
    "Return the real transform along dims of conjugate symmetric numbers, halved along the last of the dims.")
ihfft, ihfftn, ihfft2 = _transforms(
    "ihfft", _inverse_hermitian, "Compute the inverse of `hfft`.", "Compute the inverse of `hfftn`.")


# Frequencies.


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Return the frequencies of `fft`, for samples at distance d: 0 first, then rising, then the negative ones."""
    require_strided("fftfreq", layout)
    at = arange(n, device=device)
    found = FUNCTIONS["where"](at < (n + 1) // 2, at, at - n).to(dtype or Defaults.dtype) * (1.0 / (max(n, 1) * d))
    return deliver(found.requires_grad_() if requires_grad else found, out, "fftfreq")


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Return the frequencies of `rfft`."""
    require_strided("rfftfreq", layout)
    found = arange(n // 2 + 1, device=device).to(dtype or Defaults.dtype) * (1.0 / (max(n, 1) * d))
    return deliver(found.requires_grad_() if requires_grad else found, out, "rfftfreq")


def _rolled(input, dim, half):
    dims = tuple(range(input.ndim)) if dim is None else integers(dim, "dim")
    return FUNCTIONS["roll"](input, tuple([half(input.shape[d]) for d in dims]), dims)


def fftshift(input, dim=None):
    """Move frequency 0 to the middle of the dims."""
    return _rolled(input, dim, lambda n: n // 2)


def ifftshift(input, dim=None):
    """Undo `fftshift`."""
    return _rolled(input, dim, lambda n: -(n // 2))


rename_all(globals())
