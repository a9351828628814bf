"""Writers of Fourier transforms. A complex value is written as pairs of numbers in a last dimension of 2."""

import numpy as np

from ....ir.ops.core.complex_numbers import PARTS, complex_, imag, real
from ....ir.ops.math.fourier import fft, irfft, rfft
from ....ir.symbols.substitute import has_symbols
from .graph_writer import emits
from .size_formulas import FixedSize


def _is_written_as_pairs(node, opset) -> bool:
    """Return whether a complex operand is written as pairs."""
    return node.inputs[0].node is not None and node.inputs[0].node.op in (complex_, fft, rfft)


@emits(complex_)
def _complex(w, item, re, im):
    last = len(item.outputs[0].shape)
    return w.node("Concat", *[w.unsqueeze(w.name(x, item.outputs[0].dtype), [last]) for x in (re, im)], axis=last)


@emits(real, imag, when=_is_written_as_pairs)
def _part(w, item, z):
    return w.node("Gather", w.name(z), w.const(np.array(0 if item.op is real else 1, np.int64), "part"), axis=z.ndim)


def _transformed(w, name, dim, **options):
    if w.opset >= 20:
        return w.node("DFT", name, None, w.const(np.array(dim, np.int64), "axis"), **options)
    return w.node("DFT", name, axis=dim, **options)


def _scaled(w, name, norm, n, divided: bool, dtype):
    """Scale a transform as its norm requires; `divided` tells whether it is divided by n already."""
    power = {"backward": 0.0, "ortho": 0.5, "forward": 1.0}[norm]
    if not power:
        return name
    if has_symbols((n,)):
        raise FixedSize(f"the size {n}")
    return w.node("Mul", name, w.scalar(n ** (power if divided else -power), dtype))


@emits(rfft)
def _rfft(w, item, x, *, dim, norm):
    found = _transformed(w, w.unsqueeze(w.name(x), [x.ndim]), dim, onesided=1)
    return _scaled(w, found, norm, x.shape[dim], False, x.dtype)


@emits(fft, when=_is_written_as_pairs)
def _fft(w, item, z, *, dim, inverse, norm):
    name, real_dtype = w.name(z), PARTS[z.dtype]
    for d in dim if isinstance(dim, tuple) else (dim,):
        found = _transformed(w, name, d, inverse=1 if inverse else None)
        name = _scaled(w, found, norm, z.shape[d], inverse, real_dtype)
    return name


@emits(irfft, when=_is_written_as_pairs)
def _irfft(w, item, z, *, dim, n, norm):
    if has_symbols((n,)):
        raise FixedSize(f"the size {n}")
    whole, half = w.name(z), n // 2 + 1
    if n > half:            # the other frequencies are conjugates
        back = w.slice(whole, [n - half], [0], [dim], [-1])
        back = w.node("Mul", back, w.const(np.array([1, -1], item.outputs[0].dtype.np), "conjugate"))
        whole = w.node("Concat", whole, back, axis=dim)
    found = _transformed(w, whole, dim, inverse=1)
    found = w.node("Gather", found, w.const(np.array(0, np.int64), "part"), axis=z.ndim)
    return _scaled(w, found, norm, n, True, item.outputs[0].dtype)
