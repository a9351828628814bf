"""Pools over one, two and three spatial dims."""

import math

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.ops.nn import pool as ops
from ....ir.symbols.substitute import as_int
from ...api.nn.pooling import adaptive_average, adaptive_maximum, average_pool, max_pool, window
from ...api.nn.spatial_arguments import as_batch, per_dim, unbatch
from ...api.random.random_tensors import rand
from ...api.register.register import deliver, remembered
from ...api.register.type_promotion import wide_on_cpus

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
           "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
           "adaptive_max_pool3d_with_indices", "avg_pool2d", "avg_pool3d", "fractional_max_pool2d",
           "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "lp_pool1d",
           "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
           "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d"]

# Maxima.


@remembered
def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Return the largest element of each window, with `return_indices` also its flat index."""
    found = max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@remembered
def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Return the largest element of each window, with `return_indices` also its flat index in the plane."""
    found = max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@remembered
def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Return the largest element of each window, with `return_indices` also its flat index in the volume."""
    found = max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return found if return_indices else found[0]


@remembered
def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Return the largest element of each window, and its flat index."""
    return max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode)


@remembered
def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Return the largest element of each window, and its flat index in its plane."""
    return max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode)


@remembered
def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Return the largest element of each window, and its flat index in its volume."""
    return max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode)


@remembered
def adaptive_max_pool1d(input, output_size, return_indices=False):
    """Return the largest element of each of `output_size` even bins, with `return_indices` also its index."""
    found = adaptive_maximum(1, input, output_size)
    return found if return_indices else found[0]


@remembered
def adaptive_max_pool2d(input, output_size, return_indices=False):
    """Return the largest element of each of `output_size` even bins, with `return_indices` also its index."""
    found = adaptive_maximum(2, input, output_size)
    return found if return_indices else found[0]


@remembered
def adaptive_max_pool3d(input, output_size, return_indices=False):
    """Return the largest element of each of `output_size` even bins, with `return_indices` also its index."""
    found = adaptive_maximum(3, input, output_size)
    return found if return_indices else found[0]


@remembered
def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """Return the largest element of each of `output_size` even bins, and its index."""
    return adaptive_maximum(1, input, output_size)


@remembered
def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """Return the largest element of each of `output_size` even bins, and its index."""
    return adaptive_maximum(2, input, output_size)


@remembered
def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """Return the largest element of each of `output_size` even bins, and its index."""
    return adaptive_maximum(3, input, output_size)


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
    found = ops.fractional_max_pool(x, samples, kernel=kernel, size=per_dim(output_size, rank, name, "output_size"))
    return tuple(unbatch(f, added) for f in found)


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Return maxima over windows at random, non-integer steps."""
    found = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    """Return maxima over windows at random, non-integer steps."""
    found = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                       _random_samples=None):
    """Return maxima over windows at random, non-integer steps, and their indices."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                                       _random_samples=None):
    """Return maxima over windows at random, non-integer steps, and their indices."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


# Unpooling.


def _unpool_size(x, kernel, stride, padding, output_size, name):
    """Return the size before pooling; `output_size` may differ from the smallest by less than a stride."""
    smallest = tuple((n - 1) * s - 2 * p + k for n, k, s, p in zip(x.shape[2:], kernel, stride, padding))
    if output_size is None:
        return smallest
    given = tuple(as_int(n) for n in output_size)[-len(kernel):]
    if len(given) != len(kernel) or any(not n - s < m < n + s for m, n, s in zip(given, smallest, stride)):
        raise ArgumentError(f"{name}: output_size {tuple(output_size)} must be within a stride {stride} of {smallest}")
    return given


def _unpool(rank, input, indices, kernel_size, stride, padding, output_size):
    name = f"max_unpool{rank}d"
    x, added = as_batch(wide_on_cpus(input), rank, name)
    if indices.dtype is not dt.int64:
        raise DTypeError(f"{name} takes int64 indices, got {indices.dtype}")
    if indices.shape != input.shape:
        raise ShapeError(f"{name} takes one index for each value, got values {input.aval} and indices {indices.aval}")
    kernel, stride = window(rank, name, kernel_size, stride)
    size = _unpool_size(x, kernel, stride, per_dim(padding, rank, name, "padding"), output_size, name)
    positions = as_batch(indices, rank, name)[0]
    return unbatch(ops.plane_put(x, positions, size=size, accumulate=False), added)


@remembered
def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Return zeros with each value at the position from which max_pool1d took it."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


@remembered
def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Return zeros with each value at the position from which max_pool2d took it."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


@remembered
def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Return zeros with each value at the position from which max_pool3d took it."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


# Averages and power means.


@remembered
def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *,
               out=None):
    """Return the mean of each window."""
    found = average_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return deliver(found, out, "avg_pool2d")


@remembered
def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, *,
               out=None):
    """Return the mean of each window."""
    found = average_pool(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return deliver(found, out, "avg_pool3d")


@remembered
def adaptive_avg_pool1d(input, output_size):
    """Return the mean of each of `output_size` even bins."""
    return adaptive_average(1, input, output_size)


@remembered
def adaptive_avg_pool2d(input, output_size):
    """Return the mean of each of `output_size` even bins."""
    return adaptive_average(2, input, output_size)


@remembered
def adaptive_avg_pool3d(input, output_size):
    """Return the mean of each of `output_size` even bins."""
    return adaptive_average(3, input, output_size)


def _power_mean(rank, input, norm_type, kernel_size, stride, ceil_mode):
    kernel, stride = window(rank, f"lp_pool{rank}d", kernel_size, stride)
    mean = average_pool(rank, input.pow(norm_type), kernel, stride, 0, ceil_mode, True, None)
    return (mean.sign() * mean.abs().relu() * float(math.prod(kernel))).pow(1.0 / norm_type)


@remembered
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
    return _power_mean(1, input, norm_type, kernel_size, stride, ceil_mode)


@remembered
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
    return _power_mean(2, input, norm_type, kernel_size, stride, ceil_mode)


@remembered
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """Return (sum of x ** norm_type) ** (1 / norm_type) over each window."""
    return _power_mean(3, input, norm_type, kernel_size, stride, ceil_mode)
