"""Optimizer updates in one sweep over memory: parameter, gradient and running averages are read once and written once.

The sweeps compute what the operators in `sgd.py` and `adam.py` compute, operation for operation, each rounded once, so a step
gives the same bits whether it is fused here, run operator by operator, or traced.
"""

import functools
import threading
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.lazy import lazy
from ..device_array import DeviceArray
from ..state import tls
from ..writes import check_writable

kernels = lazy(__package__, "..cpu.kernels")

_KINDS = {np.dtype(np.float32): dt.float32, np.dtype(np.float64): dt.float64}


def takes(group, p, *others) -> bool:
    """Whether an update runs as one sweep: outside of a recording, all arrays of one size and kind, options that are
    numbers."""
    m = tls.m
    if m.recorder is not None or m.batched is not None or group.get("differentiable") or type(group["lr"]) not in (float, int):
        return False
    a = p._a
    return a.dtype in _KINDS and all([t._a.dtype == a.dtype and t._a.shape == a.shape for t in others])  # noqa: C419


def sweep(build, written, read, numbers):
    """Runs `build(k, *written, *read, *numbers)`, whose values replace the tensors `written`."""
    m = tls.m
    for t in written:
        check_writable(t, m, "step")
    outs, arrays = tuple([t._a for t in written]), [t._a for t in read]
    kind = outs[0].dtype
    kernel = _kernel(build, len(outs) + len(arrays) + len(numbers), len(outs), _KINDS[kind])
    if outs[0].__class__ is DeviceArray:
        outs[0].backend.sweep(kernel, outs, arrays, numbers)
    else:
        kernel.sweep(outs, arrays, _scalars(numbers, kind))
    for t in written:
        t._storage.wrote("step", _DEEP)


_DEEP = 6       # frames of the package between a write here and the user, at least: a sweep, the update by it, the step
_local = threading.local()


def _scalars(numbers, kind) -> tuple:
    """Numbers as arrays, in memory that this thread uses again at its next sweep."""
    kept: Any = _local.__dict__
    key = len(numbers), kind
    arrays = kept.get(key) or kept.setdefault(key, tuple([np.empty((), kind) for _ in numbers]))
    for a, n in zip(arrays, numbers):
        a.fill(n)
    return arrays


@functools.lru_cache(None)
def _kernel(build, inputs, outputs, kind):
    return kernels.elementwise(build.__name__, (kind,) * inputs, (kind,) * outputs, build)


@functools.lru_cache(None)
def adam_step(decays: bool, decoupled: bool, amsgrad: bool):
    """The update of Adam: p, mean, square(, largest square), then g, then the numbers."""

    def adam(k, p, mean, square, *rest):
        largest, (g, grow, keep, add, root, eps, step, *decay) = (rest[0], rest[1:]) if amsgrad else (None, rest)
        if decays and decoupled:
            p = p * decay[0]
        elif decays:
            g = g + p * decay[0]
        mean = mean + (g - mean) * grow
        square = square * keep + g * g * add
        if amsgrad:
            largest = k.fn.maximum(largest, square)
        p = p - mean / (k.fn.sqrt(largest if amsgrad else square) / root + eps) * step
        return (p, mean, square, largest) if amsgrad else (p, mean, square)

    return adam


@functools.lru_cache(None)
def sgd_step(decays: bool, moves: bool, dampens: bool, nesterov: bool):
    """The update of SGD: p(, buffer), then g, then the numbers that the flags ask for."""

    def sgd(k, p, *rest):
        buffer, (g, lr, *numbers) = (rest[0], rest[1:]) if moves else (None, rest)
        left = iter(numbers)
        if decays:
            g = g + p * next(left)
        if moves:
            momentum = next(left)
            buffer = buffer * momentum + (g * next(left) if dampens else g)
            g = g + buffer * momentum if nesterov else buffer
        p = p - g * lr
        return (p, buffer) if moves else p

    return sgd
