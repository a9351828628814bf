"""What random operators draw: real numbers, or complex ones, whose parts are drawn beside each other.

Each draw takes the next key of a generator. On the host, where nobody listens, a key is no tensor but the two numbers that it
holds, and kernels get these: for few elements a tensor of them takes as long as what is drawn.
"""

from math import sqrt

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import DTypeError
from ....ir.opdef.aval import Aval
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import random as rn
from ....ir.ops.core.complex_numbers import of_pairs
from ...core.backend import HOST
from ...core.device import CPU
from ...core.dispatch import KERNELS, kernel_of
from ...core.random import default_generator, draw_key, draw_key_beside, key_at
from ...core.state import Defaults, tls
from ...core.tensor import Tensor, wrap
from ...memo.compile_threshold import LEAST


def float_dtype(dtype, takes_complex=False) -> dt.DType:
    """Return the dtype asked for, or the default; it must be floating point, or perhaps complex."""
    d = Defaults.dtype if dtype is None else dt.as_dtype(dtype)
    if not (d.is_floating_point or (takes_complex and d.is_complex)):
        raise DTypeError(f"random floats are made in floating point dtypes, not in {d}; use randint")
    return d


def is_here(device) -> bool:
    """Return whether a device, or the default one for None, is the host."""
    return device is CPU or (device is None and Defaults.device == "cpu")


def next_drawn(op, generator, device, **params) -> Tensor:
    """What an operator draws with the next key of a generator (of the default one unless said), on a device."""
    if is_here(device) and not tls.m.special:
        return _drawn_here(op, generator, params)
    return op.call(draw_key(generator, device), **params)


def next_drawn_beside(op, t: Tensor, generator, **params) -> Tensor:
    """Return the same, where a tensor is."""
    if t._a.__class__ is np.ndarray and not tls.m.special:
        return _drawn_here(op, generator, params)
    return op.call(draw_key_beside(t, generator), **params)


def _drawn_here(op, generator, params) -> Tensor:
    """Return the same, on the host where nobody listens."""
    place, kind = (generator or default_generator).reserve(1), (op, *params.items())
    try:
        if kind not in _accepted:
            _accept(kind, op, params)
        return wrap((KERNELS.get(op) or kernel_of(op))(place, **params))
    except Exception:       # the door says what is wrong
        return op.call(key_at(place), **params)


def _accept(kind, op, params):
    """Ask the shape rule for a kind of draw, and remembers if it found nothing."""
    op.infer(_KEY, **params)
    if len(_accepted) >= _MOST_ACCEPTED:
        _accepted.clear()
    _accepted.add(kind)


_KEY = Aval((2,), dt.uint64)
_accepted: set = set()      # draws that their shape rules accepted, by operator and parameters
_MOST_ACCEPTED = 1024


def next_numbers(draw, generator, device, shape, dtype) -> Tensor:
    """Return real or complex numbers that an operator draws with the next key of a generator, on a device."""
    if is_here(device) and not tls.m.special and not dtype.is_complex:
        return _drawn_here(draw, generator, {"shape": shape, "dtype": dtype})
    return drawn(draw, draw_key(generator, device), shape, dtype)


SCALED = (dt.float32, dt.float64)      # dtypes that are drawn, scaled and shifted in one sweep


def fill_with_next(draw, generator, factor, summand, a):
    """Fill an array in a row, of such a dtype, with what an operator draws with the next key of a generator, times a factor,
    plus a summand; on the host, where nobody listens."""
    place = (generator or default_generator).reserve(1)
    kernel_of(draw)(place, shape=a.shape, dtype=dt.BY_NP[a.dtype], out=a, scaled=(factor, summand))


def made_of_next(fn, generator, device, *tensors, **params):
    """fn(key, *tensors, **params), which makes one tensor or several of a generator's next key by operators, and of which there
    are no gradients: for a device, or where the tensors are. Where nobody listens it runs on arrays, and as one graph once such
    calls came often."""
    key = draw_key_beside(tensors[0], generator) if tensors else draw_key(generator, device)
    m = tls.m
    if m.special or key._a.__class__ is not np.ndarray:
        return fn(key, *tensors, **params)
    arrays = (key._a, *[t._a for t in tensors])
    run = HOST.drawn_by(fn).find(arrays, params, LEAST)
    made = m.run(fn, *arrays, **params) if run is None else run(arrays)
    return tuple(map(wrap, made)) if made.__class__ is tuple else wrap(made)


def drawn(draw, key, shape, dtype):
    """Return numbers that an operator draws. The parts of complex ones are independent; of normal ones they share the
    variance."""
    if not dtype.is_complex:
        return draw.call(key, shape=shape, dtype=dtype)
    parts = draw.call(key, shape=(*shape, 2), dtype=dt.float32 if dtype is dt.complex64 else dt.float64)
    if draw is rn.normal:
        parts = ew.mul(parts, sqrt(0.5))
    return of_pairs(parts)
