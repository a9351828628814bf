"""Products take in what follows them: bias, activation, residual, scale, before their only store.

The product must be read by nothing but one elementwise kernel, element by element, and that kernel must give one result of
the same type. The operations and their order stay as they are, so nothing is rounded otherwise.
"""

import math
from dataclasses import dataclass

from ..ir import dtype as dt
from ..ir.graph import Node, Value
from ..ir.kernel import LOAD, Instr
from ..ir.ops.linalg import matmul
from .codegen.llvm.fused_epilogue import ACCUMULATED, Fused, Operand
from .kernel_body import CALL, source_of
from .strided import Pattern, row_major

DEAREST = 12      # cost per element up to which work in a product's tiles is better than a sweep of its own
NARROWEST = 16    # columns from which a product runs on the road that has epilogues


@dataclass(eq=False)
class Epilogue:
    """A product and the group that it takes in.

    operands   (value, offset, row stride, batch stride) of each buffer of the epilogue, in elements
    """

    node: Node
    group: object
    result: Value
    fused: Fused
    operands: tuple


def fuse_epilogues(groups: list, escaping) -> list:
    """The groups with an Epilogue in place of each product and kernel that can be one."""
    readers = {}
    for g in groups:
        for n in g.nodes:
            for x in n.inputs:
                source = source_of(x) if type(x) is Value else None
                readers.setdefault(source, set()).add(g)
    taken, made = set(), {}
    for g in groups:
        if g.is_kernel:
            found = _epilogue(g, readers, escaping, taken)
            if found is not None:
                taken.add(found.node)
                made[g] = found
    return [made.get(g, g) for g in groups if g.is_kernel or g.nodes[0] not in taken]


def _epilogue(group, readers, escaping, taken):
    body = group.body
    if body.reduced or len(body.results) != 1 or sum(t.cost for t in body.terms) > DEAREST:
        return None
    (result, root), = body.results.items()
    for value, pattern in body.loads:
        node = value.node
        fits = node is not None and node.op is matmul and node not in taken and readers[value] == {group}
        if fits and value not in escaping and _has_epilogues(value, result) and _flat(pattern, value, body):
            return _make(group, node, result, root)
    return None


def _has_epilogues(product, result):
    x, y = product.node.inputs
    return (product.dtype in (dt.float32, dt.float64) and result.dtype is product.dtype and x.dtype is product.dtype
            and y.dtype is product.dtype and product.shape[-1] >= NARROWEST and product.aval.size == result.aval.size
            and x.ndim == y.ndim >= 2)


def _flat(pattern, product, body):
    """Whether the kernel reads the product just as it lies, and once."""
    again = [p for v, p in body.loads if v is product]
    return len(again) == 1 and pattern == row_major(body.shape).plain and body.shape[-1] == product.shape[-1]


def _make(group, node, result, root):
    body, product = group.body, node.output
    operands, places = [], []
    for value, pattern in body.loads:
        if value is product:
            continue
        steps = _steps(pattern, product.shape)
        if steps is None or value.dtype is not product.dtype:
            return None
        batch, row, column = steps
        operands.append(Operand(f"b{len(operands)}", value.dtype, column == 1))
        places.append((value, pattern.offset, row, batch))
    names = iter([o.name for o in operands])
    buffers = {key: ACCUMULATED if key[0] is product else next(names) for key in body.loads}
    lines = []
    for t in _in_use(root):
        args = tuple([f"v{a.number}" for a in t.args])
        attr = buffers[t.attr] if t.kind == LOAD else None if t.kind == CALL else t.attr
        lines.append(Instr(f"v{t.number}", t.attr if t.kind == CALL else t.kind, t.dtype, args, attr))
    return Epilogue(node, group, result, Fused(product.dtype, tuple(operands), tuple(lines)), tuple(places))


def _in_use(root):
    """The terms that a result needs, it itself last."""
    seen, stack = {}, [root]
    while stack:
        t = stack.pop()
        if t not in seen:
            seen[t] = None
            stack.extend(t.args)
    return sorted(seen, key=lambda t: t.number)


def _steps(pattern: Pattern, shape):
    """(batch, row, column) strides of a pattern over a product's shape; None where there are none such."""
    column = pattern.strides[-1]
    if column not in (0, 1):
        return None
    sizes, strides = list(pattern.shape[:-1]), list(pattern.strides[:-1])
    rows, row = _take(sizes, strides, shape[-2])
    if rows != shape[-2]:
        return None
    count, batch = _take(sizes, strides, math.prod(shape[:-2]))
    return (batch, row, column) if count == math.prod(shape[:-2]) else None


def _take(sizes, strides, wanted):
    """Joins dims from the last on until they have the wanted extent: (extent, stride)."""
    extent, step = 1, 0
    while sizes and extent < wanted:
        n, s = sizes.pop(), strides.pop()
        if n != 1 and extent != 1 and s != step * extent:
            return None, None
        step = s if extent == 1 and n != 1 else step
        extent *= n
    return extent, step
