"""Integer quotients, remainders, powers and products on a device. A zero divisor is raised when values are next read."""

import functools

import numpy as np

from .....ir import dtype as dt
from .....ir.kernel.kernel_builder import KernelBuilder
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.reduce import sum_
from .....ir.ops.core.shape import expand, permute, reshape
from .....ir.ops.linalg.products import matmul
from .....ir.reference.scalar_functions import refuse_zero
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import check_values
from ...compiler.kernels import Prepared, as_number
from ...driver import streams
from ...graph.eager import composed, contiguous
from ...memory.arrays import broadcast_strides, empty, used
from ..linalg import complex_products
from ..products import products


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
        made = Prepared(_kernel(op.name, kind, numbers), {"size": out.size}, numbers=numbers)
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
def _kernel(name, kind, numbers):
    k = KernelBuilder(f"{name}_{kind.short}_{''.join('an'[n in numbers] for n in 'ab')}")
    k.parallel("i", "size")
    a, b = [k.input(n, kind, (int(n not in numbers),)) for n in "ab"]
    out = k.output("out", kind, (1,))
    with k.point():
        k.store(k.call(name, k.load(a), k.load(b)), out)
    return k.build()


def product(inputs, params, device):
    """Return x @ y of integers (and bools, where a sum of 1 or more is true). Other dtypes are multiplied elsewhere."""
    x, y = inputs
    if not (isinstance(x, DeviceArray) and isinstance(y, DeviceArray) and x.dtype == y.dtype and x.dtype.kind in "iub"):
        return complex_products.product(inputs, params, device)
    if not (x.size and y.size):
        return products.filled_or(x, y, empty(device, (*x.shape[:-1], y.shape[-1]), x.dtype), device)
    return composed(_summed_products, inputs, {}, device)[0]


def _summed_products(x, y):
    *lead, rows, depth = x.shape
    columns = y.shape[-1]
    shape, transposed = (*lead, rows, columns, depth), (*range(len(lead)), len(lead) + 1, len(lead))
    apart = reshape(x, shape=(*lead, rows, 1, depth)), reshape(permute(y, dims=transposed), shape=(*lead, 1, columns, depth))
    wide = [expand(v if v.dtype is dt.int64 else ew.cast(v, dtype=dt.int64), shape=shape) for v in apart]
    found = sum_(ew.mul(*wide), dim=(len(lead) + 2,), keepdim=False)
    return (found if x.dtype is dt.int64 else ew.cast(found, dtype=x.dtype),)


OPERATORS = {matmul: product, ew.pow_: _of_whole(ew.pow_, divides=False)}
OPERATORS |= {op: _of_whole(op) for op in (ew.floor_divide, ew.trunc_divide, ew.remainder, ew.fmod)}
