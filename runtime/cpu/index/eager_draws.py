"""Which compiled streams give random numbers in eager mode; see `eager.py`.

They give the bits that ir/reference/philox.py defines; normals differ from numpy's in the last one. A key may come as the two
numbers that it holds, too.
"""

from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.opdef.op import Op
from ....ir.ops.core import random
from ....ir.ops.math import gamma
from ....passes.codegen import rejection_kernels
from ..calls.kernel_table import KernelTable
from ..loops import kernels
from . import draws

TABLE = KernelTable()
_PIECE = 1 << 14                    # elements that are scaled at a time


def drawn(name):
    """What gives the first elements of a key's stream, made in `out` if it is given: a contiguous array of the shape and
    dtype. `scaled`, a factor and a summand, is for `out` alone."""
    draw: Any = None
    fill: Any = None

    def run(key, shape, out=None, span=0, scaled=None):
        nonlocal draw, fill
        if draw is None:
            made = kernels.draw(name)
            draw, fill = made.__call__, made.scaled     # methods: quicker to call than an object
        (seed, call), count = key if key.__class__ is tuple else key.tolist(), 1
        if scaled is not None:
            flat = out.reshape(-1)
            if not fill(seed, call, *scaled, flat):
                draw(seed, call, flat.size, 0, span, flat)
                _scale(flat, *scaled)
            return out
        for n in shape:
            count *= n
        made = draw(seed, call, count, 0, span, None if out is None else out.reshape(-1))
        return made if len(shape) == 1 else made.reshape(shape)

    return run


def _scale(flat, factor, summand):
    """Each number times a factor, plus a summand, so many at a time that they stay in a cache."""
    for start in range(0, flat.size, _PIECE):
        piece = flat[start:start + _PIECE]
        piece *= factor
        piece += summand


@TABLE.makes(random.uniform)
def uniform(op: Op):
    """Uniform floats."""
    made = {dt.float32: drawn("random_uniform"), dt.float64: drawn("random_uniform_double")}

    def run(key, *, shape, dtype, out=None, scaled=None):
        draw = made.get(dtype)
        return draw(key, shape, out, 0, scaled) if draw else op.ref(np.array(key, np.uint64), shape=shape, dtype=dtype)

    return run


@TABLE.makes(random.normal)
def normal(op: Op):
    """Normal floats; 16-bit ones are the float32 numbers, rounded."""

    single, double = drawn("random_normal"), drawn("random_normal_double")

    def run(key, *, shape, dtype, out=None, scaled=None):
        made = (double if dtype is dt.float64 else single)(key, shape, out, 0, scaled)
        return made if made.dtype is dtype.np else made.astype(dtype.np)

    return run


@TABLE.makes(random.bernoulli_mask)
def bernoulli_mask(op: Op):
    """word < round(p * 2**32)"""

    below = drawn(draws.MASK)

    def run(key, *, shape, p):
        return below(key, shape, None, round(p * 2**32))

    return run


@TABLE.makes(random.mask_below)
def mask_below(op: Op):
    """word < bound"""

    below = drawn(draws.MASK)

    def run(words, *, shape):
        seed, call, bound, _ = words.tolist()
        return below((seed, call), shape, None, bound)

    return run


@TABLE.makes(random.randint)
def randint(op: Op):
    """Integers below the span, and `low` added to them."""

    below = drawn("random_below")

    def run(key, *, shape, low, high, dtype):
        made = below(key, shape, None, high - low)
        if low:
            made += np.int64(low)
        return made if made.dtype is dtype.np else made.astype(dtype.np)

    return run


_REJECTED: dict[Op, tuple[Any, Any]] = {
    random.poisson: (rejection_kernels.poisson, random.check_rates),
    gamma.standard_gamma: (rejection_kernels.standard_gamma, gamma.check_concentrations),
    random.binomial: (rejection_kernels.binomial, random.check_trials)}


@TABLE.makes(*_REJECTED)
def by_rejection(op: Op):
    """Numbers without a closed form: a kernel of elements, their numbers among them, and of the key."""
    write, check = _REJECTED[op]

    def run(key, *given):
        check(*given)
        kind, first = dt.BY_NP[given[0].dtype], given[0]
        made = kernels.elementwise(op.name, (dt.int64,) * 3 + (kind,) * len(given), (kind,), write)
        words = [np.array(word) for word in key.view(np.int64)]
        return made(np.arange(first.size).reshape(first.shape), *words, *given)

    return run
