"""Eager kernels: the function that runs an operator on arrays.

Traced and eager code give the same bits because both come here for everything that NumPy would round differently: functions
such as exp, sums, softmax, norms. Operators with one right answer (marked "exact") stay with NumPy while arrays are small,
where its call is cheaper; large arrays take the compiled kernel, with threads and reused memory.
"""

import math
from typing import Any

import numpy as np

from ....ir.dim_order import inverse
from ....ir.lazy import lazy
from ....ir.opdef.op import Composite, Op, Reduce, Scalar
from ...memo.call_recorder import MIN_CALLS
from ..loops import reduction_kernels
from ..loops import scalars as scalar_kernels
from .families import find

composites = lazy(__package__, ".composites")
copies = lazy(__package__, "..loops.copies")
scalars = lazy(__package__, "....passes.codegen.scalars")

LARGE = scalar_kernels.LARGE
_FEW = 1 << 11                      # elements from which the kernels of a body's operators take less than numpy's loops
_OFTEN = 128                        # calls of one kind on small arrays that take about as long as compiling them
_FLOAT_KINDS = scalar_kernels.FLOAT_KINDS


def kernel_for(op: Op):
    """Return the function that runs an operator on arrays, called like its reference."""
    if "one_by_one" in op.traits:
        return _each
    kernel = find(op)
    if kernel is not None and kernel.is_whole:
        run = kernel.eager_for(op)
        return run if kernel.compiled is None else _compiled_after(op, run, kernel.compiled)
    if type(op.lower) is Scalar:
        if "exact" in op.traits:
            return scalar_kernels.exact(op)
        name = op.lower.fn or op.name
        return scalar_kernels.rounded(op) if name in scalars.FUNCTIONS or name in scalars.COMPLEX else op.ref
    if type(op.lower) is Reduce:
        return reduction_kernels.of_any(op)
    if type(op.lower) is Composite:
        if kernel is None or kernel.body is None:
            return composite(op)
        general = composite(op) if kernel.compiled is None else _compiled_after(op, composite(op), kernel.compiled)
        return kernel.body(op, general)
    return op.ref


def _compiled_after(op: Op, general, calls_before):
    """Return `general`, which compiles calls as a graph of the operator after so many of a kind (`OperatorKernel.compiled`)."""
    compiled: Any = None

    def run(*args, **params):
        nonlocal compiled
        calls = calls_before(*args)
        if calls is not None:
            compiled = compiled or composites.composites_of(op)
            graph = compiled.find(args, params, calls)
            if graph is None and any(a.__class__ is not np.ndarray or not a.flags.c_contiguous for a in args if a is not None):
                args = tuple([None if a is None else copies.dense(np.asarray(a)) for a in args])
                graph = compiled.find(args, params, calls)
            if graph is not None:
                return graph(args)
        return general(*args, **params)

    return run


def composite(op: Op):
    """Return the eager form of a composite: the operators of its body, or one kernel.

    Calls on large arrays, and frequent ones, are compiled. A result that is an argument is copied, since results own their
    memory. Functions of elements keep the memory order of their arguments; all others give C order. With trait "ref_first" the
    reference runs instead of the operators (of functions of elements: only for few, or for no floats).
    """
    body = op.lower.body
    made: Any = None
    small: float = 0    # calls on small arrays, before they are counted by kinds
    of_elements = op.keeps_order
    few = 0 if "ref_first" not in op.traits else _FEW if of_elements else math.inf

    def run(*args, **params):
        nonlocal made, small
        size, order, is_dense = 0, None, True
        for a in args:
            if a.__class__ is np.ndarray:
                is_dense = is_dense and a.flags.c_contiguous
                if a.size > size:
                    size = a.size
        if size >= LARGE or small >= MIN_CALLS:
            made = made or composites.composites_of(op)
            graph = None
            if not is_dense:
                graph = None if of_elements or size < LARGE else made.find_strided(args, params)
                if graph is None:
                    order, args = composites.in_order(args, of_elements)
            if graph is None:
                graph = made.find(args, params, 1 if size >= LARGE else _OFTEN)
            if graph is not None:
                return graph(args) if order is None else graph(args).transpose(inverse(order))
            if made.refused:
                small = -math.inf       # others will be refused, too
        else:
            small += 1
        result = (op.ref if size < few or (few and args[0].dtype not in _FLOAT_KINDS) else body)(*args, **params)
        if of_elements:
            for a in args:
                if result is a:
                    result = np.array(result)
            return result if order is None else result.transpose(inverse(order))
        return _own(result, args)

    return run


def _each(*arrays):
    """Copy arrays, each in its memory order."""
    return tuple(map(np.array, arrays))


def _own(result, args):
    """Return results in C order in memory of their own."""
    if type(result) is tuple:
        return tuple([_own(r, args) for r in result])
    for a in args:
        if result is a:
            return np.array(result, order="C")
    return result if result.flags.c_contiguous else copies.dense(result)
