"""Pools over one, two and three spatial dims."""

import math
from functools import partial

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.nn import pool as ops
from ....ir.symbols.substitute import as_int
from ...api.nn.pooling import adaptive_average, adaptive_maximum, average_pool, max_pool, window
from ...api.nn.spatial_arguments import as_batch, by_rank, per_dim, unbatch
from ...api.random.random_tensors import rand
from ...api.register.register import deliver, memoised
from ...api.register.type_promotion import wide_on_cpus

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
           "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
           "adaptive_max_pool3d_with_indices", "avg_pool2d", "avg_pool3d", "fractional_max_pool2d",
           "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "lp_pool1d",
           "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
           "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d"]

# Maxima.


def _max_pool(rank, always_indices=False):
    def pool(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        """Return the largest element of each window; `return_indices` and `*_with_indices` add its flat spatial index."""
        both = max_pool(rank, input, kernel_size, stride, padding, dilation, ceil_mode)
        return both if always_indices or return_indices else both[0]
    return pool


def _adaptive_max_pool(rank, always_indices=False):
    def pool(input, output_size, return_indices=False):
        """Return the largest element of each of `output_size` even bins; `return_indices` and `*_with_indices` add indices."""
        both = adaptive_maximum(rank, input, output_size)
        return both if always_indices or return_indices else both[0]
    return pool


max_pool1d, max_pool2d, max_pool3d = map(memoised, by_rank("max_pool{}d", _max_pool))
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = map(
    memoised, by_rank("max_pool{}d_with_indices", partial(_max_pool, always_indices=True)))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(
    memoised, by_rank("adaptive_max_pool{}d", _adaptive_max_pool))
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices = map(
    memoised, by_rank("adaptive_max_pool{}d_with_indices", partial(_adaptive_max_pool, always_indices=True)))


def _fractional(rank, input, kernel_size, output_size, output_ratio, samples):
    name = f"fractional_max_pool{rank}d"
    x, added = as_batch(wide_on_cpus(input), rank, name)
    kernel = per_dim(kernel_size, rank, name, "kernel_size")
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError(f"{name} takes either output_size or output_ratio")
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * rank
        if len(ratios) != rank or not all(0 < r < 1 for r in ratios):
            raise ArgumentError(f"{name}: output_ratio must be a number or {rank} numbers between 0 and 1, got {output_ratio}")
        output_size = [int(n * r) for n, r in zip(x.shape[2:], ratios)]
    if samples is None:
        samples = rand(*x.shape[:2], rank, dtype=x.dtype, device=x.device)
    else:
        samples = samples[:x.shape[0]]
        samples = samples.flip(-1) if rank == 2 else samples     # users give samples of a plane as (width, height)
    both = ops.fractional_max_pool(x, samples, kernel=kernel, size=per_dim(output_size, rank, name, "output_size"))
    return tuple(unbatch(part, added) for part in both)


def _fractional_max_pool(rank, always_indices=False):
    def pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        """Return maxima over windows at random, non-integer steps; `return_indices` and `*_with_indices` add their indices."""
        both = _fractional(rank, input, kernel_size, output_size, output_ratio, _random_samples)
        return both if always_indices or return_indices else both[0]
    return pool


fractional_max_pool2d, fractional_max_pool3d = by_rank("fractional_max_pool{}d", _fractional_max_pool, (2, 3))
fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = by_rank(
    "fractional_max_pool{}d_with_indices", partial(_fractional_max_pool, always_indices=True), (2, 3))


# Unpooling.


def _unpool_size(x, kernel, stride, padding, output_size, name):
    """Return the size before pooling; `output_size` may differ from the smallest by less than a stride."""
    smallest = tuple((n - 1) * s - 2 * p + k for n, k, s, p in zip(x.shape[2:], kernel, stride, padding))
    if output_size is None:
        return smallest
    size = tuple(as_int(n) for n in output_size)[-len(kernel):]
    if len(size) != len(kernel) or any(not n - s < m < n + s for m, n, s in zip(size, smallest, stride)):
        raise ArgumentError(f"{name}: output_size {list(output_size)} must be within a stride {stride} of {smallest}")
    return size


def _max_unpool(rank):
    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        """Return zeros with each value at the position from which the maximum pool took it."""
        name = f"max_unpool{rank}d"
        x, added = as_batch(wide_on_cpus(input), rank, name)
        if indices.dtype is not dt.int64:
            raise DTypeError(f"{name} takes int64 indices, got {indices.dtype.name}")
        if indices.shape != input.shape:
            raise ShapeError(f"{name} takes one index for each value, got values {input.aval} and indices {indices.aval}")
        kernel, stride = window(rank, name, kernel_size, stride)
        size = _unpool_size(x, kernel, stride, per_dim(padding, rank, name, "padding"), output_size, name)
        positions = as_batch(indices, rank, name)[0]
        return unbatch(ops.plane_put(x, positions, size=size, accumulate=False), added)
    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = map(memoised, by_rank("max_unpool{}d", _max_unpool))


# Averages and power means.


def _avg_pool(rank):
    def pool(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *,
             out=None):
        """Return the mean of each window."""
        means = average_pool(rank, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
        return deliver(means, out, f"avg_pool{rank}d")
    return pool


def _adaptive_avg_pool(rank):
    def pool(input, output_size):
        """Return the mean of each of `output_size` even bins."""
        return adaptive_average(rank, input, output_size)
    return pool


def _lp_pool(rank):
    def pool(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
        kernel, stride = window(rank, f"lp_pool{rank}d", kernel_size, stride)
        mean = average_pool(rank, input.pow(norm_type), kernel, stride, 0, ceil_mode, True, None)
        return (mean.sign() * mean.abs().relu() * float(math.prod(kernel))).pow(1.0 / norm_type)
    return pool


avg_pool2d, avg_pool3d = map(memoised, by_rank("avg_pool{}d", _avg_pool, (2, 3)))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = map(
    memoised, by_rank("adaptive_avg_pool{}d", _adaptive_avg_pool))
lp_pool1d, lp_pool2d, lp_pool3d = map(memoised, by_rank("lp_pool{}d", _lp_pool))
