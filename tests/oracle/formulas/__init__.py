"""Formulas of ingot's operators in PyTorch, and inputs for them.

Each module holds the operators of one subject. `@formula(names)` marks a function of torch tensors and parameters with the
meaning of these operators, `@cases(names)` a generator of their inputs. Operators that PyTorch has under the same name need no
formula: `like_torch` finds them. The modules import torch, so only the tool that writes expected values loads them.

Gradient operators are autograd's gradient of the forward formula (`pulled`). A formula follows the record's docstring and the
mathematics, never the record's own reference.
"""

import importlib
import pkgutil
from typing import Any, NamedTuple

import numpy as np

from ..row import Leaf

FORMULAS: dict[str, Any] = {}
CASES: dict[str, Any] = {}


class Case(NamedTuple):
    """Inputs of one call: a label, positional arguments, parameters, and further fields of its row."""

    label: str
    args: tuple
    kwargs: dict
    fields: dict


def case(label: str, /, *args, options: dict | None = None, tolerance: float | None = None, reason: str = "", **kwargs) -> Case:
    """Return the inputs of one call of an operator."""
    return Case(label, args, kwargs, {"options": options or {}, "tolerance": tolerance, "reason": reason})


def count_of(value) -> int:
    """Return how many arrays there are in arguments."""
    if isinstance(value, (tuple, list, dict)) and not isinstance(value, Leaf):
        return sum(map(count_of, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (Leaf, np.ndarray))


def gathered(cases) -> list[Case]:
    """Return the cases of an operator in rows of up to three calls, two rows at least: each row is traced and compiled once."""
    alike: dict = {}
    for one in cases:
        fields = one.fields | {"options": one.fields["options"].get("only")}
        alike.setdefault(repr(fields), []).append(one)
    rows = []
    for some in alike.values():
        count = max(-(-len(some) // 3), min(2, len(some)))
        rows += [into_row(" and ".join(one.label for one in some[i::count]), some[i::count]) for i in range(count)]
    return rows


def into_row(label: str, cases) -> Case:
    """Return several calls as one row."""
    calls, turned, at = [], [], 0
    for one in cases:
        options = one.fields["options"]
        turned += [at + i for i in options.get("turned", ())]
        for call in ((one.args, one.kwargs), *options.get("more", ())):
            calls.append(call)
            at += count_of(call)
    (args, kwargs), *more = calls
    fields = cases[0].fields
    options = fields["options"] | ({"turned": turned} if turned else {}) | ({"more": more} if more else {})
    return Case(label, args, kwargs, fields | {"options": options})


def formula(*names: str):
    """Mark the formula of operators."""
    def mark(function):
        for name in names:
            assert name not in FORMULAS, name
            FORMULAS[name] = function
        return function
    return mark


def cases(*names: str):
    """Mark a generator of inputs, called with a name and a numpy Generator of its own."""
    def mark(function):
        for name in names:
            assert name not in CASES, name
            CASES[name] = function
        return function
    return mark


def like_torch(*names: str, **others: str):
    """Take PyTorch's function of the same name as formula, or of the name given: `log_sigmoid="logsigmoid"`."""
    import torch

    for name, theirs in {**dict(zip(names, names)), **others}.items():
        place = next(p for p in (torch, torch.special, torch.linalg, torch.nn.functional) if hasattr(p, theirs))
        formula(name)(getattr(place, theirs))


def pulled(function, inputs, g) -> tuple:
    """Return the gradients of a function's results for its inputs, given those of its results; differentiable themselves."""
    import torch

    inputs = [x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in inputs]
    return torch.autograd.grad(function(*inputs), inputs, g, create_graph=True, allow_unused=True, materialize_grads=True)


def load():
    """Import all modules, which fills the tables."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        importlib.import_module(f"{__name__}.{module.name}")


def named(name: str):
    """Return the formula of an operator."""
    load()
    return FORMULAS[name]


def generator(name: str) -> np.random.Generator:
    """Return the random numbers of one operator's inputs; those of others do not change them."""
    return np.random.default_rng([20261128, *name.encode()])
