"""Parameters of graph nodes: hashable plain data in one canonical form, with exact keys.

In Python 1, 1.0 and True are equal, and so are 0.0 and -0.0, while nan differs from itself. Parameters of nodes are the same
only if type and bits are: see `param_key`.
"""

from typing import Any

import numpy as np

from ..dtype import DType
from ..errors import GraphError
from ..symbols.symbolic import SymFloat, SymInt


class LivingName(str):
    """Name that keeps the named object alive as long as a graph holds it; equal to the same text."""

    __slots__ = ("named",)
    named: Any

    def __new__(cls, name: str, named):
        made = super().__new__(cls, name)
        made.named = named
        return made


_BASES: tuple[Any, ...] = (bool, int, float, complex, str)
_EXACT = (bool, int, str, type(None), DType, SymInt, LivingName)


def canonical_param(value):
    """Return `value` as plain data: lists become tuples, NumPy scalars Python numbers, subclasses their base."""
    kind = type(value)
    if kind in _EXACT or kind is float or kind is complex:
        return value
    if isinstance(value, (tuple, list)):
        return tuple([canonical_param(v) for v in value])
    if isinstance(value, slice):
        return slice(canonical_param(value.start), canonical_param(value.stop), canonical_param(value.step))
    if isinstance(value, np.generic):
        return canonical_param(value.item())
    for base in _BASES:
        if isinstance(value, base):
            return base(value)
    raise GraphError(f"a parameter of a graph node must be plain data (number, str, None, dtype, slice or tuples of these), "
                     f"got {value!r} of type {kind.__name__}")


def canonical_params(params: dict, numbers=frozenset()) -> dict:
    """Return the parameters of one node sorted by name; those named in `numbers` may stay symbolic."""
    if not params:
        return {}
    return {name: value if type(value := params[name]) is SymFloat and name in numbers else canonical_param(value)
            for name in sorted(params)}


def param_key(value, sizes: list | None = None):
    """Return a hashable key, equal exactly for the same type and bits. A list `sizes` collects symbolic numbers, which then all
    have one key."""
    kind = type(value)
    if kind is tuple:
        return tuple([param_key(v, sizes) for v in value])
    if kind is float:
        return (float, value.hex())
    if kind is complex:
        return (complex, value.real.hex(), value.imag.hex())
    if kind is slice:
        return (slice, param_key(value.start, sizes), param_key(value.stop, sizes), param_key(value.step, sizes))
    if kind is SymInt or kind is SymFloat:
        if sizes is None:
            return (kind, value.poly if kind is SymInt else value.text)
        sizes.append(value)
        return (kind,)
    if kind is LivingName:
        return (str, str(value))
    return (kind, value)


def params_key(params: dict, sizes: list | None = None) -> tuple:
    """Return the key of all parameters of one node."""
    return tuple([(name, param_key(params[name], sizes)) for name in sorted(params)])
