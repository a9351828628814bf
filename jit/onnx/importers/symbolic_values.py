"""Arithmetic on known numbers with symbolic sizes: shapes that a model computes from shapes.

They are NumPy arrays of objects. Operators that are missing here fix the sizes to their current values, and the trace with
them.
"""

import operator

import numpy as np

from ....ir.symbols.symbolic import SymInt
from .registry import ints


def known(values) -> np.ndarray:
    """Return a vector of integers, some of which may be symbolic."""
    values = list(values)
    if not any(type(v) is SymInt for v in values):
        return np.array(values, np.int64)
    return _objects(values, (len(values),))


def _objects(values, shape):
    made = np.empty(len(values), object)
    for i, v in enumerate(values):
        made[i] = v
    return made.reshape(shape)


def is_symbolic(x) -> bool:
    """Return whether a value holds symbolic sizes."""
    return isinstance(x, np.ndarray) and x.dtype == object


def settled(x):
    """Return plain numbers if no size is symbolic any more."""
    if is_symbolic(x) and not any(type(v) is SymInt for v in x.reshape(-1)):
        return np.array([int(v) for v in x.reshape(-1)], np.int64).reshape(x.shape)
    return x


def fixed(x):
    """Return the current values of sizes."""
    return np.array([int(v) for v in x.reshape(-1)], np.int64).reshape(x.shape) if is_symbolic(x) else x


def _elementwise(fn):
    def run(call, a, b):
        a, b = np.broadcast_arrays(np.asarray(a, object), np.asarray(b, object))
        return _objects([fn(x, y) for x, y in zip(a.reshape(-1), b.reshape(-1))], a.shape)

    return run


def _slice(call, x, starts, ends, axes=None, steps=None):
    starts, ends = ints(fixed(starts)), ints(fixed(ends))
    at = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, ints(axes, range(len(starts))), ints(steps, [1] * len(starts))):
        at[axis] = slice(start, None if step < 0 and end < -x.shape[axis] else end, step)
    return x[tuple(at)]


def _squeeze(call, x, axes=None):
    given = ints(axes, call.get("axes"))
    return np.asarray(np.squeeze(x, None if given is None else tuple(given)), object)


def _product(call, x, axes=None):
    total = 1
    for v in x.reshape(-1):
        total = total * v
    return _objects([total], (1,) * x.ndim if call.get("keepdims", 1) else ())


def _where(call, condition, a, b):
    if is_symbolic(condition):
        return None
    return np.where(condition, np.asarray(a, object), np.asarray(b, object))


_OPERATORS = {
    "Add": _elementwise(operator.add), "Sub": _elementwise(operator.sub), "Mul": _elementwise(operator.mul),
    "Div": _elementwise(operator.floordiv), "Where": _where, "Slice": _slice, "Squeeze": _squeeze,
    "ReduceProd": _product,
    "Concat": lambda call, *xs: np.concatenate(xs, call.need("axis")),
    "Equal": lambda call, a, b: _elementwise(operator.eq)(call, a, b).astype(bool),
    "Gather": lambda call, x, indices: np.asarray(np.take(x, fixed(indices), axis=call.get("axis", 0)), object),
    "Unsqueeze": lambda call, x, axes=None: np.expand_dims(x, tuple(ints(axes, call.get("axes")))),
    "Reshape": lambda call, x, shape: x.reshape([int(n) for n in shape]),
    "Cast": lambda call, x: x if call.dtype("to").is_integer else None,
}


def computed(call, inputs):
    """Return the result of an operator on known numbers with symbolic sizes; None if it is missing here."""
    fn = _OPERATORS.get(call.kind)
    found = None if fn is None else fn(call, *inputs)
    return settled(found)
