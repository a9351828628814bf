"""Fuses epilogues into products: bias, activation, residual, scale, before their only store.

The product must be read by nothing but one elementwise kernel, element by element. One of the kernel's results takes the
product's place; others are stored beside it. The operations and their order stay as they are, so nothing is rounded otherwise.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...ir import dtype as dt
from ...ir.graph.graph import Node, Value
from ...ir.kernel.kernel import LOAD, STORE, Instr
from ...ir.ops.linalg.products import matmul
from ...ir.ops.packed.conv_channels_last import conv_last, conv_last_input_grad
from ...ir.ops.quantized.scaled_products import matmul8
from ..codegen.epilogue_program import ACCUMULATED, EpilogueProgram, Operand
from ..rewrite.kernel_body import CALL, Body, Unfit, source_of
from ..rewrite.strided import Pattern, row_major
from .fuse import Group, size_of

DEAREST = 80      # cost per element up to which work in a product's tiles is better than a sweep of its own
MOST_BESIDE = 2   # buffers of the product's size that its tiles can read and write beside it without losing their pace
MATRICES = frozenset((matmul, matmul8))
LAST = frozenset((conv_last, conv_last_input_grad))     # (results have pixels, then channels)
SPREAD = 8        # elements of a result for each of an operand that is computed in the tiles
NARROWEST = 2     # columns; of a lone one the operands change places, which products with epilogues do not


@dataclass(eq=False)
class Epilogue:
    """A product and the group that it takes in.

    result    the value that takes the product's place
    operands  (value, offset, row stride, batch stride) of each buffer of the epilogue, in elements: those it reads, then the
              other results
    others    the other results
    before    the prologue of each computed factor (`fuse_prologue.Prologue`)

    A product with nothing but such factors has no `group` and no `fused`.
    """

    node: Node
    group: Any
    result: Value
    fused: EpilogueProgram | None
    operands: tuple
    others: tuple
    before: tuple = (None, None)

    @property
    def nodes(self) -> tuple:
        first = [n for p in self.before if p is not None for n in p.group.nodes]
        return (*dict.fromkeys(first), self.node, *(self.group.nodes if self.group is not None else ()))


@dataclass(frozen=True)
class EpilogueRules:
    """The epilogues that a machine's products take.

    takes    whether (product, result) fits
    starts   operators that are products
    mixed    whether operands may be of other dtypes than the product
    spreads  whether values that are constant along an axis of a tile are computed once for the tile: then kernels that make
             nothing but such operands are fused, too
    """

    takes: Callable
    starts: tuple = (matmul,)
    mixed: bool = False
    spreads: bool = False


def fuse_epilogues(groups: list, escaping, replacing=frozenset(), rules: EpilogueRules | None = None) -> list:
    """Return the groups with an Epilogue in place of each product and kernel that can be one.

    Results in `replacing` will be written over inputs, so they avoid the product's place, where its sums wait before.
    """
    rules = EpilogueRules(_has_epilogues) if rules is None else rules
    readers = {}
    for g in groups:
        for n in g.nodes:
            for x in n.inputs:
                source = source_of(x) if type(x) is Value else None
                readers.setdefault(source, set()).add(g)
    makers = {v: g for g in groups if g.is_kernel for v in g.body.results} if rules.spreads else {}
    taken, made = set(), {}
    for g in groups:
        if g.is_kernel and not (g.body.reduced or g.body.counted or sum(t.cost for t in g.body.terms) > DEAREST):
            wider, gone = _with_operands(g, makers, readers, escaping)
            found = _epilogue(wider, {g, *gone}, readers, escaping, replacing, rules) if gone else None
            if found is None:
                found, gone = _epilogue(g, {g}, readers, escaping, replacing, rules), ()
            if found is not None:
                taken.update([found.node, *[n for other in gone for n in other.nodes]])
                made[g] = found
    return [made.get(g, g) for g in groups if g.nodes[0] not in taken or g in made]


def _with_operands(group, makers, readers, escaping):
    """Return (the group joined with kernels that make nothing but small operands of it, those kernels)."""
    gone: list = []
    while True:
        inside = {group, *gone}
        more = [g for g in dict.fromkeys([makers.get(v) for v, _ in group.body.loads]) if g is not None and g not in gone
                and not g.body.reduced and SPREAD * size_of(g.shape) <= size_of(group.shape)
                and all(readers[v] <= inside and v not in escaping for v in g.body.results)]
        if not more:
            return group, gone
        nodes = [n for g in (*more, group) for n in g.nodes]
        try:
            group = Group(nodes, group.shape, (), Body(nodes, group.shape, (), tuple(group.body.results)))
        except Unfit:
            return group, gone
        gone += more


def _epilogue(group, parts, readers, escaping, replacing, rules):
    body = group.body
    for value, pattern in body.loads:
        node = value.node
        if node is None or node.op not in rules.starts or not readers[value] <= parts or value in escaping:
            continue
        fit = [r for r in body.results if r.dtype is value.dtype or (rules.mixed and r.dtype is not dt.bool_)]
        result = min(fit, key=lambda r: (r in replacing, r.dtype is not value.dtype), default=None)
        if result is not None and rules.takes(value, result) and _flat(pattern, value, body):
            return _make(group, node, result, rules.mixed)
    return None


def _has_epilogues(product, result):
    x, y = product.node.inputs
    return (product.dtype in (dt.float32, dt.float64) and x.dtype is product.dtype and y.dtype is product.dtype
            and product.shape[-1] >= NARROWEST and product.aval.size == result.aval.size and x.ndim == y.ndim >= 2
            and size_of(x.shape) > 0)       # (of nothing, Python makes the sums)


def _flat(pattern, product, body):
    """Return whether the kernel reads the product in memory order, and once."""
    again = [p for v, p in body.loads if v is product]
    if product.node.op in MATRICES and not _ends_in(body.shape, product.shape[-1]):
        return False
    return len(again) == 1 and pattern == row_major(body.shape).plain


def _ends_in(shape, columns):
    return any(math.prod(shape[at:]) == columns for at in reversed(range(len(shape))))


def _faces(node) -> tuple:
    """Return (batches, rows, columns) of a product; a convolution has images, channels and pixels, or pixels and channels."""
    shape = node.output.shape
    if node.op in MATRICES:
        return faces(shape)
    if node.op in LAST:
        return 1, math.prod(shape[:-1]), shape[-1]
    return shape[0], shape[1], math.prod(shape[2:])


def faces(shape) -> tuple:
    """Return (batches, rows, columns) of a stack of matrices."""
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def _make(group, node, result, mixed):
    body, product = group.body, node.output
    operands, layouts = [], []
    reads = [(v, p) for v, p in body.loads if v is not product]
    others = [v for v in body.results if v is not result]
    if len(others) + sum(2 * _extent(p) > product.aval.size for _, p in reads) > MOST_BESIDE:
        return None
    for value, pattern in [*reads, *[(v, row_major(body.shape).plain) for v in others]]:
        steps = steps_of(pattern, *_faces(node))
        if steps is None or not (mixed or value.dtype is product.dtype or value in others):
            return None
        batch, row, column = steps
        operands.append(Operand(f"b{len(operands)}", value.dtype, column == 1, bool(row != 0 or batch != 0)))
        layouts.append((value, pattern.offset, row, batch))
    buffers = {key: o.name for key, o in zip(reads, operands)}
    lines = [line_of(t, buffers) for t in body.terms]
    lines += [Instr(f"w{i}", STORE, v.dtype, (f"v{body.results[v].number}",), o.name)
              for i, (v, o) in enumerate(zip(others, operands[len(reads):]))]
    fused = EpilogueProgram(product.dtype, tuple(operands), tuple(lines), f"v{body.results[result].number}")
    return Epilogue(node, group, result, fused, tuple(layouts), tuple(others))


def _extent(pattern):
    return math.prod([n for n, s in zip(pattern.shape, pattern.strides) if s])


def line_of(t, buffers):
    """Return a term as an instruction."""
    args = tuple([f"v{a.number}" for a in t.args])
    if t.kind == CALL:
        return Instr(f"v{t.number}", t.attr, t.dtype, args)
    return Instr(f"v{t.number}", t.kind, t.dtype, args, buffers.get(t.attr, ACCUMULATED) if t.kind == LOAD else t.attr)


def steps_of(pattern: Pattern, batches, rows, columns):
    """Return (batch, row, column) strides of a pattern over a product, or None."""
    sizes, strides = list(pattern.shape), list(pattern.strides)
    if sizes and sizes[-1] == columns:
        sizes.pop()
        column = strides.pop()
    else:
        count, column = _take(sizes, strides, columns)
        if count != columns:
            return None
    if type(columns) is int and columns == 1:
        column = 1          # (a step that is never made)
    if column not in (0, 1):
        return None
    count, row = _take(sizes, strides, rows)
    if count != rows:
        return None
    count, batch = _take(sizes, strides, batches)
    return (batch, row, column) if count == batches else None


def _take(sizes, strides, wanted):
    """Join dims from the last on up to the wanted extent: (extent, stride)."""
    extent, step = 1, 0
    while sizes and extent < wanted:
        n, s = sizes.pop(), strides.pop()
        if n != 1 and extent != 1 and s != step * extent:
            return None, None
        step = s if extent == 1 and n != 1 else step
        extent *= n
    return extent, step
