"""Matrix products on a device."""

import functools

from ...ir import dtype as dt
from ...ir.errors import DTypeError
from ...ir.ops.linalg import matmul
from ...passes.codegen.triton import matmul as template
from ...passes.codegen.triton.configs import Launch
from ..backends.cuda import matmul as SWITCHES
from ..device_array import DeviceArray
from ..info import get_float32_matmul_precision
from . import context as contexts
from . import streams
from .eager import contiguous
from .kernels import PreparedLaunch
from .program import empty, fill, used

_KINDS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)
_NARROW, _MOST_BATCHES = 1 << 31, 65535


def float32_precision() -> str:
    """How products of float32 are made: "ieee" rounds as float32 does, "tf32" takes the tensor cores where it was allowed."""
    return "tf32" if SWITCHES.allow_tf32 or get_float32_matmul_precision() != "highest" else "ieee"


def product(inputs, params, device):
    """x @ y over the last two dims; leading ones are a batch."""
    x, y = inputs
    if not (isinstance(x, DeviceArray) and isinstance(y, DeviceArray)):
        return NotImplemented
    if x.dtype != y.dtype:
        raise DTypeError(f"matmul takes two tensors of one dtype, got {x.dtype.name} and {y.dtype.name}; cast one with .to()")
    kind = dt.from_numpy(x.dtype)
    if kind not in _KINDS:
        return NotImplemented
    *lead, m, k = x.shape
    n = y.shape[-1]
    out = empty(device, (*lead, m, n), x.dtype)
    if not out.size:
        return out
    if not k:
        fill(out, 0)
        return out
    x, x_batch = _as_batch(x)
    y, y_batch = _as_batch(y)
    batch = out.size // (m * n)
    stream = streams.current(device).handle
    step = x.itemsize
    for first in range(0, batch, _MOST_BATCHES):
        count = min(_MOST_BATCHES, batch - first)
        made = _prepared(kind, m, n, k, count, x_batch, _last(x), y_batch, _last(y), device, float32_precision())
        made(device, stream, (used(x, stream) + first * x_batch * step, used(y, stream) + first * y_batch * step,
                              used(out, stream) + first * m * n * step), {})
    return out


def _last(a) -> tuple:
    """The last two strides, in elements."""
    return a.strides[-2] // a.itemsize, a.strides[-1] // a.itemsize


def _as_batch(a):
    """(the array, elements between its matrices): copied where they do not follow each other evenly."""
    if any(s % a.itemsize for s in a.strides):
        a = contiguous(a)
    step, size = 0, 1
    for n, s in zip(reversed(a.shape[:-2]), reversed(a.strides[:-2])):
        if n == 1:
            continue
        if size == 1:
            step = s
        elif s != step * size:
            return _as_batch(contiguous(a)) if not a.is_contiguous else (a, a.shape[-1] * a.shape[-2])
        size *= n
    return a, step // a.itemsize


@functools.lru_cache(4096)
def _prepared(kind, m, n, k, batch, x_batch, x_last, y_batch, y_last, device, precision):
    context = contexts.context(device)
    fast = kind.itemsize == 2 or (kind is dt.float32 and precision != "ieee")
    chosen = template.tiles(kind, m, n, k, fast, context.shared_memory)
    units = [tuple([s == 1 for s in last]) for last in (x_last, y_last)]
    source = template.source(kind, precision, *units)
    sizes = {"M": m, "N": n, "K": k, "s_xb": x_batch, "s_xm": x_last[0], "s_xk": x_last[1],
             "s_yb": y_batch, "s_yk": y_last[0], "s_yn": y_last[1]}
    reach = max(batch * m * n, batch * abs(x_batch) + m * abs(x_last[0]) + k * abs(x_last[1]),
                batch * abs(y_batch) + k * abs(y_last[0]) + n * abs(y_last[1]))
    one = Launch(source, chosen.constants, chosen.warps, template.grid(m, n, batch, chosen), stages=chosen.stages)
    wide = reach + _tile_room(chosen, x_last, y_last) >= _NARROW
    return PreparedLaunch(one, sizes, {"x": 0, "y": 1, "z": 2}, (0, 0, 0), wide)


def _tile_room(chosen, x_last, y_last):
    """How far the addresses of a tile's masked lanes may lie beyond the matrices."""
    return 2 * (chosen.m + chosen.n + chosen.k) * max(1, *map(abs, x_last), *map(abs, y_last))


OPERATORS = {matmul: product}
