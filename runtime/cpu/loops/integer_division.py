"""Division of integers as steps of a native call, which stop the run if a divisor is 0."""

import functools

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.core import elementwise as ew
from ..calls.kernel_steps import check_no_zero, step
from ..calls.operator_kernel import Operand, OperatorKernel
from ..calls.step_list import At, NativeCall


@functools.lru_cache(64)
def _divide(function: str, kind, number: int | None):
    """Return the kernel of a function of two arrays, or of a number and an array."""
    k = KernelBuilder(f"{function}_{kind.name}" + (f"_{number}" if number is not None else ""))
    k.parallel("i", "n")
    if number is None:
        k.input("x", kind, (1,))
    k.input("y", kind, (1,))
    k.output("z", kind, (1,))
    with k.point():
        x = k.load("x") if number is None else k.const(kind, number)
        k.store(k.append(function, kind, (x, k.load("y"))), "z")
    return k.build()


def _divide_step(node, operands, results):
    """Check all divisors, then divide. Floats are fused loops instead."""
    (x, y), (out,) = operands, results
    kind = dt.BY_NP[out.dtype]
    if not kind.is_integer or not all(_fits(a, out) for a in (x, y)) or not isinstance(y, Operand):
        return None
    number = None if isinstance(x, Operand) else int(x)
    given = (At(0), At(1)) if number is None else (At(1),)
    check = check_no_zero(At(1), y.size, kind)
    return NativeCall((check, step(_divide(node.op.name, kind, number), (*given, At(2)), n=out.size)))


def _fits(x, out) -> bool:
    """Whether an operand is an array like the result, or a number in the range of its dtype."""
    if isinstance(x, Operand):
        return x.dtype == out.dtype and x.shape == out.shape
    least, most = dt.int_range(dt.BY_NP[out.dtype])
    return type(x) is int and least <= x <= most


OPERATORS = dict.fromkeys((ew.floor_divide, ew.trunc_divide, ew.remainder, ew.fmod), OperatorKernel(step=_divide_step))
