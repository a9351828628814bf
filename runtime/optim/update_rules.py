"""Optimizers with an elementwise rule, written once.

    def adagrad(fn, s, g, n):
        g = decayed(s, g, n)
        s.sum = s.sum + g * g
        s.p = s.p - g / (fn.sqrt(s.sum) + n.eps) * n.lr

`s` holds the values that a step writes: parameter and state, by name. `n` holds the numbers of a step. Unused options and
states are None. A rule runs as one kernel that reads and writes each value once, or operator by operator under a recorder
(numbers are tensors) and in other dtypes. Each operation rounds once, so the bits are the same.
"""

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..api.register.register import FUNCTIONS
from ..foreach.lists import KINDS, sweep_each
from ..state.mode import tls
from .optimizer import Optimizer, count, counts_on_device, put, zeros_like


class Elementwise(Optimizer):
    """Base of optimizers with a rule. `_numbers` computes the numbers of a step from the result of `_begin`, which many
    parameters share."""

    _rule: Callable

    def _begin(self, p, state, group) -> Any:
        """Count a step of a parameter and return the base of its numbers."""
        return count(state, p, group)

    def _names(self, group) -> tuple:
        """Return the names of states that steps write; they start as zeros."""
        raise NotImplementedError(f"{type(self).__name__} does not define _names()")

    def _numbers(self, at, group) -> dict:
        raise NotImplementedError(f"{type(self).__name__} does not define _numbers()")

    def _update(self, p, g, state, group):
        self._update_each([(p, g, state)], group)

    def _update_each(self, rows, group):
        names, may_sweep = self._names(group), runs_fused(group)
        swept: dict = {}
        for p, g, state in rows:
            at = self._begin(p, state, group)
            for name in names:
                if state.get(name) is None:
                    state[name] = zeros_like(p)
            written = p, *[state[name] for name in names]
            if may_sweep and have_same_layout(p, (g, *written)) and not counts_on_device(p, group):
                swept.setdefault(at, []).append((written, (g,)))
            else:
                stored = Stored(p=p, **{name: state[name] for name in names})
                self._rule(OPERATORS, stored, g, Named(**self._numbers(at, group)))
        for at, some in swept.items():
            numbers = self._numbers(at, group)
            sweep_each(kernel_of(type(self)._rule, names, tuple(numbers)), some, [*numbers.values()])


def runs_fused(group) -> bool:
    """Return whether updates may run as fused kernels: nothing records or checks operators, and all options are numbers."""
    m = tls.m
    is_checked = m.observer is not None and m.observer.checks_values
    if m.recorder is not None or m.batched is not None or is_checked:
        return False
    return not group.get("differentiable") and type(group["lr"]) in (float, int)


def have_same_layout(p, others) -> bool:
    """Return whether all arrays have one size and a kind that fused kernels take."""
    a = p._a
    kind, shape = a.dtype, a.shape
    for t in others:
        if t._a.shape != shape or t._a.dtype != kind:
            return False
    return kind in KINDS


@functools.lru_cache(None)
def kernel_of(rule, names, numbers):
    """Return a rule as a builder of a kernel of the parameter, the state, the gradient and the numbers."""
    def build(k, *values):
        state, (g, *rest) = Named(**dict(zip(("p", *names), values))), values[1 + len(names):]
        rule(k.fn, state, g, Named(**dict(zip(numbers, rest))))
        written = tuple([getattr(state, name) for name in ("p", *names)])
        return written if names else written[0]

    build.__name__ = rule.__qualname__.partition(".")[0].lower()
    return build


class Named(SimpleNamespace):
    """Values by name; other names are None."""

    def __getattr__(self, name):
        return None


class Stored(Named):
    """Tensors by name; assignment writes into them."""

    def __setattr__(self, name, value):
        put(getattr(self, name), value)


class Operators:
    """The functions of rules that run operator by operator."""

    def __getattr__(self, name):
        return FUNCTIONS[name]


OPERATORS = Operators()


def decay_of(group, decoupled=False) -> dict:
    """Return the weight decay, or None."""
    decay = group["weight_decay"]
    if not decay:
        return {}
    return {"shrink": 1 - group["lr"] * decay} if decoupled else {"decay": decay}


def decayed(s, g, n):
    """Return the gradient with weight decay added, or decay the parameter directly (decoupled)."""
    if n.shrink is not None:
        s.p = s.p * n.shrink
    return g if n.decay is None else g + s.p * n.decay
