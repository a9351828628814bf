"""The kernel of one operator: how an eager call runs it, and how it is planned as a step of a compiled graph.

    OPERATORS = {sort.searchsorted: OperatorKernel(searchsorted, searchsorted_step)}

Each family file lists its operators once, in such a table; `graph/families.py` finds the table of an operator.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np

from ....ir import dtype as dt
from ....ir.graph.graph import Builder
from ....ir.opdef.aval import Aval
from ....ir.opdef.op import Op
from ....passes.layout.plain_operands import PLAIN
from ..memory import alloc
from . import pool
from .plan import Plan


class OperatorKernel(NamedTuple):
    """The ways to run an operator on the CPU. Both ways plan the same native code.

    eager     a function of arrays, called like the operator's reference
    step      (node, operands, results) -> `NativeCall` for concrete shapes, or None where Python must call the eager kernel.
              Its words name operands by number: the inputs of the node, then its results, which are in C order
    reads     how the step reads its operands: a name of `passes/layout/plain_operands.py`
    make      returns `eager` for the record, when the operator is first called
    body      returns `eager` for a composite that compiled graphs decompose: (op, general) -> function; `general` runs its body
    compiled  (*args) -> after how many calls of one kind the operator is compiled as a graph, or None
    write     returns a function that writes the result over its first argument, for the record: see `inplace_kernels.py`
    """

    eager: Callable | None = None
    step: Callable | None = None
    reads: str = PLAIN
    make: Callable | None = None
    body: Callable | None = None
    compiled: Callable | None = None
    write: Callable | None = None

    @property
    def is_whole(self) -> bool:
        """Whether eager calls run the operator as one kernel of its own."""
        return self.eager is not None or self.make is not None

    def eager_for(self, op: Op) -> Callable:
        """Return the function that runs an operator with a whole kernel on arrays."""
        return self.make(op) if self.make is not None else cast(Callable, self.eager)


class Operand(NamedTuple):
    """An array of a native step; strides are in bytes."""

    shape: tuple
    strides: tuple
    dtype: np.dtype

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_plain(self) -> bool:
        """Whether its elements are in C order without gaps."""
        step = self.dtype.itemsize
        for n, stride in zip(reversed(self.shape), reversed(self.strides)):
            if n != 1 and stride != step:
                return False
            step *= n
        return True


def by_step(step: Callable) -> Callable:
    """Return the maker of an eager kernel that runs a step as a plan of its own, for operators that are seldom called eagerly.
    The reference runs where there is no step. The step must not be one that can fail."""

    def make(op: Op):
        def run(*arrays, **params):
            given = [None if a is None else alloc.dense(a) for a in arrays]
            b = Builder("eager")
            values = b.append(op, [None if a is None else b.input(f"x{i}", Aval(a.shape, dt.BY_NP[a.dtype]))
                                   for i, a in enumerate(given)], params)
            values = values if type(values) is tuple else (values,)
            results = [alloc.aligned_zeros(v.shape, v.dtype.np) for v in values]
            operands, made = ([None if a is None else Operand(a.shape, a.strides, a.dtype) for a in part]
                              for part in (given, results))
            native = step(values[0].node, operands, made)
            if native is None:
                return op.ref(*arrays, **params)
            Plan(native, native.scratch_bytes, pool.get_num_threads())(*[0 if a is None else a for a in given], *results)
            return tuple(results) if len(results) > 1 else results[0]

        return run

    return make
