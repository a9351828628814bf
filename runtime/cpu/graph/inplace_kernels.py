"""Writers: kernels that write an operator's result into an array that may be one of its operands (`runtime/core/inplace.py`).

A writer takes that array, then the operator's arguments. It returns whether it wrote. If an operand overlaps the array other
than element by element, or another shape or dtype would come out, nothing is touched.
"""

from typing import Any

import numpy as np

from ....ir.interrupts import is_of_call, raise_interrupt
from ....ir.lazy import lazy
from ....ir.opdef.op import Composite, Op, Scalar
from ....ir.ops.core import elementwise as ew
from ..loops.scalars import FLOAT_KINDS, LARGE, ScalarKernels
from .families import find

_FEW = 1 << 10                                         # elements below which numpy's call costs less than a kernel's
_NUMBERS = {"f": (float, int), "i": (int,), "u": (int,)}     # Python numbers allowed with arrays of a kind
composites = lazy(__package__, ".composites")


def writer_for(op: Op):
    """Return the writer of an operator."""
    kernel = find(op)
    if kernel is not None and kernel.write is not None:
        return kernel.write(op)
    if kernel is None or not kernel.is_whole:
        if type(op.lower) is Scalar:
            return _scalar(op)
        if type(op.lower) is Composite and "pointwise" in op.traits:
            return _composite(op)
    return _never


def _never(out, *args, **params) -> bool:
    return False


def _fits(out, args) -> bool:
    """Whether each operand is `out` itself or has none of its memory, and all of them broadcast to its shape."""
    shape, others = out.shape, False
    for a in args:
        if a is out or not hasattr(a, "dtype"):
            continue
        if a.__class__ is not np.ndarray or (np.may_share_memory(a, out) and not _is_same(a, out)):
            return False
        others = others or a.shape != shape
    if not others:
        return True
    try:
        return np.broadcast_shapes(shape, *[a.shape for a in args if a.__class__ is np.ndarray]) == shape
    except ValueError as error:         # the operator raises the error
        raise_interrupt(error, np.broadcast_shapes, shape, *[a.shape for a in args if a.__class__ is np.ndarray])
        return False


def _is_same(a, b) -> bool:
    """Whether two arrays are the same elements in the same locations."""
    return (a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype
            and a.__array_interface__["data"][0] == b.__array_interface__["data"][0])


def _scalar(op: Op):
    """Return the writer of a function of elements: its kernel, or NumPy's loop where that is right."""
    compiled = ScalarKernels(op)
    quick: Any = op.quick if "exact" in op.traits else None
    keeps: dict = {}            # whether NumPy's loop keeps the dtype
    over: dict = {}             # functions that replace an array by its result, by dtype

    def by_numpy(kind, args) -> bool:
        """Whether NumPy's loop takes operands of one dtype, and numbers, and gives that dtype."""
        numbers = _NUMBERS.get(kind.kind)
        if quick is None or numbers is None or (kind.kind == "f" and kind.itemsize < 4):
            return False
        for a in args:
            if (a.dtype is not kind) if hasattr(a, "dtype") else (a.__class__ not in numbers):
                return False
        if kind not in keeps:
            keeps[kind] = quick.resolve_dtypes((kind,) * quick.nin + (None,))[-1] == kind
        return keeps[kind]

    def write(out, *args, **params):
        kind = out.dtype
        if len(args) == 1 and args[0] is out:
            if kind not in over:
                over[kind] = compiled.over(kind)
            run = over[kind]
            if run is not None:
                run(out)
                return True
        if params or not _fits(out, args):
            return False
        if op is ew.where and out.size < _FEW and args[2] is out and args[0].__class__ is np.ndarray:
            np.copyto(out, args[1], where=args[0])
            return True
        if (out.size >= _FEW or quick is None) if kind in FLOAT_KINDS else kind.kind == "c":
            return kind in compiled.kinds and (compiled.sweep(args, out) or compiled.write(args, out))
        if by_numpy(kind, args):
            try:
                quick(*args, out)
            except OverflowError as error:      # a number that the dtype does not hold: the operator's kernel cuts it
                if not is_of_call(error):
                    raise
                return False
            return True
        return kind in compiled.kinds and compiled.write(args, out)

    return write


def _composite(op: Op):
    """Return the writer of a composite of elements: its graph, if that is one kernel and compiled already."""
    made = composites.composites_of(op)

    def write(out, *args, **params):
        if not _fits(out, args) or any([a.shape != out.shape for a in args if a.__class__ is np.ndarray]):  # noqa: C419
            return False
        graph = made.find(args, params) if out.size >= LARGE else made.find(args, params, None)
        into = None if graph is None else graph.into
        return into is not None and into(args, out)

    return write
