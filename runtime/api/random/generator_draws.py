"""Draws of random operators: real numbers, or complex ones, whose parts are drawn one after the other.

Each draw takes the next key of a generator. On the host, if nothing listens, kernels get the key as two numbers: for few
elements a tensor for it would take as long as the draw.
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
from ...core.dispatch import KERNELS, after_short_path, kernel_of
from ...core.random import chosen, draw_key, draw_key_on_device_of, key_at
from ...core.tensor import Tensor, wrap
from ...memo.call_recorder import MIN_CALLS
from ...state.mode import Defaults, tls


def float_dtype(dtype, takes_complex=False) -> dt.DType:
    """Return the given dtype, or the default; raise unless it is floating point, or complex if allowed."""
    d = Defaults.dtype if dtype is None else dt.as_dtype(dtype)
    if not (d.is_floating_point or (takes_complex and d.is_complex)):
        raise DTypeError(f"random floats are made in floating point dtypes, not in {d.name}; use randint")
    return d


def is_here(device) -> bool:
    """Return whether a device, or the default one for None, is the host."""
    return device is CPU or (device is None and Defaults.device == "cpu")


def next_drawn(op, generator, device, **params) -> Tensor:
    """Draw with the next key of a generator (by default the default one), on a device."""
    if is_here(device) and not tls.m.special:
        return _drawn_here(op, generator, params)
    return op.call(draw_key(generator, device), **params)


def next_drawn_like(op, t: Tensor, generator, **params) -> Tensor:
    """Draw with the next key of a generator, on the device of a tensor."""
    if t._a.__class__ is np.ndarray and not tls.m.special:
        return _drawn_here(op, generator, params)
    return op.call(draw_key_on_device_of(t, generator), **params)


def _drawn_here(op, generator, params) -> Tensor:
    """Draw on the host while nothing listens."""
    place, kind = chosen(generator).reserve(1), (op, *params.items())
    try:
        if kind not in _accepted:
            _accept(kind, op, params)
        return wrap((KERNELS.get(op) or kernel_of(op))(place, **params))
    except Exception as error:
        return after_short_path(error, op.call, key_at(place), **params)


def _accept(kind, op, params):
    """Run the shape rule for a kind of draw, and remember that it accepted."""
    op.infer(_KEY, **params)
    if len(_accepted) >= _MOST_ACCEPTED:
        _accepted.clear()
    _accepted.add(kind)


_KEY = Aval((2,), dt.uint64)
_accepted: set = set()      # (operator, parameters) that shape rules accepted
_MOST_ACCEPTED = 1024


def next_numbers(draw, generator, device, shape, dtype) -> Tensor:
    """Draw real or complex numbers with the next key of a generator, on a device."""
    if is_here(device) and not tls.m.special and not dtype.is_complex:
        return _drawn_here(draw, generator, {"shape": shape, "dtype": dtype})
    return drawn(draw, draw_key(generator, device), shape, dtype)


SCALED = (dt.float32, dt.float64)      # dtypes that are drawn, scaled and shifted in one pass


def fill_with_next(draw, generator, factor, summand, a):
    """Fill a contiguous host array with a draw, times a factor, plus a summand, while nothing listens."""
    place = chosen(generator).reserve(1)
    kernel_of(draw)(place, shape=a.shape, dtype=dt.BY_NP[a.dtype], out=a, scaled=(factor, summand))


def drawn_from_next(fn, generator, device, *tensors, **params):
    """Return fn(key, *tensors, **params), which makes tensors from a generator's next key, without gradients.

    The tensors are on `device`, or with `tensors`. If nothing listens, fn runs on arrays, and as one compiled graph once such
    calls are frequent.
    """
    key = draw_key_on_device_of(tensors[0], generator) if tensors else draw_key(generator, device)
    m = tls.m
    if m.special or key._a.__class__ is not np.ndarray:
        return fn(key, *tensors, **params)
    arrays = (key._a, *[t._a for t in tensors])
    run = HOST.drawn_by(fn).find(arrays, params, MIN_CALLS)
    made = m.run(fn, *arrays, **params) if run is None else run(arrays)
    return tuple(map(wrap, made)) if made.__class__ is tuple else wrap(made)


def drawn(draw, key, shape, dtype):
    """Draw numbers. The parts of complex ones are independent; the parts of normal ones share the variance."""
    if not dtype.is_complex:
        return draw.call(key, shape=shape, dtype=dtype)
    parts = draw.call(key, shape=(*shape, 2), dtype=dt.float32 if dtype is dt.complex64 else dt.float64)
    if draw is rn.normal:
        parts = ew.mul(parts, sqrt(0.5))
    return of_pairs(parts)
