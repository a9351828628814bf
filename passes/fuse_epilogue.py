"""Products take in what follows them: bias, activation, residual, scale, before their only store.

The product must be read by nothing but one elementwise kernel, element by element. One of the kernel's results takes the
product's place; others are stored beside it. The operations and their order stay as they are, so nothing is rounded otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..ir import dtype as dt
from ..ir.graph import Node, Value
from ..ir.kernel import LOAD, STORE, Instr
from ..ir.ops.linalg import matmul
from .codegen.llvm.fused_epilogue import ACCUMULATED, Fused, Operand
from .kernel_body import CALL, source_of
from .strided import Pattern, row_major

DEAREST = 80      # cost per element up to which work in a product's tiles is better than a sweep of its own
MOST_BESIDE = 2   # buffers of the product's size that its tiles can read and write beside it without losing their pace
NARROWEST = 16    # columns from which a product runs on the road that has epilogues


@dataclass(eq=False)
class Epilogue:
    """A product and the group that it takes in.

    result     what takes the product's place
    operands   (value, offset, row stride, batch stride) of each buffer of the epilogue, in elements: those it reads, then
               the other results
    others     the other results
    """

    node: Node
    group: Any
    result: Value
    fused: Fused
    operands: tuple
    others: tuple


def fuse_epilogues(groups: list, escaping, replacing=frozenset(), takes: Callable | None = None) -> list:
    """The groups with an Epilogue in place of each product and kernel that can be one. Results in `replacing` are to be
    written over inputs, so they had better not take the product's place, where its sums wait before. `takes(product, result)`
    says which products have epilogues on the machine at hand."""
    takes = _has_epilogues if takes is None else takes
    readers = {}
    for g in groups:
        for n in g.nodes:
            for x in n.inputs:
                source = source_of(x) if type(x) is Value else None
                readers.setdefault(source, set()).add(g)
    taken, made = set(), {}
    for g in groups:
        if g.is_kernel:
            found = _epilogue(g, readers, escaping, replacing, takes)
            if found is not None:
                taken.add(found.node)
                made[g] = found
    return [made.get(g, g) for g in groups if g.is_kernel or g.nodes[0] not in taken]


def _epilogue(group, readers, escaping, replacing, takes):
    body = group.body
    if body.reduced or body.counted or sum(t.cost for t in body.terms) > DEAREST:
        return None
    for value, pattern in body.loads:
        node = value.node
        if node is None or node.op is not matmul or readers[value] != {group} or value in escaping:
            continue
        result = min((r for r in body.results if r.dtype is value.dtype), key=replacing.__contains__, default=None)
        if result is not None and takes(value, result) and _flat(pattern, value, body):
            return _make(group, node, result)
    return None


def _has_epilogues(product, result):
    x, y = product.node.inputs
    return (product.dtype in (dt.float32, dt.float64) and x.dtype is product.dtype and y.dtype is product.dtype
            and product.shape[-1] >= NARROWEST and product.aval.size == result.aval.size and x.ndim == y.ndim >= 2)


def _flat(pattern, product, body):
    """Whether the kernel reads the product just as it lies, and once."""
    again = [p for v, p in body.loads if v is product]
    return len(again) == 1 and pattern == row_major(body.shape).plain and body.shape[-1:] == product.shape[-1:]


def _make(group, node, result):
    body, product = group.body, node.output
    operands, places = [], []
    beside = [(v, p) for v, p in body.loads if v is not product]
    others = [v for v in body.results if v is not result]
    if len(others) + sum(2 * _extent(p) > product.aval.size for _, p in beside) > MOST_BESIDE:
        return None
    for value, pattern in [*beside, *[(v, row_major(body.shape).plain) for v in others]]:
        steps = _steps(pattern, product.shape)
        if steps is None or (value.dtype is not product.dtype and value not in others):
            return None
        batch, row, column = steps
        operands.append(Operand(f"b{len(operands)}", value.dtype, column == 1, bool(row != 0 or batch != 0)))
        places.append((value, pattern.offset, row, batch))
    buffers = {key: o.name for key, o in zip(beside, operands)}
    lines = [_line(t, buffers) for t in body.terms]
    lines += [Instr(f"w{i}", STORE, v.dtype, (f"v{body.results[v].number}",), o.name)
              for i, (v, o) in enumerate(zip(others, operands[len(beside):]))]
    fused = Fused(product.dtype, tuple(operands), tuple(lines), f"v{body.results[result].number}")
    return Epilogue(node, group, result, fused, tuple(places), tuple(others))


def _extent(pattern):
    """How many elements a pattern reads."""
    return math.prod([n for n, s in zip(pattern.shape, pattern.strides) if s])


def _line(t, buffers):
    """A term as an instruction."""
    args = tuple([f"v{a.number}" for a in t.args])
    if t.kind == CALL:
        return Instr(f"v{t.number}", t.attr, t.dtype, args)
    return Instr(f"v{t.number}", t.kind, t.dtype, args, buffers.get(t.attr, ACCUMULATED) if t.kind == LOAD else t.attr)


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
