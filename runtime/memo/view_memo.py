"""Memo of views by ints: `x.view(2, -1)`, `x.permute((2, 0, 1))`, `x.unsqueeze(0)`.

The parameters of the view operator follow from x's shape and the ints, and take longer to find than the view takes to make.
They are kept by shape and ints. (`call_memo.py` keeps more of a call, for functions that need it.)
"""

from collections.abc import Callable
from functools import wraps

import numpy as np

from ...ir.opdef.op import Op
from ...ir.ops.core.shape import reshape
from ..core.dispatch import as_view, tape_view
from ..core.tensor import Size
from ..state.mode import tls
from .call_memo import MOST, TENSORS, new_table, past_tracker

_SEQUENCES = frozenset((tuple, Size))
_ndarray = np.ndarray


def viewing(op: Op, general: Callable) -> Callable:
    """Return `general`, a function that returns a view by `op` (or the tensor itself, or a copy), with a shorter path for plain
    tensors and ints."""
    see, may_copy = op.ref, op is reshape

    @wraps(general)
    def viewed(*args, **kwargs):
        m = tls.m
        if kwargs or m.noticed or not args or args[0].__class__ not in TENSORS:
            return general(*args, **kwargs) if m.own_code is None else past_tracker(m, general, args, kwargs)
        x, ints = args[0], args[1:]
        a = x._a
        if a.__class__ is not _ndarray or (may_copy and not a.flags.c_contiguous):
            return general(*args)
        for n in ints:
            if n.__class__ is not int and not _are_ints(n):
                return general(*args)
        params = known.get((a.shape, ints))
        if params is None:
            return _learned(known, op, general, args)
        out = as_view(x, see(a, **params), (x._path, op, params))
        if x._node is not None and m.grad:
            tape_view(op, (x,), params, out)
        return out

    known = new_table(viewed)
    return viewed


def _are_ints(n) -> bool:
    """Return whether `n` is a sequence of ints that can be part of a key: to keys, True and 1.0 are 1."""
    return n.__class__ in _SEQUENCES and all([i.__class__ is int for i in n])  # noqa: C419  (quicker than a generator)


def _learned(known: dict, op: Op, general: Callable, args):
    """Return general(*args); store its parameters if it is a view by `op` and not the tensor itself."""
    x, out = args[0], general(*args)
    path = out._path
    if out is not x and path is not None and path[0] is x._path and path[1] is op:
        if len(known) >= MOST:
            known.clear()
        known[x._a.shape, args[1:]] = path[2]
    return out
