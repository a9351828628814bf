"""Matrix products and convolutions of complex numbers, on pairs of real ones, and products of integers, on a device.

A complex matrix is, in memory, a real one with twice the columns. Its product with a real matrix of twice the rows and columns
is the complex product.
"""

from .....ir import dtype as dt
from .....ir.errors import DTypeError
from .....ir.ops.core import complex_numbers as co
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.reduce import sum_
from .....ir.ops.core.shape import expand, iota, permute, reshape
from .....ir.ops.linalg.products import grouped_matmul, matmul
from .....ir.ops.nn import conv as cv
from ....core.device_array import DeviceArray
from ...graph.eager import composed, contiguous, copied
from ...memory.arrays import as_pairs, as_reals, empty
from ..nn import convolutions
from ..products import products
from . import grouped_matmul as grouped


def _columns_twice(x):
    return as_reals(contiguous(x)).reshape(*x.shape[:-1], 2 * x.shape[-1])


def pairs(inputs, params, device):
    """Return a copy, because complex numbers are pairs in memory."""
    return as_pairs(copied(inputs[0]))


def _complex_product(inputs, params, device):
    """Return x @ y over the last two dims; leading ones are a batch."""
    x, y = inputs
    if not (isinstance(x, DeviceArray) and isinstance(y, DeviceArray)) or "c" not in (x.dtype.kind, y.dtype.kind):
        return products.product(inputs, params, device)
    if x.dtype != y.dtype:
        raise DTypeError(f"matmul takes two tensors of one dtype, got {x.dtype.name} and {y.dtype.name}; cast one with .to()")
    if not (x.size and y.size):
        return products.filled_or(x, y, empty(device, (*x.shape[:-1], y.shape[-1]), x.dtype), device)
    twice, = composed(_rows_twice, (y,), {}, device)
    found = products.product((_columns_twice(x), _columns_twice(twice)), params, device)
    return found.view(x.dtype)


def _rows_twice(y):
    *lead, rows, columns = y.shape
    apart, shape = (*lead, rows, 1, columns), (*lead, rows, 2, columns)
    rotated = co.complex_(ew.neg(co.imag(y)), co.real(y))
    first = ew.eq(iota(y, shape=shape, dim=len(lead) + 1, dtype=dt.int64), 0)
    found = ew.where(first, *[expand(reshape(v, shape=apart), shape=shape) for v in (y, rotated)])
    return (reshape(found, shape=(*lead, 2 * rows, columns)),)


def product(inputs, params, device):
    """Return x @ y of integers (and bools, where a sum of 1 or more is true). Other dtypes are multiplied elsewhere."""
    x, y = inputs
    if not (isinstance(x, DeviceArray) and isinstance(y, DeviceArray) and x.dtype == y.dtype and x.dtype.kind in "iub"):
        return _complex_product(inputs, params, device)
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


def _by_parts(op, real_ones):
    """Return a convolution, or a gradient of one, of complex numbers, from four of their parts."""

    def parts(x, y, bias=None, **params):
        found = _of_parts(op, x, y, *((None,) if op is cv.conv else ()), **params)
        if bias is not None:
            column = reshape(bias, shape=(1, bias.shape[0], *[1] * (x.ndim - 2)))
            found = ew.add(found, expand(column, shape=found.shape))
        return (found,)

    def run(inputs, params, device):
        if not all(x is None or (isinstance(x, DeviceArray) and x.dtype.kind == "c" and x.size) for x in inputs):
            return real_ones(inputs, params, device)
        return composed(parts, inputs, params, device)[0]

    return run


def _of_parts(op, x, y, *more, **params):
    """Multiply two complex arrays with the function for real ones."""
    (a, b), (c, d) = [(co.real(v), co.imag(v)) for v in (x, y)]
    return co.complex_(ew.sub(op(a, c, *more, **params), op(b, d, *more, **params)),
                       ew.add(op(a, d, *more, **params), op(b, c, *more, **params)))


def _grouped_parts(x, y, ends):
    return (_of_parts(grouped_matmul, x, y, ends),)


def grouped_product(inputs, params, device):
    """Return the product of each group."""
    if all(isinstance(x, DeviceArray) for x in inputs) and inputs[0].dtype.kind == inputs[1].dtype.kind == "c":
        return composed(_grouped_parts, inputs, params, device)[0]
    return grouped.grouped(inputs, params, device)


OPERATORS = {co.pairs: pairs, matmul: product, grouped_matmul: grouped_product, cv.conv: _by_parts(cv.conv, convolutions.conv),
             cv.conv_input_grad: _by_parts(cv.conv_input_grad, convolutions.conv_input_grad),
             cv.conv_weight_grad: _by_parts(cv.conv_weight_grad, convolutions.conv_weight_grad)}
