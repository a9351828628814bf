"""Pools under `ingot.*`, and helpers that all pools share."""

from typing import Any

from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.nn import pool as ops
from ....ir.ops.nn.resample import resample
from ...core.tensor import Tensor, shape_of
from ..register.register import api
from ..register.type_promotion import wide_on_cpus
from .spatial_arguments import as_batch, per_dim, positive, unbatch


def window(rank, name, kernel_size, stride):
    """Return kernel and stride; a stride of None or () is the kernel."""
    kernel = positive(per_dim(kernel_size, rank, name, "kernel_size"), name, "kernel_size")
    if stride is None or (isinstance(stride, (tuple, list)) and not stride):
        return kernel, kernel
    return kernel, positive(per_dim(stride, rank, name, "stride"), name, "stride")


def pool_padding(sizes, kernel, stride, padding, dilation, ceil_mode, name):
    """Return (low, high) for each dim so that exactly the windows of the result fit. With `ceil_mode` a last window may extend
    beyond the end, but none starts beyond the input and its low padding."""
    pairs = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation):
        span = d * (k - 1) + 1
        if p < 0 or 2 * p > span:
            raise ArgumentError(f"{name}: padding must be between 0 and half of the window {kernel}, got {padding}")
        room = n + 2 * p - span
        count = (-(-room // s) if ceil_mode else room // s) + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        if count < 1:
            raise ShapeError(f"{name}: an input of spatial size {list(sizes)} is too small for kernel {kernel}, stride "
                             f"{stride} and padding {padding}")
        pairs.append((p, (count - 1) * s + span - n - p))
    return tuple(pairs)


def max_pool(rank, input, kernel_size, stride, padding, dilation, ceil_mode):
    """Return values and indices of the maximum pool over `rank` spatial dims."""
    name = f"max_pool{rank}d"
    x, added = as_batch(wide_on_cpus(input) if rank == 3 else input, rank, name)
    kernel, stride = window(rank, name, kernel_size, stride)
    padding = per_dim(padding, rank, name, "padding")
    dilation = positive(per_dim(dilation, rank, name, "dilation"), name, "dilation")
    pairs = pool_padding(shape_of(x)[2:], kernel, stride, padding, dilation, ceil_mode, name)
    values, indices = ops.max_pool(x, kernel=kernel, stride=stride, padding=pairs, dilation=dilation)
    return unbatch(values, added), unbatch(indices, added)


def average_pool(rank, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor):
    """Return the average pool over `rank` spatial dims."""
    name = f"avg_pool{rank}d"
    x, added = as_batch(wide_on_cpus(input) if rank == 3 else input, rank, name)
    kernel, stride = window(rank, name, kernel_size, stride)
    padding = per_dim(padding, rank, name, "padding")
    pairs = pool_padding(shape_of(x)[2:], kernel, stride, padding, (1,) * rank, ceil_mode, name)
    if divisor == 0:
        raise ArgumentError(f"{name}: divisor_override must not be zero")
    counted = tuple([(p, p) if count_include_pad else (0, 0) for p in padding])
    return unbatch(ops.avg_pool(x, kernel=kernel, stride=stride, padding=pairs, counted=counted, divisor=divisor), added)


def adaptive_size(rank, x, output_size, name):
    """Return the result's spatial sizes; None keeps the input's."""
    sizes = shape_of(x)[2:]
    if isinstance(output_size, (tuple, list)):
        if len(output_size) != rank:
            raise ArgumentError(f"{name}: output_size must be an int or {rank} ints, got {output_size!r}")
        output_size = [n if o is None else o for n, o in zip(sizes, output_size)]
    elif output_size is None:
        output_size = sizes
    wanted = per_dim(output_size, rank, name, "output_size")
    if any(n < 0 for n in wanted):
        raise ArgumentError(f"{name}: output_size must not be negative, got {wanted}")
    if 0 in sizes:
        raise ShapeError(f"{name} of {x.aval}: the spatial sizes must not be 0")
    return wanted


def _even(sizes, wanted):
    """Return the window with which even bins are an ordinary pool, or None."""
    if 0 in wanted or any(n % o for n, o in zip(sizes, wanted)):
        return None
    return tuple(n // o for n, o in zip(sizes, wanted))


def adaptive_average(rank, input, output_size):
    """Return means of even bins."""
    name = f"adaptive_avg_pool{rank}d"
    x, added = as_batch(wide_on_cpus(input) if rank == 3 else input, rank, name)
    sizes = shape_of(x)[2:]
    wanted = adaptive_size(rank, x, output_size, name)
    kernel = _even(sizes, wanted)
    none = ((0, 0),) * rank
    if kernel is not None:
        out = ops.avg_pool(x, kernel=kernel, stride=kernel, padding=none, counted=none, divisor=None)
    elif 0 in wanted:
        out = x[(..., *[slice(0, 1)] * rank)].expand(*x.shape[:2], *wanted)
    else:
        out = resample(x, size=wanted, mode="area", align_corners=False, scales=(None,) * rank)
    return unbatch(out, added)


def adaptive_maximum(rank, input, output_size):
    """Return values and indices of the maxima of even bins."""
    name = f"adaptive_max_pool{rank}d"
    x, added = as_batch(wide_on_cpus(input) if rank == 3 else input, rank, name)
    wanted = adaptive_size(rank, x, output_size, name)
    kernel = _even(shape_of(x)[2:], wanted)
    if kernel is not None:
        values, indices = ops.max_pool(x, kernel=kernel, stride=kernel, padding=((0, 0),) * rank, dilation=(1,) * rank)
    else:
        values, indices = ops.adaptive_max_pool(x, size=wanted)
    return unbatch(values, added), unbatch(indices, added)


def _publish_max_pool(rank):
    def fn(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False) -> Any:
        """Return the largest element of each window."""
        return max_pool(rank, input, kernel_size, stride, padding, dilation, ceil_mode)[0]

    api(method=False, memoised=True, name=f"max_pool{rank}d")(fn)


for _rank in (1, 2, 3):
    _publish_max_pool(_rank)


@api(method=False, memoised=True)
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False) -> tuple[Tensor, Tensor]:
    """Return the largest element of each window, and its index."""
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)


@api(method=False, memoised=True)
def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """Return the mean of each window."""
    return average_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


@api(method=False, memoised=True)
def adaptive_avg_pool1d(input, output_size):
    """Return the mean of each of `output_size` even bins."""
    return adaptive_average(1, input, output_size)


@api(method=False, memoised=True)
def adaptive_max_pool1d(input, output_size) -> tuple[Tensor, Tensor]:
    """Return the largest element of each of `output_size` even bins, and its index."""
    return adaptive_maximum(1, input, output_size)
