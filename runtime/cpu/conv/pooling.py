"""Pools of plain arrays (N, C, *spatial) on generated kernels: maxima, averages, and what carries their gradients back.

float32 and float64, up to three spatial dims. `None` comes back where the kernels do not apply.
"""

import functools
from math import prod

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ShapeError
from ....ir.ops.nn.pool import are_bins, is_whole
from ....ir.target import host
from ....passes.codegen.llvm.conv import pooling as codegen
from ....passes.codegen.llvm.conv import pooling_blocked as blocked_codegen
from ..calls import call, conv_steps, pool
from ..calls.conv_steps import EXTRA, OPERANDS, X, Y, plain
from ..compiler.compile import compile_module
from ..compiler.ir_cache import text_of
from ..loops import kernels
from ..memory.alloc import empty
from .conv_plan import Window

_ELEMENTS = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
_LARGEST_PLANE = 2**31 - 1
_DIMS = 3


def supported(x) -> bool:
    """Whether the kernels take this array."""
    return takes(x.dtype, x.shape)


def takes(dtype, shape) -> bool:
    """Whether the kernels take arrays of a dtype and shape."""
    return dtype in _ELEMENTS and 3 <= len(shape) <= 2 + _DIMS and 0 not in shape and prod(shape[2:]) <= _LARGEST_PLANE


@functools.lru_cache(None)
def _task(kind, element, spread):
    made = codegen.PoolKernel(host(), kind, element, spread)
    return compile_module(text_of(made), [made.symbol])[made.symbol]


@functools.lru_cache(None)
def _blocked_task(kind, element, taps):
    made = blocked_codegen.BlockedPoolKernel.of(host(), kind, element, taps)
    return compile_module(text_of(made), [made.symbol])[made.symbol]


def _windows(sizes, kernel, stride, padding, dilation):
    dims = [Window(n, (n + lo + hi - d * (k - 1) - 1) // s + 1, k, s, lo, d)
            for n, k, s, (lo, hi), d in zip(sizes, kernel, stride, padding, dilation)]
    return (Window(1, 1),) * (_DIMS - len(dims)) + tuple(dims)


def _spread(width):
    return codegen.CONTIGUOUS if width.stride == 1 else codegen.PAIRS if width.stride == 2 else codegen.APART


def _words(dims):
    depth, height, width = dims
    words = {"depth": depth.size, "height": height.size, "width": width.size, "out_rows": depth.out * height.out,
             "out_height": height.out, "out_width": width.out}
    for name, dim in zip("dhw", dims):
        words |= {f"taps_{name}": dim.taps, f"stride_{name}": dim.stride, f"pad_{name}": dim.low,
                  f"dilation_{name}": dim.dilation}
    return words


def _row_plan(kind, dims, planes, dtype, tables=(), blocks=0):
    """The plan of a job whose items are rows of the result. Pixels are vectors in arrays of so many blocks of channels."""
    words, steps = _words(dims), conv_steps.Steps()
    items, item = planes * words["out_rows"], host().vector_bytes if blocks else dtype.itemsize
    work = items * dims[2].out * prod(d.taps for d in dims) * (item // dtype.itemsize)
    chunks = conv_steps.share(work, items, steps.threads)
    words |= {"items": items, "chunks": chunks, "x_plane": prod(d.size for d in dims) * item,
              "y_plane": prod(d.out for d in dims) * item, "blocks": blocks}
    for name, table in zip("dhw", tables):
        values = np.zeros(-(-len(table) * dtype.itemsize // 8) * 8 // dtype.itemsize, dtype)
        values[:len(table)] = table
        words[f"sizes_{name}"] = steps.table(values.view(np.int64))
    taps = tuple(d.taps for d in dims)
    task = _blocked_task(kind, _ELEMENTS[dtype], taps) if blocks else _task(kind, _ELEMENTS[dtype], _spread(dims[2]))
    steps.add(task, chunks, codegen.WORDS, words,
              {"x": (X, 0), "y": (Y, 0), "index": (OPERANDS, 0)})
    return steps.plan()


# Maxima.


def max_pool(x, *, kernel, stride, padding, dilation):
    """(largest elements, their places), or None where a window lies outside of x altogether."""
    x = plain(x)
    found = max_plan(x.shape, kernel, stride, padding, dilation, x.dtype, pool.get_num_threads())
    if found is None:
        return None
    plan, shape = found
    out, places = empty(shape, x.dtype), empty(shape, np.dtype(np.int64))
    plan(x, x, out, call.address_of(places))
    return out, places


@functools.lru_cache(512)
def max_plan(shape, kernel, stride, padding, dilation, dtype, threads):
    """(plan, shape of the result), or None where a window lies outside of x altogether."""
    dims = _windows(shape[2:], kernel, stride, padding, dilation)
    for d in dims:
        reached = 0
        for low, high in sorted(d.taps_seen(0, d.out, tap) for tap in range(d.taps)):
            reached = max(reached, high) if low <= reached else reached
        if reached < d.out:
            return None
    shape = (*shape[:2], *(d.out for d in dims[_DIMS - len(kernel):]))
    return _row_plan(codegen.MAX, dims, prod(shape[:2]), dtype), shape


# Averages.


def _table(window, counted, divisor):
    """How many elements each window has along a dim."""
    if divisor is not None:
        return np.ones(window.out)
    low, high = counted
    starts = np.arange(window.out) * window.stride - window.low
    return np.minimum(starts + window.taps, window.size + high) - np.maximum(starts, -low)


def _tables(dims, counted, divisor):
    counted = ((0, 0),) * (_DIMS - len(counted)) + tuple(counted)
    tables = [_table(window, pair, divisor) for window, pair in zip(dims, counted)]
    if divisor is not None:
        tables[2] = np.full(len(tables[2]), divisor)
    return tables


def avg_pool(x, *, kernel, stride, padding, counted, divisor):
    """The mean of each window."""
    x = plain(x)
    if is_whole(x.shape[2:], kernel, padding):
        total = kernels.reduction("sum", dt.BY_NP[x.dtype])(x, tuple(range(2, x.ndim)), True)
        return total / x.dtype.type(prod(kernel) if divisor is None else divisor)
    if are_bins(x.shape[2:], kernel, stride, padding):
        return _mean_of_bins(x, kernel, divisor)
    plan, shape = avg_plan(x.shape, kernel, stride, padding, counted, divisor, x.dtype, pool.get_num_threads())
    out = empty(shape, x.dtype)
    plan(x, x, out)
    return out


def _mean_of_bins(x, kernel, divisor):
    """The mean of windows that are bins: along the outermost dim first, so that rows are read in vectors."""
    total, sizes = kernels.reduction("sum", dt.BY_NP[x.dtype]), x.shape
    for axis, k in enumerate(kernel, 2):
        if k > 1:
            x = total(x.reshape(*x.shape[:axis], sizes[axis] // k, k, *x.shape[axis + 1:]), (axis + 1,))
    return x / x.dtype.type(prod(kernel) if divisor is None else divisor)


@functools.lru_cache(512)
def avg_plan(shape, kernel, stride, padding, counted, divisor, dtype, threads):
    """(plan, shape of the result)"""
    dims = _windows(shape[2:], kernel, stride, padding, (1,) * len(kernel))
    shape = (*shape[:2], *(d.out for d in dims[_DIMS - len(kernel):]))
    return _row_plan(codegen.AVERAGE, dims, prod(shape[:2]), dtype, _tables(dims, counted, divisor)), shape


def avg_pool_grad(g, *, size, kernel, stride, padding, counted, divisor):
    """The gradient of avg_pool for an input of spatial `size`; None for negative padding."""
    if any(lo < 0 for lo, _ in padding):
        return None
    g = plain(g)
    if _spreads_alone(g.shape[2:], tuple(size), kernel, stride, padding):
        return _shared_out(g, size, kernel, prod(kernel) if divisor is None else divisor)
    plan, shape = avg_grad_plan(g.shape, tuple(size), kernel, stride, padding, counted, divisor, g.dtype,
                                 pool.get_num_threads())
    out = empty(shape, g.dtype)
    plan(g, g, out)
    return out


_LONG = 4           # elements along the last dim of a window from which copying its number pays


@functools.lru_cache(512)
def _spreads_alone(windows, size, kernel, stride, padding) -> bool:
    """Whether each window's gradient goes to elements that no other window has, and all have one."""
    return (kernel[-1] >= _LONG and not any(lo or hi for lo, hi in padding) and kernel == stride
            and all(n == count * k for n, count, k in zip(size, windows, kernel)))


def _shared_out(g, size, kernel, count):
    """Each window's share of its gradient at all its elements; zeros have the sign that sums give them."""
    share = g / g.dtype.type(count) + g.dtype.type(0)
    out = empty((*g.shape[:2], *size), g.dtype)
    beside = [n for pair in zip(g.shape[2:], kernel) for n in pair]
    source = share.reshape(*g.shape[:2], *[n for size in g.shape[2:] for n in (size, 1)])
    target = out.reshape(*g.shape[:2], *beside)
    kernels.cast(dt.BY_NP[g.dtype], dt.BY_NP[g.dtype])(np.broadcast_to(source, target.shape), out=target)
    return out


@functools.lru_cache(512)
def avg_grad_plan(g_shape, size, kernel, stride, padding, counted, divisor, dtype, threads):
    """(plan, shape of the result)"""
    forward = _windows(size, kernel, stride, padding, (1,) * len(kernel))
    back = tuple(Window(d.out, d.size, d.taps, d.stride, d.low) for d in forward)
    shape = (*g_shape[:2], *size)
    return _row_plan(codegen.AVERAGE_GRAD, back, prod(shape[:2]), dtype, _tables(forward, counted, divisor)), shape


# Blocked arrays (N, channel blocks, *spatial, lanes).


def max_pool_blocked(x, **params):
    """The largest element of each window; every window must meet x."""
    return _run_blocked(x, max_pool_blocked_plan(x.shape, x.dtype, **params))


def max_pool_blocked_plan(x_shape, dtype, *, kernel, stride, padding, dilation):
    """(plan, shape of the result)"""
    return _blocked_plan(codegen.MAX, x_shape, kernel, stride, padding, dilation, (), None, dtype, pool.get_num_threads())


def avg_pool_blocked(x, **params):
    """The mean of each window."""
    return _run_blocked(x, avg_pool_blocked_plan(x.shape, x.dtype, **params))


def avg_pool_blocked_plan(x_shape, dtype, *, kernel, stride, padding, counted, divisor):
    """(plan, shape of the result)"""
    return _blocked_plan(codegen.AVERAGE, x_shape, kernel, stride, padding, (1,) * len(kernel), counted, divisor, dtype,
                         pool.get_num_threads())


def max_pool_places_blocked(x, **params):
    """(largest element of each window, their places as int32); every window must meet x."""
    plan, shape = max_pool_places_plan(x.shape, x.dtype, **params)
    out, places = empty(shape, x.dtype), empty(shape, np.dtype(np.int32))
    plan(x, x, out, call.address_of(places))
    return out, places


def max_pool_places_plan(x_shape, dtype, *, kernel, stride, padding, dilation):
    """(plan, shape of the results)"""
    return _blocked_plan(blocked_codegen.PLACES, x_shape, kernel, stride, padding, dilation, (), None, dtype,
                         pool.get_num_threads())


def max_pool_grad_blocked(g, places, *, size, **params):
    """Values at their places in planes of spatial `size`."""
    plan, shape = max_pool_grad_plan(g.shape, g.dtype, size=tuple(size), **params)
    out = empty(shape, g.dtype)
    plan(g, g, out, call.address_of(places))
    return out


def max_pool_grad_plan(g_shape, dtype, *, size, kernel, stride, padding, dilation):
    """(plan, shape of the result)"""
    shape = (*g_shape[:2], *size, g_shape[-1])
    return _max_grad_plan(shape, kernel, stride, padding, dilation, dtype, pool.get_num_threads()), shape


@functools.lru_cache(512)
def _max_grad_plan(shape, kernel, stride, padding, dilation, dtype, threads):
    steps, dims, planes = conv_steps.Steps(threads), _windows(shape[2:-1], kernel, stride, padding, dilation), prod(shape[:2])
    work = shape[-1] * (prod(d.size for d in dims) + prod(d.out * d.taps for d in dims))
    chunks = conv_steps.share(planes * work, planes, threads)
    words = _words(dims) | {"items": planes, "chunks": chunks, "x_plane": prod(shape[2:]) * dtype.itemsize}
    task = _blocked_task(blocked_codegen.MAX_GRAD, _ELEMENTS[dtype], tuple(d.taps for d in dims))
    steps.add(task, chunks, codegen.WORDS, words, {"x": (X, 0), "y": (Y, 0), "index": (OPERANDS, 0)})
    return steps.plan()


def avg_pool_grad_blocked(g, **params):
    """The gradient of `avg_pool_blocked`."""
    return _run_blocked(g, avg_pool_grad_blocked_plan(g.shape, g.dtype, **params))


def avg_pool_grad_blocked_plan(g_shape, dtype, *, size, kernel, stride, padding, counted, divisor):
    """(plan, shape of the result)"""
    return _blocked_grad_plan(g_shape, tuple(size), kernel, stride, padding, counted, divisor, dtype, pool.get_num_threads())


@functools.lru_cache(512)
def _blocked_grad_plan(g_shape, size, kernel, stride, padding, counted, divisor, dtype, threads):
    forward = _windows(size, kernel, stride, padding, (1,) * len(kernel))
    back = tuple(Window(d.out, d.size, d.taps, d.stride, d.low) for d in forward)
    plan = _row_plan(codegen.AVERAGE_GRAD, back, prod(g_shape[:2]), dtype, _tables(forward, counted, divisor),
                     blocks=g_shape[1])
    return plan, (*g_shape[:2], *size, g_shape[-1])


def _run_blocked(x, found):
    plan, shape = found
    out = empty(shape, x.dtype)
    plan(x, x, out)
    return out


@functools.lru_cache(512)
def _blocked_plan(kind, shape, kernel, stride, padding, dilation, counted, divisor, dtype, threads):
    dims = _windows(shape[2:-1], kernel, stride, padding, dilation)
    tables = _tables(dims, counted, divisor) if kind == codegen.AVERAGE else ()
    shape = (*shape[:2], *(d.out for d in dims[_DIMS - len(kernel):]), shape[-1])
    return _row_plan(kind, dims, prod(shape[:2]), dtype, tables, blocks=shape[1]), shape


# Values at places.


def plane_put(x, indices, *, size, accumulate):
    """Zeros of spatial `size` with each value at its flat place in its plane, added or replaced in order."""
    x, indices, plane = plain(x), plain(indices), prod(size)
    out = empty((*x.shape[:2], *size), x.dtype)
    failed = np.zeros(1, np.int64)
    plan = put_plan(prod(x.shape[:2]), prod(x.shape[2:]), plane, accumulate, x.dtype, pool.get_num_threads())
    plan(x, x, out, call.address_of(indices), call.address_of(failed))
    if failed[0]:
        raise ShapeError(f"plane_put: indices reach from {indices.min()} to {indices.max()}, outside of a plane of {plane} "
                         f"elements {tuple(size)}")
    return out


@functools.lru_cache(512)
def put_plan(planes, count, plane, accumulate, dtype, threads):
    """The job of `plane_put`."""
    steps = conv_steps.Steps(threads)
    chunks = conv_steps.share(planes * (4 * count + plane), planes, threads)
    steps.add(_task(codegen.PUT, _ELEMENTS[dtype], codegen.CONTIGUOUS), chunks, codegen.PUT_WORDS,
              {"items": planes, "chunks": chunks, "count": count, "plane": plane, "add": int(accumulate)},
              {"x": (X, 0), "y": (Y, 0), "index": (OPERANDS, 0), "failed": (EXTRA, 0)})
    return steps.plan()
