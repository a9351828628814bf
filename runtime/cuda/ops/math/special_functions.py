"""Elementwise functions with several results or a compiled-in parameter, from the scalar functions of the CPU."""

import functools

from .....ir import dtype as dt
from .....ir.kernel.kernel_builder import KernelBuilder
from .....ir.ops.core import elementwise as ew
from .....ir.ops.math import polynomials
from ....core.device_array import DeviceArray
from ...compiler.kernels import Prepared
from ...driver import streams
from ...graph.eager import contiguous
from ...memory.arrays import empty, used


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


OPERATORS = {ew.frexp: frexp, ew.polygamma: polygamma, polynomials.polynomial: polynomial}
