"""What losses over classes need beside fused kernels, as steps of a native call."""

import functools

from ....ir import dtype as dt
from ....ir.kernel.kernel_builder import KernelBuilder
from ....ir.ops.nn import loss
from ..calls.kernel_steps import check_range, convert, step
from ..calls.lowering_rules import native
from ..calls.step_list import At, NativeCall, Table


@native(loss.class_index)
def class_index(node, operands, results):
    """A check, the targets as they are, and their count."""
    (target,), (out, _) = operands, results
    kind = dt.BY_NP[target.dtype]
    if kind is dt.uint64:
        return None
    check = check_range(At(0), target.size, kind, 0, node.params["classes"], node.params["ignore_index"])
    copy = convert(At(0), kind, At(1), dt.int64, out.size)
    count = step(_kept(), (At(1), Table([node.params["ignore_index"]]), At(2)), n=out.size)
    return NativeCall((check, copy, count))


@functools.lru_cache(None)
def _kept():
    k = KernelBuilder("count_kept")
    k.reduce("r", "n")
    k.input("x", dt.int64, (1,))
    k.input("ignored", dt.int64, (0,))
    k.output("y", dt.int64, (0,))
    with k.sweep():
        total = k.fold("sum", k.fn.ne(k.load("x"), k.load("ignored")).to(dt.int64))
    with k.point():
        k.store(total, "y")
    return k.build()
