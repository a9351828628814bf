"""Pools of plain arrays (N, C, *spatial) and of blocked channels: maxima, averages, and their gradients.

float32 and float64, up to three spatial dims. A function returns None if the kernels do not apply.
"""

import functools
from math import prod

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.nn import pool as ops
from ....ir.sized_cache import sized_cache
from ....ir.target import host
from ....passes.codegen.llvm.conv import pooling as codegen
from ....passes.codegen.llvm.conv import pooling_blocked as blocked_codegen
from ..calls import call, pool
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import EXTRA, OPERANDS, SlotJobs, StepBuilder, X, Y, share, wide
from ..calls.step_list import At, Status
from ..compiler.compile import task_of
from ..loops import kernels
from ..loops.copies import dense
from ..loops.kernels import LOW, widened
from ..memory.alloc import empty
from .conv_layout import window_words
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
    return task_of(codegen.PoolKernel(host(), kind, element, spread))


@functools.lru_cache(None)
def _blocked_task(kind, element, taps):
    return task_of(blocked_codegen.BlockedPoolKernel.of(host(), kind, element, taps))


def _windows(sizes, kernel, stride, padding, dilation):
    dims = [Window(n, (n + lo + hi - d * (k - 1) - 1) // s + 1, k, s, lo, d)
            for n, k, s, (lo, hi), d in zip(sizes, kernel, stride, padding, dilation)]
    return (Window(1, 1),) * (_DIMS - len(dims)) + tuple(dims)


def _spread(width):
    return codegen.CONTIGUOUS if width.stride == 1 else codegen.PAIRS if width.stride == 2 else codegen.APART


def _words(dims):
    depth, height, width = dims
    return window_words(dims) | {
        "depth": depth.size, "height": height.size, "width": width.size, "out_rows": depth.out * height.out,
        "out_height": height.out, "out_width": width.out}


def _row_plan(kind, dims, planes, dtype, tables=(), blocks=0):
    """Return the plan of a job whose items are rows of the result. In arrays of blocks of channels, pixels are vectors."""
    words, steps = _words(dims), SlotJobs()
    items, item = planes * words["out_rows"], host().vector_bytes if blocks else dtype.itemsize
    work = items * dims[2].out * prod(d.taps for d in dims) * (item // dtype.itemsize)
    chunks = share(work, items, steps.threads)
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


def max_pool(x, *, kernel, stride, padding, dilation):
    """Return (largest elements, their places), or None if a window is entirely outside of x."""
    x = dense(x)
    found = max_plan(x.shape, kernel, stride, padding, dilation, x.dtype, pool.get_num_threads())
    if found is None:
        return None
    plan, shape = found
    positions = empty(shape, np.dtype(np.int64))
    return plan.new(shape, x, x, call.address_of(positions)), positions


@functools.lru_cache(512)
def max_plan(shape, kernel, stride, padding, dilation, dtype, threads):
    """Return (plan, shape of the result), or None if a window is entirely outside of x."""
    dims = _windows(shape[2:], kernel, stride, padding, dilation)
    for d in dims:
        reached = 0
        for low, high in sorted(d.taps_seen(0, d.out, tap) for tap in range(d.taps)):
            reached = max(reached, high) if low <= reached else reached
        if reached < d.out:
            return None
    shape = (*shape[:2], *(d.out for d in dims[_DIMS - len(kernel):]))
    return _row_plan(codegen.MAX, dims, prod(shape[:2]), dtype), shape


def _table(window, counted, divisor):
    """Return the number of elements of each window along a dim."""
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
    """Return the mean of each window."""
    x = dense(x)
    if ops.is_whole(x.shape[2:], kernel, padding):
        total = kernels.reduction("sum", dt.BY_NP[x.dtype])(x, tuple(range(2, x.ndim)), True)
        return total / x.dtype.type(prod(kernel) if divisor is None else divisor)
    if ops.are_bins(x.shape[2:], kernel, stride, padding):
        return _mean_of_bins(x, kernel, divisor)
    plan, shape = avg_plan(x.shape, kernel, stride, padding, counted, divisor, x.dtype, pool.get_num_threads())
    return plan.new(shape, x, x)


def _mean_of_bins(x, kernel, divisor):
    """Return the mean of windows that are bins: along the outermost dim first, so that rows are read in vectors."""
    total, sizes = kernels.reduction("sum", dt.BY_NP[x.dtype]), x.shape
    for axis, k in enumerate(kernel, 2):
        if k > 1:
            x = total(x.reshape(*x.shape[:axis], sizes[axis] // k, k, *x.shape[axis + 1:]), (axis + 1,))
    return x / x.dtype.type(prod(kernel) if divisor is None else divisor)


def _table_bytes(found) -> int:
    """Return the bytes of a plan's tables: a number for each place of the result's dims."""
    return 16 * sum(found[1][2:])


@sized_cache(_table_bytes)
def avg_plan(shape, kernel, stride, padding, counted, divisor, dtype, threads):
    """Return (plan, shape of the result)."""
    dims = _windows(shape[2:], kernel, stride, padding, (1,) * len(kernel))
    shape = (*shape[:2], *(d.out for d in dims[_DIMS - len(kernel):]))
    return _row_plan(codegen.AVERAGE, dims, prod(shape[:2]), dtype, _tables(dims, counted, divisor)), shape


def avg_pool_grad(g, *, size, kernel, stride, padding, counted, divisor):
    """Return the gradient of avg_pool for an input of spatial `size`; None for negative padding."""
    if any(lo < 0 for lo, _ in padding):
        return None
    g = dense(g)
    if _are_disjoint(g.shape[2:], tuple(size), kernel, stride, padding):
        return _spread_evenly(g, size, kernel, prod(kernel) if divisor is None else divisor)
    plan, shape = avg_grad_plan(g.shape, tuple(size), kernel, stride, padding, counted, divisor, g.dtype,
                                 pool.get_num_threads())
    return plan.new(shape, g, g)


_LONG = 4           # elements along the last dim of a window from which copying its number pays


@functools.lru_cache(512)
def _are_disjoint(windows, size, kernel, stride, padding) -> bool:
    """Whether windows do not overlap and cover all elements."""
    return (kernel[-1] >= _LONG and not any(lo or hi for lo, hi in padding) and kernel == stride
            and all(n == count * k for n, count, k in zip(size, windows, kernel)))


def _spread_evenly(g, size, kernel, count):
    """Spread each window's share of its gradient to its elements; zeros have the sign that sums give them."""
    share = g / g.dtype.type(count) + g.dtype.type(0)
    out = empty((*g.shape[:2], *size), g.dtype)
    split = [n for pair in zip(g.shape[2:], kernel) for n in pair]
    source = share.reshape(*g.shape[:2], *[n for size in g.shape[2:] for n in (size, 1)])
    target = out.reshape(*g.shape[:2], *split)
    kernels.cast(dt.BY_NP[g.dtype], dt.BY_NP[g.dtype])(np.broadcast_to(source, target.shape), out=target)
    return out


@sized_cache(_table_bytes)
def avg_grad_plan(g_shape, size, kernel, stride, padding, counted, divisor, dtype, threads):
    """Return (plan, shape of the result)."""
    forward = _windows(size, kernel, stride, padding, (1,) * len(kernel))
    back = tuple(Window(d.out, d.size, d.taps, d.stride, d.low) for d in forward)
    shape = (*g_shape[:2], *size)
    return _row_plan(codegen.AVERAGE_GRAD, back, prod(shape[:2]), dtype, _tables(forward, counted, divisor)), shape


# Blocked arrays (N, channel blocks, *spatial, lanes).


def max_pool_blocked_plan(x_shape, dtype, *, kernel, stride, padding, dilation):
    """Return (plan, shape of the result)."""
    return _blocked_plan(codegen.MAX, x_shape, kernel, stride, padding, dilation, (), None, dtype, pool.get_num_threads())


def avg_pool_blocked_plan(x_shape, dtype, *, kernel, stride, padding, counted, divisor):
    """Return (plan, shape of the result)."""
    return _blocked_plan(codegen.AVERAGE, x_shape, kernel, stride, padding, (1,) * len(kernel), counted, divisor, dtype,
                         pool.get_num_threads())


def max_pool_positions_plan(x_shape, dtype, *, kernel, stride, padding, dilation):
    """Return (plan, shape of the results)."""
    return _blocked_plan(blocked_codegen.PLACES, x_shape, kernel, stride, padding, dilation, (), None, dtype,
                         pool.get_num_threads())


def max_pool_grad_plan(g_shape, dtype, *, size, kernel, stride, padding, dilation):
    """Return (plan, shape of the result)."""
    shape = (*g_shape[:2], *size, g_shape[-1])
    return _max_grad_plan(shape, kernel, stride, padding, dilation, dtype, pool.get_num_threads()), shape


@functools.lru_cache(512)
def _max_grad_plan(shape, kernel, stride, padding, dilation, dtype, threads):
    steps, dims, planes = SlotJobs(threads), _windows(shape[2:-1], kernel, stride, padding, dilation), prod(shape[:2])
    work = shape[-1] * (prod(d.size for d in dims) + prod(d.out * d.taps for d in dims))
    chunks = share(planes * work, planes, threads)
    words = _words(dims) | {"items": planes, "chunks": chunks, "x_plane": prod(shape[2:]) * dtype.itemsize}
    task = _blocked_task(blocked_codegen.MAX_GRAD, _ELEMENTS[dtype], tuple(d.taps for d in dims))
    steps.add(task, chunks, codegen.WORDS, words, {"x": (X, 0), "y": (Y, 0), "index": (OPERANDS, 0)})
    return steps.plan()


def avg_pool_grad_blocked_plan(g_shape, dtype, *, size, kernel, stride, padding, counted, divisor):
    """Return (plan, shape of the result)."""
    return _blocked_grad_plan(g_shape, tuple(size), kernel, stride, padding, counted, divisor, dtype, pool.get_num_threads())


@functools.lru_cache(512)
def _blocked_grad_plan(g_shape, size, kernel, stride, padding, counted, divisor, dtype, threads):
    forward = _windows(size, kernel, stride, padding, (1,) * len(kernel))
    back = tuple(Window(d.out, d.size, d.taps, d.stride, d.low) for d in forward)
    plan = _row_plan(codegen.AVERAGE_GRAD, back, prod(g_shape[:2]), dtype, _tables(forward, counted, divisor),
                     blocks=g_shape[1])
    return plan, (*g_shape[:2], *size, g_shape[-1])


@functools.lru_cache(512)
def _blocked_plan(kind, shape, kernel, stride, padding, dilation, counted, divisor, dtype, threads):
    dims = _windows(shape[2:-1], kernel, stride, padding, dilation)
    tables = _tables(dims, counted, divisor) if kind == codegen.AVERAGE else ()
    shape = (*shape[:2], *(d.out for d in dims[_DIMS - len(kernel):]), shape[-1])
    return _row_plan(kind, dims, prod(shape[:2]), dtype, tables, blocks=shape[1]), shape


def plane_put(x, indices, *, size, accumulate):
    """Return zeros of spatial `size` with each value at its flat place in its plane, added or replaced in order."""
    x, indices, plane = dense(x), dense(indices.astype(np.int64, copy=False)), prod(size)
    out = empty((*x.shape[:2], *size), x.dtype)
    failed = np.zeros(1, np.int64)
    plan = put_plan(prod(x.shape[:2]), prod(x.shape[2:]), plane, accumulate, x.dtype, pool.get_num_threads())
    plan(x, x, out, call.address_of(indices), call.address_of(failed))
    if failed[0]:
        raise ops.out_of_plane("plane_put", indices, size)
    return out


@functools.lru_cache(512)
def put_plan(planes, count, plane, accumulate, dtype, threads):
    """Return the job of `plane_put`."""
    steps = SlotJobs(threads)
    chunks = share(planes * (4 * count + plane), planes, threads)
    steps.add(_task(codegen.PUT, _ELEMENTS[dtype], codegen.CONTIGUOUS), chunks, codegen.PUT_WORDS,
              {"items": planes, "chunks": chunks, "count": count, "plane": plane, "add": int(accumulate)},
              {"x": (X, 0), "y": (Y, 0), "index": (OPERANDS, 0), "failed": (EXTRA, 0)})
    return steps.plan()


# Maxima of even bins.


@functools.lru_cache(512)
def _bin_positions(extent, count):
    """Return the positions in each bin (count, widest); short bins repeat their last one."""
    return ops.bin_positions(extent, count)


def _bin_maxima_along(x, axis, count):
    total = kernels.reduction("max", dt.BY_NP[x.dtype])
    if count == 1:
        return total(x, (axis,), True)
    before = (slice(None),) * axis
    starts, ends = ops.bins(x.shape[axis], count)
    return np.concatenate([total(x[(*before, slice(a, b))], (axis,), True) for a, b in zip(starts, ends)], axis)


def _first_bin_positions(x, axis, count):
    """Return the place along one dim of each bin's largest element."""
    before = (slice(None),) * axis
    starts, ends = ops.bins(x.shape[axis], count)
    return np.stack([x[(*before, slice(a, b))].argmax(axis) + a for a, b in zip(starts, ends)], axis)


def bin_maxima(x, *, size):
    """Return maxima (N, C, *size) of even bins and their flat indices in the plane; `x` is float32 or float64, and not empty.

    The innermost dim is reduced first, by the kernels of reductions; what is left is a few times smaller. Then each maximum is
    followed from the outermost dim inwards: which row of the bin has it, then which element of that row. Of equal elements the
    first one in the order of memory is found, and nan counts as the largest, as in the reference.
    """
    rank = len(size)
    levels = [x]                    # levels[-1]: all dims but the outermost are in bins
    for axis in range(rank + 1, 2, -1):
        levels.append(_bin_maxima_along(levels[-1], axis, size[axis - 2]))
    chosen = [_first_bin_positions(levels[-1], 2, size[0])]
    grid = np.ogrid[tuple(map(slice, (*x.shape[:2], *size)))]
    for axis in range(3, rank + 2):
        positions = _bin_positions(x.shape[axis], size[axis - 2])
        spread = positions.reshape((1,) * axis + (len(positions),) + (1,) * (rank + 1 - axis) + (-1,))
        at = [*grid[:2], *chosen, None, *grid[axis + 1:]]
        at = [spread if a is None else a[..., None] for a in at]
        best = levels[rank + 1 - axis][tuple(at)].argmax(-1)
        spread = np.broadcast_to(spread, (*best.shape, spread.shape[-1]))
        chosen.append(np.take_along_axis(spread, best[..., None], -1)[..., 0])
    values = x[(*grid[:2], *chosen)]
    flat = chosen[0]
    for extent, more in zip(x.shape[3:], chosen[1:]):
        flat = flat * extent + more
    return values, flat


def _eager(run):
    """Return the maker of an eager pool; float16 and bfloat16 values go through float32."""
    def checked(x, *others, **params):
        return run(x, *others, **params) if supported(x) and all([a.size for a in others]) else None  # noqa: C419

    through_float32 = widened(checked, 1)

    def make(op):
        def call(x, *others, **params):
            found = (through_float32 if x.dtype in LOW else checked)(x, *others, **params)
            return op.ref(x, *others, **params) if found is None else found

        return call

    return make


_LARGE_WINDOW = 512         # elements from which windows that do not meet are reduced as bins
_MANY_IN_BINS = 1 << 13     # elements of all planes from which bins are; below, the reference looks at each by itself


def _max_pool(x, *, kernel, stride, padding, dilation):
    """Reduce large adjacent windows as bins, in vectors along their rows."""
    if kernel == stride and prod(kernel) >= _LARGE_WINDOW and not any(map(any, padding)) and set(dilation) == {1}:
        size = [n // k for n, k in zip(x.shape[2:], kernel)]
        if all(n == k * count for n, k, count in zip(x.shape[2:], kernel, size)):
            return bin_maxima(x, size=size)
    return max_pool(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation)


def _adaptive_max_pool(x, *, size):
    return bin_maxima(x, size=size) if x.size >= _MANY_IN_BINS else None


def _max_pool_grad(g, indices, *, size, **window):
    return plane_put(g, indices, size=size, accumulate=True)


def _max_pool_step(node, operands, results):
    return _maxima(operands, results, *[node.params[name] for name in ("kernel", "stride", "padding", "dilation")])


def _adaptive_max_pool_step(node, operands, results):
    """Plan bins of equal size."""
    sizes, counts = operands[0].shape[2:], node.params["size"]
    if any(n % count for n, count in zip(sizes, counts)):
        return None
    bins, rank = tuple([n // count for n, count in zip(sizes, counts)]), len(counts)
    return _maxima(operands, results, bins, bins, ((0, 0),) * rank, (1,) * rank)


def _maxima(operands, results, *window):
    (x,), (out, _), made = operands, results, StepBuilder()
    if not _takes(x):
        return None
    found = max_plan(x.shape, *window, wide(x.dtype), pool.get_num_threads())
    if found is None:
        return None
    return made.call(found[0].native({X: made.read(0, x), Y: made.write(1, out), OPERANDS: At(2)}).steps)


def _avg_pool_step(node, operands, results):
    """Plan means, except those of bins, which are sums already (`passes/simplify/composite_kernels.py`)."""
    (x,), how = operands, node.params
    sizes = x.shape[2:]
    in_bins = ops.is_whole(sizes, how["kernel"], how["padding"]) or ops.are_bins(
        sizes, how["kernel"], how["stride"], how["padding"])
    return None if in_bins else _averages(avg_plan, operands, results, how)


def _avg_pool_grad_step(node, operands, results):
    how = node.params
    if any(lo < 0 for lo, _ in how["padding"]):
        return None
    return _averages(avg_grad_plan, operands, results, how | {"size": tuple(how["size"])})


def _averages(plan_of, operands, results, how):
    (x,), (out,), made = operands, results, StepBuilder()
    if not _takes(x):
        return None
    plan, _ = plan_of(x.shape, dtype=wide(x.dtype), threads=pool.get_num_threads(), **how)
    return made.call(plan.native({X: made.read(0, x), Y: made.write(1, out)}).steps)


def _plane_put_step(node, operands, results):
    (x, indices), (out,), made = operands, results, StepBuilder()
    if not _takes(x) or indices.dtype != np.int64:
        return None
    made_plan = put_plan(prod(x.shape[:2]), prod(x.shape[2:]), prod(node.params["size"]), node.params["accumulate"],
                            wide(x.dtype), pool.get_num_threads())
    return made.call(made_plan.native({X: made.read(0, x), OPERANDS: At(1), Y: made.write(2, out), EXTRA: Status()}).steps)


def _takes(x) -> bool:
    return takes(wide(x.dtype), x.shape)


OPERATORS = {
    ops.max_pool: OperatorKernel(make=_eager(_max_pool), step=_max_pool_step),
    ops.adaptive_max_pool: OperatorKernel(make=_eager(_adaptive_max_pool), step=_adaptive_max_pool_step),
    ops.avg_pool: OperatorKernel(make=_eager(avg_pool), step=_avg_pool_step),
    ops.avg_pool_grad: OperatorKernel(make=_eager(avg_pool_grad), step=_avg_pool_grad_step),
    ops.plane_put: OperatorKernel(make=_eager(plane_put), step=_plane_put_step),
    ops.max_pool_grad: OperatorKernel(make=_eager(_max_pool_grad)),
}
