"""Running sums and products on a device: of everything up to each element along a dim.

A program goes along a row, or down some columns, tile by tile. Rows that are long and few are cut in parts, so that there is
work for all multiprocessors: the parts are summed each for itself, then what came before each part is put to it. Sums are kept
in a dtype so wide that this is rounded as one walk would be.
"""

import functools

from .....ir import dtype as dt
from .....ir.kernel.kernel_builder import KernelBuilder
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core import scan as sc
from .....ir.ops.core.shape import expand, pad, reshape, slice_
from ...compiler.kernels import Prepared
from ...driver import streams
from ...graph.eager import composed, contiguous
from ...memory.arrays import empty, used

PART = 1 << 12          # elements of a part
LONG = 1 << 16          # elements of a row from which it is cut
FEW = 128               # rows that leave multiprocessors without work
_WIDE = dict.fromkeys(dt.FLOATS, dt.float64) | {dt.complex64: dt.complex128}


def running(kind):
    """An operator: sums or products of everything up to each element."""
    in_parts = sums_in_parts if kind == "sum" else products_in_parts

    def run(inputs, params, device):
        x, dim = contiguous(inputs[0]), params["dim"]
        if x.dtype.kind == "b":
            return NotImplemented
        if dim == x.ndim - 1 and x.shape[dim] >= LONG and x.size < FEW * x.shape[dim]:
            return composed(in_parts, (x,), {}, device)[0]
        out = empty(device, x.shape, x.dtype)
        if x.size:
            inner, length = 1, x.shape[dim]
            for n in x.shape[dim + 1:]:
                inner *= n
            sizes = {"outer": x.size // (inner * length), "length": length}
            if inner != 1:
                sizes |= {"inner": inner, "both": length * inner}
            stream = streams.current(device).handle
            made = Prepared(_kernel(kind, dt.from_numpy(x.dtype), inner != 1), sizes)
            made(device, stream, (used(x, stream), used(out, stream)))
        return out

    return run


@functools.lru_cache(1024)
def _kernel(kind, dtype, down):
    """Along rows, or down columns."""
    k = KernelBuilder(f"running_{kind}_{dtype.short}")
    k.parallel("o", "outer")
    if down:
        k.parallel("i", "inner")
    k.reduce("k", "length")
    strides = ("both", 1, "inner") if down else ("length", 1)
    x, y = k.input("x", dtype, strides), k.output("y", dtype, strides)
    with k.sweep():
        value = k.load(x)
        work = dt.float32 if dtype in (dt.float16, dt.bfloat16) else dtype
        k.store(k.scan(kind, value.to(work)).to(dtype), y)
    return k.build()


def sums_in_parts(x) -> tuple:
    """Running sums along long rows."""
    return (_in_parts(x, sc.cumsum, ew.add, 0),)


def products_in_parts(x) -> tuple:
    """Running products along long rows."""
    return (_in_parts(x, sc.cumprod, ew.mul, 1),)


def _in_parts(x, scan, join, nothing):
    *lead, length = x.shape
    parts, wide, rank = -(-length // PART), _WIDE.get(x.dtype, x.dtype), len(lead) + 1
    v = x if x.dtype is wide else ew.cast(x, dtype=wide)
    v = reshape(_wider(v, 0, parts * PART - length, nothing), shape=(*lead, parts, PART))
    inside = scan(v, dim=rank)
    ends = reshape(slice_(inside, dim=rank, start=PART - 1, stop=PART, step=1), shape=(*lead, parts))
    before = _first(_wider(scan(ends, dim=rank - 1), 1, 0, nothing), parts)
    whole = join(inside, expand(reshape(before, shape=(*lead, parts, 1)), shape=inside.shape))
    whole = _first(reshape(whole, shape=(*lead, parts * PART)), length)
    return whole if x.dtype is wide else ew.cast(whole, dtype=x.dtype)


def _wider(v, low, high, value):
    """Rows with more elements before and after them."""
    rest = (0,) * (len(v.shape) - 1)
    return pad(v, low=(*rest, low), high=(*rest, high), interior=(*rest, 0), value=value) if low or high else v


def _first(v, count):
    """The first elements of rows."""
    return slice_(v, dim=len(v.shape) - 1, start=0, stop=count, step=1)


OPERATORS = {sc.cumsum: running("sum"), sc.cumprod: running("prod")}
