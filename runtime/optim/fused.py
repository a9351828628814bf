"""Optimizer updates in one sweep over memory: parameter, gradient and running averages are read once and written once.

The sweeps compute what the operators in `sgd.py`, `adam.py` and `adaptive.py` compute, operation for operation, each rounded
once, so a step gives the same bits whether it is fused here, run operator by operator, or traced.
"""

import functools

from ..state import tls
from ..sweeps import KINDS, sweep, sweep_each

__all__ = ["adagrad_step", "adam_step", "are_alike", "rmsprop_step", "sgd_step", "sweep", "sweep_each", "sweeps", "takes"]


def sweeps(group) -> bool:
    """Whether updates may run as sweeps: outside of a recording, and options are numbers."""
    m = tls.m
    return m.recorder is None and m.batched is None and not group.get("differentiable") and type(group["lr"]) in (float, int)


def are_alike(p, others) -> bool:
    """Whether all arrays are of one size and of a kind that sweeps take."""
    a = p._a
    kind, shape = a.dtype, a.shape
    for t in others:
        if t._a.shape != shape or t._a.dtype != kind:
            return False
    return kind in KINDS


def takes(group, p, *others) -> bool:
    """Whether an update runs as one sweep."""
    return sweeps(group) and are_alike(p, others)


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


@functools.lru_cache(None)
def rmsprop_step(decays: bool):
    """The update of RMSprop without a mean or momentum: p, square, then g, then the numbers."""

    def rmsprop(k, p, square, g, lr, keep, add, eps, *decay):
        if decays:
            g = g + p * decay[0]
        square = square * keep + g * g * add
        return p - g / (k.fn.sqrt(square) + eps) * lr, square

    return rmsprop


@functools.lru_cache(None)
def adagrad_step(decays: bool):
    """The update of Adagrad: p, sum, then g, then the numbers."""

    def adagrad(k, p, total, g, lr, eps, *decay):
        if decays:
            g = g + p * decay[0]
        total = total + g * g
        return p - g / (k.fn.sqrt(total) + eps) * lr, total

    return adagrad
