"""Evenly spaced values: computed in float64 from either end, and rounded once."""

import functools
import struct
import threading

import numpy as np

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ..calls.kernel_entry import entries
from .kernels import Elementwise

_FEW = 1 << 9           # values below which one thread counts, with less Python around it
_NUMBERS = ("start", "gap", "end", "half", "last")
_pack = struct.Struct("=5d").pack_into
_local = threading.local()      # the five numbers, where a kernel reads them; one runs in a thread at a time


def evenly(count: int, dtype, start, gap, end=0.0, half=None) -> np.ndarray:
    """Return start + i * gap for i below `half` (default: all), then end - (count - 1 - i) * gap, computed in float64."""
    numbers, parts = _local.__dict__.get("numbers") or _make_numbers()
    _pack(numbers, 0, start, gap, end, count if half is None else half, count - 1)
    if count >= _FEW:
        first, *others = parts
        return _elementwise_kernel(dtype).general((np.ndarray((count,), first.dtype, first, strides=(0,)), *others))
    out = np.empty(count, dtype.np)
    _single_thread_kernel(dtype)(*parts, out)
    return out


def _make_numbers():
    """Set up this thread's numbers, and each as an array of its own."""
    numbers = np.zeros(len(_NUMBERS))
    _local.numbers = numbers, tuple([numbers[i, ...] for i in range(len(_NUMBERS))])
    return _local.numbers


def _value(k, i, start, gap, end, half, last):
    i = i.to(dt.float64)
    return k.fn.where(k.fn.lt(i, half), i * gap + start, end - (last - i) * gap)


@functools.lru_cache(None)
def _elementwise_kernel(target) -> Elementwise:
    return Elementwise(f"evenly_{target.short}", (dt.float64,) * len(_NUMBERS), (target,),
                       lambda k, *numbers: _value(k, k.index("d0"), *numbers).to(target))


@functools.lru_cache(None)
def _single_thread_kernel(target):
    k = KernelBuilder(f"few_evenly_{target.short}")
    k.parallel("i", "n")
    numbers = [k.input(name, dt.float64, (0,)) for name in _NUMBERS]
    k.output("y", target, (1,))
    with k.point():
        k.store(_value(k, k.index("i"), *map(k.load, numbers)).to(target), "y")
    ranks = (*[0] * len(numbers), 1)
    return entries(k.build(), {"door": ranks}, {"door": {"n": ("size", len(numbers), 0)}})["door"]
