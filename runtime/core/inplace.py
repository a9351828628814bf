"""Operators that write their result over their operand's memory, without a copy.

Safe only if the tensor has no recorder, saved values or needed history (`writes.is_quiet`), and the function is one operator.
`overwrite` runs a record so; `computed_into` runs a function of the API that ends in given records. `graph/inplace_kernels.py`,
or a device's backend, says which kernels can do it; all else is computed apart and copied.
"""

import numpy as np

from ...ir.opdef.op import Op
from ..state.mode import tls
from .backend import HOST
from .device_array import DeviceArray, place_of
from .dispatch import KERNELS
from .tensor import Tensor
from .writes import is_quiet, wrote_plainly

SMALL = 1 << 12             # elements of an array of the host below which to copy all takes less time than to ask whether some
                            # may be written in place; on a device every copy is a launch
_WRITERS: dict = {}         # what writes an operator's result into numpy's array, by operator: it takes that, then the operands


def write_over(run, op: Op, array, arrays, params) -> bool:
    """Write an operator's result into an array, by a thread's `run`; return False if no kernel can."""
    if array.__class__ is DeviceArray:
        return run(array.backend.overwrite, op, array, arrays, params)
    found = _WRITERS.get(op)
    if found is None:
        found = _WRITERS[op] = HOST.writer_for(op)
    return run(found, array, *arrays, **params)


class _Target:
    """A thread's `run` while a function computes an array: its last operators write there; `wrote` tells whether one did."""

    __slots__ = ("array", "ops", "run", "wrote")

    def __init__(self, array, ops, run):
        self.array, self.ops, self.wrote = array, ops, False
        self.run = run.run if run.__class__ is _Target else run

    def __call__(self, kernel, *arrays, **params):
        for op in self.ops:
            if kernel is KERNELS.get(op):
                array = self.array if arrays[0] is self.array or not _is_all_of(arrays[0], self.array) else arrays[0]
                if write_over(self.run, op, array, arrays, params):
                    self.wrote = True
                    return array
                break
        return self.run(kernel, *arrays, **params)


def _is_all_of(a, b) -> bool:
    """Return whether an array has all elements of another one in their order, perhaps in another shape."""
    if a.__class__ is b.__class__ is DeviceArray:
        return (a.memory is b.memory and a.offset == b.offset and a.size == b.size and a.dtype is b.dtype
                and a.is_contiguous and b.is_contiguous)
    return (a.__class__ is np.ndarray and b.__class__ is np.ndarray and a.size == b.size and a.dtype == b.dtype
            and a.flags.c_contiguous and a.__array_interface__["data"] == b.__array_interface__["data"])


def is_small(array) -> bool:
    """Return whether copying an array is quicker than writing in place."""
    return array.size < SMALL and array.__class__ is not DeviceArray


def computed_into(t: Tensor, ops: tuple, fn, args, kwargs) -> Tensor:
    """Return fn(t, *args, **kwargs), computed into the memory of `t` by its last operator, if that is one of `ops` and the
    write is safe. The result's array says whether it was. Where histories are kept, only operators do so whose gradient rule
    needs neither the old nor the new values."""
    m = tls.m
    if m.grad and _has_history(args, kwargs):
        ops = tuple([op for op in ops if op.rule_is_blind])
    if not ops or m.special or not is_quiet(t, m):
        return fn(t, *args, **kwargs)
    before = m.run
    m.run = target = _Target(t._a, ops, before)
    try:
        made = fn(t, *args, **kwargs)
    finally:
        m.run = before
    if target.wrote and made._a is not t._a and made._a.shape == t._a.shape and _is_all_of(made._a, t._a):
        made._a = t._a          # (it was written as seen in another shape)
    return made


def _has_history(args, kwargs) -> bool:
    for x in (*args, *kwargs.values()) if kwargs else args:       # noqa: SIM110  (quicker)
        if isinstance(x, Tensor) and x._node is not None:
            return True
    return False


def overwrite(op: Op, t: Tensor, name: str, *others, **params) -> bool:
    """Write op(t, *others) into `t` in place; return False, with nothing done, if that is not possible."""
    m = tls.m
    if not is_quiet(t, m) or (m.grad and _has_history(others, {})) or (m.special and op.is_autocast):
        return False
    if not write_over(m.quietly, op, t._a, [t._a, *[x._a if isinstance(x, Tensor) else x for x in others]], params):
        return False
    wrote_plainly(t, name)
    return True


def overwrite_each(rows, name: str) -> list:
    """Write several (t, op, others) in place, where the histories of others do not count; return the rows that were not
    written."""
    m, left, quiet = tls.m, [], []
    for row in rows:
        t, op, others = row
        a, alike, operands = t._a, is_quiet(t, m) and not (m.special and op.is_autocast), [t._a]
        for x in others:
            if isinstance(x, Tensor):
                x = x._a
                alike = alike and x.dtype is a.dtype and x.__class__ is a.__class__
            operands.append(x)
        if alike:
            quiet.append((row, operands))
        else:
            left.append(row)
    at_once = len(quiet) > 1 and _write_over_at_once(m.quietly, quiet)
    for row, operands in quiet:
        if at_once or write_over(m.quietly, row[1], operands[0], operands, {}):
            wrote_plainly(row[0], name)
        else:
            left.append(row)
    return left


def _write_over_at_once(run, rows) -> bool:
    """Return whether a backend wrote several rows ((t, op, others), arrays) of one device in one call."""
    first = rows[0][1][0]
    if first.__class__ is not DeviceArray or len({place_of(arrays[0]) for _, arrays in rows}) > 1:
        return False
    each = getattr(first.backend, "overwrite_each", None)
    return each is not None and run(each, [(row[1], arrays) for row, arrays in rows])
