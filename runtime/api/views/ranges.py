"""New tensors that count: evenly spaced numbers, powers, indices of triangles."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.opdef.aval import integers
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.ops.core.complex_numbers import complex_
from ....ir.symbols.number_functions import isfinite
from ....ir.symbols.substitute import as_float, as_int
from ....ir.symbols.symbolic import is_symbol
from ...core.backend import HOST
from ...core.placement import put
from ...core.tensor import Tensor, numel_of, shape_of, wrap
from ...state.mode import Defaults, tls
from ..register.layouts import require_strided
from ..register.register import FUNCTIONS, api
from ..register.type_promotion import number_dtype
from .tensor_factories import counted, created, dtype_for, filled, finish, mark_for, number_of, of_counts, require_device


def _sequence_dtype(dtype, *numbers):
    if dtype is not None:
        return dt.as_dtype(dtype)
    if numbers[0].__class__ is numbers[1].__class__ is numbers[2].__class__ is int:
        return dt.int64
    floats = any(isinstance(n, (float, np.floating)) or (isinstance(n, Tensor) and n.dtype.is_inexact) for n in numbers)
    return Defaults.dtype if floats else dt.int64


def _delivered(t, out, requires_grad, name, device, pin_memory=False):
    """Return a sequence with the options of its caller; an `out` with as many elements keeps its shape."""
    if out is not None and out.ndim != 1 and numel_of(out) == numel_of(t):
        t = sh.reshape(t, shape=shape_of(out))
    return finish(t, out, requires_grad, name, device, pin_memory)


@api(method=False)
def arange(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return start, start + step, ... below end."""
    require_strided("arange", layout)
    require_device(device)
    if end is None:
        start, end = 0, start
    d = out.dtype if dtype is None and out is not None else _sequence_dtype(dtype, start, end, step)
    whole = start.__class__ is end.__class__ is step.__class__ is int
    if not whole:
        start, end, step = number_of(start), number_of(end), number_of(step)
    if step == 0:
        raise ArgumentError("arange: step must not be 0")
    if not whole and not all(n.__class__ is int or isfinite(n) for n in (start, end, step)):
        raise ArgumentError(f"arange: bounds and step must be finite, got {start}, {end}, {step}")
    if (end - start) * step < 0:
        raise ArgumentError(f"arange: from {start} to {end} leads the other way than step {step}")
    if d is dt.int64:       # PyTorch truncates before it counts, for this dtype alone
        start, end, step = as_int(start), as_int(end), as_int(step)
        if step == 0:
            raise ArgumentError("arange: as int64, step must not be 0")
    exact = whole or all(isinstance(n, int) for n in (start, end, step))
    n = -((start - end) // step) if exact else math.ceil((end - start) / step)
    if d.is_integer:
        start, step = as_int(start), as_int(step)
    found = _progression(as_int(n), start, step, d, mark_for(device))
    return _delivered(found, out, requires_grad, "arange", device, pin_memory)


def _progression(n, start, step, d, mark):
    """Return start + i * step for i in 0..n-1 (beside `mark`), computed in int64 or float64 and rounded once to `d`."""
    kind = dt.float64 if d.is_inexact or isinstance(start, float) or isinstance(step, float) else dt.int64
    if kind is dt.int64 and start == 0 and step == 1:
        return counted(n, d, mark) if d is not dt.bool_ else ew.cast.call(counted(n, mark=mark), dtype=d)
    if mark is None and kind is dt.float64 and n > 0 and _is_by_kernel(d):
        return wrap(HOST.evenly(n, d, -0.0 if not start and step > 0 else start, step))     # -0 leaves a zero its sign
    return of_counts(_stepped, n, start, step, kind, d, mark=mark)


def _is_by_kernel(d) -> bool:
    """Return whether a kernel counts values of a dtype: nothing records, and the kernel knows the dtype."""
    return not tls.m.special and (d.is_floating_point or d.is_integer) and d not in dt.FLOAT8


def _stepped(count, n, start, step, kind, d):
    x = count(n, kind)
    x = x if step == 1 else x * step
    x = x if start == 0 and step > 0 else x + start       # with a step below 0, zero times it is -0
    return x if d is kind else ew.cast.call(x, dtype=d)


@api(method=False)
def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Return start, start + step, ... up to and including end (deprecated; use arange)."""
    require_strided("range", layout)
    require_device(device)
    start, end = (0, start) if end is None else (start, end)
    n = math.floor((number_of(end) - number_of(start)) / number_of(step)) + 1
    d = dtype_for(dtype, out)
    numbers = _progression(max(0, n), number_of(start), number_of(step), d, mark_for(device))
    return _delivered(numbers, out, requires_grad, "range", device)


def _ends(start, end, dtype, out) -> tuple:
    """Return the dtype of values between two numbers or 0-d tensors, and the two numbers, truncated for an integer dtype."""
    for x in (start, end):
        if isinstance(x, Tensor) and x.ndim:
            raise ShapeError(f"linspace takes numbers or 0-d tensors, got a tensor of shape {list(x.shape)}")
    ends, d = (number_of(start), number_of(end)), dtype_for(dtype, out)
    if complex in map(type, ends):
        d = number_dtype(1j) if dtype is None and out is None else d
        if not d.is_complex:
            raise DTypeError(f"linspace between complex numbers gives complex ones, not {d.name}")
    return d, *(map(as_int, ends) if d.is_integer else ends)


def _evenly(start, end, steps, then, mark=None) -> Tensor:
    """Apply `then` to `steps` float64 values from start to end, each half counted from its own end."""
    if steps < 0:
        raise ArgumentError(f"linspace: steps must not be negative, got {steps}")
    if steps == 1:
        return then(filled(None, (1,), start, dt.float64))
    gap = (end - start) / (steps - 1) if steps else 0.0

    def values(count):
        i = count(steps, dt.float64)
        low, high = i * gap + as_float(start), as_float(end) - (steps - 1 - i) * gap
        return then(ew.where.call(i < steps // 2, low, high))

    return of_counts(values, mark=mark)


def _between(start, end, steps, then, mark=None) -> Tensor:
    """Call `_evenly` for real numbers; for complex ones, for both parts."""
    if not isinstance(start, complex) and not isinstance(end, complex):
        return _evenly(start, end, steps, then, mark)
    parts = [_evenly(low, high, steps, lambda x: x, mark) for low, high in ((start.real, end.real), (start.imag, end.imag))]
    return then(complex_(*parts))


@api(method=False)
def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return `steps` evenly spaced values from start to end, both included."""
    require_strided("linspace", layout)
    require_device(device)
    (d, low, high), mark, (n,) = _ends(start, end, dtype, out), mark_for(device), integers(steps, "steps")
    if mark is None and n > 1 and _is_by_kernel(d):
        made = wrap(HOST.evenly(n, d, low, (high - low) / (n - 1), high, n // 2))
        return _delivered(made, out, requires_grad, "linspace", device, pin_memory)
    made = _between(low, high, n, lambda x: ew.cast.call(x, dtype=d), mark)
    return _delivered(made, out, requires_grad, "linspace", device, pin_memory)


@api(method=False)
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):
    """Return powers of `base` with evenly spaced exponents from start to end."""
    require_strided("logspace", layout)
    require_device(device)
    (d, low, high), (n,) = _ends(start, end, dtype, out), integers(steps, "steps")
    made = _between(low, high, n, lambda x: ew.cast.call(ew.pow_(as_float(base), x), dtype=d))
    return _delivered(made, out, requires_grad, "logspace", device, pin_memory)


def _triangle(rows, columns, offset, kind, lower) -> np.ndarray:
    """Return the positions of a triangle, row by row: on and below the diagonal at an offset, or on and above."""
    edge = np.clip(np.arange(rows) + (offset + lower), 0, columns)          # end, or begin, of each row's part
    counts = edge if lower else columns - edge
    out = np.empty((2, int(counts.sum())), kind)
    out[0] = np.repeat(np.arange(rows, dtype=kind), counts)
    out[1] = np.repeat((0 if lower else edge) - np.cumsum(counts) + counts, counts)
    out[1] += np.arange(out.shape[1], dtype=kind)
    return out


def _triangle_indices(rows, columns, offset, dtype, device, lower) -> Tensor:
    """Return the positions of a triangle as a tensor. With symbolic sizes, select them from all positions."""
    require_device(device)
    (rows, columns, offset), d = integers((rows, columns, offset), "the sizes of a triangle"), dt.as_dtype(dtype)
    if rows < 0 or columns < 0:
        raise ShapeError(f"the sizes of a triangle must not be negative, got {rows} rows and {columns} columns")
    if not any(map(is_symbol, (rows, columns))):
        return put(created(wrap(_triangle(rows, columns, offset, d.np, lower))), device)
    first, second = [sh.expand(sh.reshape(counted(n), shape=s), shape=(rows, columns))
                     for n, s in ((rows, (rows, 1)), (columns, (1, columns)))]
    inside = (ew.le if lower else ew.ge).call(ew.sub(second, first), offset)
    below = _count_below(rows, columns, offset + lower)
    found = FUNCTIONS["nonzero_static"](inside, size=below if lower else rows * columns - below)
    return put(ew.cast.call(FUNCTIONS["transpose"](found, 0, 1), dtype=d), device)


def _count_below(rows, columns, edge):
    """Return how many positions lie in the first `edge` columns of row 0, and in one column more of each further row."""
    first, full = [min(max(n, 0), rows) for n in (-edge, columns - edge)]
    return (full - first) * (full + first + 2 * edge - 1) // 2 + (rows - full) * columns


@api(method=False)
def tril_indices(row, col, offset=0, *, dtype=dt.int64, device=None, layout=None):
    """Return rows and columns of the lower triangle, as a tensor of 2 rows."""
    require_strided("tril_indices", layout)
    return _triangle_indices(row, col, offset, dtype, device, True)


@api(method=False)
def triu_indices(row, col, offset=0, *, dtype=dt.int64, device=None, layout=None):
    """Return rows and columns of the upper triangle, as a tensor of 2 rows."""
    require_strided("triu_indices", layout)
    return _triangle_indices(row, col, offset, dtype, device, False)
