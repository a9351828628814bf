"""Optimizers as functions of lists: parameters, gradients and states, which the caller holds."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from ...ir.errors import ArgumentError, DTypeError
from ...ir.interrupts import raise_interrupt
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import numeric_options

_SWITCHES = {"foreach": None, "capturable": False, "differentiable": False, "fused": None, "maximize": False}
_ACCEPTED = ("grad_scale", "found_inf", "has_sparse_grad", "has_complex")
_PAIRS = {"betas": ("beta1", "beta2"), "etas": ("etaminus", "etaplus"), "step_sizes": ("step_size_min", "step_size_max")}


def form(cls, states: tuple, required: str, counts=True, **optional) -> Callable:
    """Return the functional form of an optimizer. `states` are the names of its lists, in order. `required` names the keywords
    without defaults, `optional` has the others. With `counts`, the step counts are the last list."""
    names = (*states, "step") if counts else states
    takes = Signature([*[Parameter(name, Parameter.KEYWORD_ONLY) for name in required.split()],
                       *[Parameter(name, Parameter.KEYWORD_ONLY, default=value) for name, value in optional.items()]])

    def function(params, grads, *lists, **options):
        if len(lists) != len(names):
            raise ArgumentError(f"{function.__name__} takes parameters, gradients and {len(names)} lists ({', '.join(names)}), "
                                f"got {len(lists)}")
        switches = {name: options.pop(name, default) for name, default in _SWITCHES.items()}
        if options.pop("grad_scale", None) is not None or options.pop("found_inf", None) is not None:
            raise ArgumentError(f"{function.__name__} takes unscaled gradients: leave out grad_scale and found_inf")
        for name in _ACCEPTED:
            options.pop(name, None)
        try:
            bound = takes.bind(**options)
        except TypeError as e:
            raise_interrupt(e, takes.bind, **options)
            raise DTypeError(f"{function.__name__}: {e}") from None
        bound.apply_defaults()
        group = {**bound.arguments, **switches, "params": list(params)}
        group |= {pair: (group.pop(first), group.pop(second)) for pair, (first, second) in _PAIRS.items() if first in group}
        with enable_grad() if switches["differentiable"] else no_grad():
            _update(cls, numeric_options(group), grads, names, lists)

    function.__name__ = function.__qualname__ = cls.__name__.lower()
    function.__doc__ = f"Step as {cls.__name__} on lists, in place: parameters, gradients, {', '.join(names)}."
    return function


def _update(cls, group, grads, names, lists):
    """Update the parameters that have gradients, and put new states into the lists."""
    optimizer, rows, states = object.__new__(cls), [], []
    for i, (p, g) in enumerate(zip(group["params"], grads)):
        if g is None:
            continue
        state: dict[str, Any] = {name: values[i] for name, values in zip(names, lists) if len(values) and values[i] is not None}
        states.append((i, state))
        row, separate = (p, -g if group["maximize"] else g, state), optimizer._separate_update(p, g, group)
        if separate is None:
            rows.append(row)
        else:
            separate(*row, group)
    optimizer._update_each(rows, group)
    for i, state in states:
        for name, values in zip(names, lists):
            if len(values) and values[i] is None and name in state:
                values[i] = state[name]
