"""Views of tensors that are asked for by ints: `x.view(2, -1)`, `x.permute((2, 0, 1))`, `x.unsqueeze(0)`.

Which parameters of its view operator such a call comes to follows from x's shape and the ints, and takes longer to say than the
view takes to make: it is kept for the next call with both. (`call_memo.py` keeps more of a call, for functions that need it.)
"""

from collections.abc import Callable
from functools import wraps

import numpy as np

from ...ir.opdef.op import Op
from ...ir.ops.core.shape import reshape
from ..core.dispatch import as_view, tape_view
from ..core.state import tls
from ..core.tensor import Size
from .call_memo import MOST, TENSORS, new_table

_SEQUENCES = frozenset((tuple, Size))
_ndarray = np.ndarray


def viewing(op: Op, general: Callable) -> Callable:
    """`general`, a function of a tensor and more that gives what `op` sees of the tensor's memory (or the tensor itself, or a
    copy), on a short road for plain tensors and ints."""
    see, may_copy = op.ref, op is reshape

    @wraps(general)
    def viewed(*args, **kwargs):
        m = tls.m
        if kwargs or m.noticed or not args or args[0].__class__ not in TENSORS:
            return general(*args, **kwargs)
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
    """Whether it is a sequence of ints that can be part of a key: to keys, True and 1.0 are 1."""
    return n.__class__ in _SEQUENCES and all([i.__class__ is int for i in n])  # noqa: C419  (quicker than a generator)


def _learned(known: dict, op: Op, general: Callable, args):
    """general(*args); from now on it is known what that comes to, if it is a view by `op` and not the tensor itself."""
    x, out = args[0], general(*args)
    path = out._path
    if out is not x and path is not None and path[0] is x._path and path[1] is op:
        if len(known) >= MOST:
            known.clear()
        known[x._a.shape, args[1:]] = path[2]
    return out
