"""Elementwise functions with launches of their own: several results, a compiled-in parameter, or integers that divide.

A zero divisor is raised when values are next read.
"""

import functools

import numpy as np

from .....ir import dtype as dt
from .....ir.kernel.kernel_builder import KernelBuilder
from .....ir.ops.core import elementwise as ew
from .....ir.ops.math import polynomials
from .....ir.reference.scalar_functions import refuse_zero
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import check_values
from ...compiler.kernels import Prepared, as_number
from ...driver import streams
from ...graph.eager import contiguous
from ...memory.arrays import broadcast_strides, empty, used


def of_elements(write, how, arrays, gives, device) -> list:
    """Return arrays of the dtypes `gives` with elements `write(k, *values, *how)`, on values of a KernelBuilder."""
    outs = [empty(device, arrays[0].shape, kind.np) for kind in gives]
    if outs[0].size:
        stream, arrays = streams.current(device).handle, [contiguous(a) for a in arrays]
        kernel = _kernel(write, how, tuple([dt.from_numpy(a.dtype) for a in arrays]), gives)
        addresses = [used(a, stream) for a in (*arrays, *outs)]
        Prepared(kernel, {"n": outs[0].size})(device, stream, addresses)
    return outs


@functools.lru_cache(1024)
def _kernel(write, how, kinds, gives):
    k = KernelBuilder("_".join([write.__name__.strip("_"), *map(str, how), *[kind.short for kind in kinds]]))
    k.parallel("i", "n")
    given = [k.input(f"x{i}", kind, (1,)) for i, kind in enumerate(kinds)]
    results = [k.output(f"y{i}", kind, (1,)) for i, kind in enumerate(gives)]
    with k.point():
        made = write(k, *map(k.load, given), *how)
        for value, result in zip(made, results):
            k.store(value, result)
    return k.build()


def _frexp(k, x):
    return k.call("frexp_mantissa", x), k.append("frexp_exponent", dt.int32, (x,))


def frexp(inputs, params, device):
    """Return mantissas and powers of two."""
    x, = inputs
    if not isinstance(x, DeviceArray):
        return NotImplemented
    return tuple(of_elements(_frexp, (), (x,), (dt.from_numpy(x.dtype), dt.int32), device))


def _polygamma(k, x, n):
    return (k.call("polygamma", float(n), x),)


def polygamma(inputs, params, device):
    """Return a derivative of digamma."""
    x, = inputs
    return NotImplemented if x.dtype.kind == "c" else of_elements(_polygamma, (params["n"],), inputs, _like(x), device)[0]


def _polynomial(k, x, n, family):
    return (k.call(family, x, n),)


def polynomial(inputs, params, device):
    """Return the polynomial of a family, with degrees given as data."""
    if not all(isinstance(x, DeviceArray) for x in inputs):
        return NotImplemented
    return of_elements(_polynomial, (params["family"],), inputs, _like(inputs[0]), device)[0]


def _like(x) -> tuple:
    return (dt.from_numpy(x.dtype),)


def _of_whole(op, divides=True):
    """Return a function of two integers; a division records zero divisors."""

    def run(inputs, params, device):
        kinds = [x.dtype for x in inputs if isinstance(x, DeviceArray)]
        if kinds[0].kind not in "iu" or not all(
                isinstance(x, (DeviceArray, int)) or (isinstance(x, np.ndarray) and x.dtype.kind in "iub") for x in inputs):
            return NotImplemented
        kind = dt.from_numpy(kinds[0])
        shape = np.broadcast_shapes(*[np.shape(x) if not isinstance(x, DeviceArray) else x.shape for x in inputs])
        out = empty(device, shape, kind.np)
        if not out.size:
            return out
        if divides:
            _check_divisor(op, inputs[1])
        given = [_broadcast(x, shape) if isinstance(x, DeviceArray) else x for x in inputs]
        stream = streams.current(device).handle
        numbers = frozenset([name for name, x in zip("ab", inputs) if not isinstance(x, DeviceArray)])
        made = Prepared(_integer_kernel(op.name, kind, numbers), {"size": out.size}, numbers=numbers)
        addresses = [used(x, stream) if isinstance(x, DeviceArray) else as_number(kind, int(x)) for x in given]
        made(device, stream, (*addresses, used(out, stream)))
        return out

    return run


def _check_divisor(op, b):
    """Record zero divisors in an array; refuse a Python zero at once."""
    if isinstance(b, DeviceArray):
        check_values(contiguous(b), "divisor", op.name)
    else:
        refuse_zero(op.name, np.ones(1, np.int64), np.asarray(b))


def _broadcast(x, shape):
    return contiguous(x if x.shape == shape else x.look(shape, broadcast_strides(x, shape)))


@functools.lru_cache(256)
def _integer_kernel(name, kind, numbers):
    k = KernelBuilder(f"{name}_{kind.short}_{''.join('an'[n in numbers] for n in 'ab')}")
    k.parallel("i", "size")
    a, b = [k.input(n, kind, (int(n not in numbers),)) for n in "ab"]
    out = k.output("out", kind, (1,))
    with k.point():
        k.store(k.call(name, k.load(a), k.load(b)), out)
    return k.build()


OPERATORS = {ew.frexp: frexp, ew.polygamma: polygamma, polynomials.polynomial: polynomial,
             ew.pow_: _of_whole(ew.pow_, divides=False)}
OPERATORS |= {op: _of_whole(op) for op in (ew.floor_divide, ew.trunc_divide, ew.remainder, ew.fmod)}
