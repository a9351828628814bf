"""Gradient rule of a composite, derived from its body.

The body runs once on values that log each operator; the log is then walked backwards with the rules of these operators. The
result is written in operators, so it traces and differentiates again.
"""

from collections.abc import Callable

from .. import dtype as dt
from .op import BINDERS, NO_GRAD, OPS


class _Logged:
    __slots__ = ("live", "log", "value")

    def __init__(self, value, log: list, live: bool):
        self.value = value
        self.log = log
        self.live = live

    @property
    def shape(self):
        return self.value.shape

    @property
    def dtype(self):
        return dt.of(self.value)

    @property
    def ndim(self) -> int:
        return len(self.value.shape)


def _value(a):
    return a.value if type(a) is _Logged else a


def _log_call(op, args, params):
    """Bind logged values: run the operator on what they hold and log the step."""
    result = op(*[_value(a) for a in args], **params)
    logged = [a for a in args if type(a) is _Logged]
    live = op.vjp is not NO_GRAD and any(a.live for a in logged)
    log = logged[0].log
    outs = tuple(_Logged(r, log, live and dt.of(r).is_inexact) for r in (result if type(result) is tuple else (result,)))
    if live:
        log.append((op, args, params, outs, result))
    return outs if type(result) is tuple else outs[0]


BINDERS[_Logged] = _log_call


class _Gradients:
    def __init__(self):
        self._of = {}

    def add(self, logged, g):
        before = self._of.get(id(logged))
        self._of[id(logged)] = g if before is None else OPS["add"](before, g)

    def get(self, logged):
        return self._of.get(id(logged))

    def incoming(self, outs):
        """Return the gradient of a step's results in the form that rules take, or None if none arrived."""
        found = [(o, self.get(o)) for o in outs if dt.of(o.value).is_inexact]
        if all(g is None for _, g in found):
            return None
        filled = tuple(_or_zeros(g, o) for o, g in found)
        return filled if len(filled) > 1 else filled[0]


def _pull(step, g):
    op, args, params, _, result = step
    needs = tuple(type(a) is _Logged and a.live for a in args)
    values = [_value(a) for a in args]
    if type(op.vjp) is tuple:
        return [rule(g, result, *values, **params) if need and rule is not None else None for need, rule in zip(needs, op.vjp)]
    return op.vjp(g, result, *values, needs=needs, **params)


def derived_vjp(body: Callable) -> Callable:
    """Return the joint gradient rule of the composite defined by `body`. It reads every argument by value."""

    def rule(g, out, *args, needs, **params):
        log: list = []
        entries = [_Logged(a, log, need) if hasattr(a, "dtype") else a for a, need in zip(args, needs)]
        result = body(*entries, **params)
        outs = [r for r in (result if type(result) is tuple else (result,)) if r.dtype.is_inexact]
        gradients = _Gradients()
        for r, one in zip(outs, g if type(g) is tuple else (g,)):
            if one is not None:
                gradients.add(r, one)
        for step in reversed(log):
            incoming = gradients.incoming(step[3])
            if incoming is None:
                continue
            for a, found in zip(step[1], _pull(step, incoming)):
                if found is not None:
                    gradients.add(a, found)
        return tuple(_or_zeros(gradients.get(e), e) if need else None for e, need in zip(entries, needs))

    return rule


def _or_zeros(g, logged):
    return OPS["full"](logged.value, shape=tuple(logged.shape), value=0, dtype=logged.dtype) if g is None else g
