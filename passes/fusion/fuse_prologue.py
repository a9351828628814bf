"""Fuses prologues into products: casts, scales, activations, normalisation with given statistics of a factor.

A kernel that makes nothing but one factor of products, element by element, runs in their tiles instead. A tile is loaded again
for each tile of the other factor, so that pays where the other one is narrow, or the work little: the factor then needs neither
memory nor a launch. The operations and their order stay as they are, so nothing is rounded otherwise.
"""

import math
from dataclasses import dataclass
from typing import Any

from ...ir.graph.graph import Node, Value
from ...ir.ops.linalg.products import matmul
from ...ir.symbols.symbolic import judged
from ..codegen.epilogue_program import EpilogueProgram, Operand
from ..rewrite.kernel_body import Body, Unfit, source_of
from .fuse_epilogue import Epilogue, faces, line_of, steps_of

MOST_AGAIN = 4096     # cost of an element, times how many elements of the other factor it meets
MOST_LOADED = 2       # buffers of a factor's size that tiles of shared memory hold in its place
FACTORS = ("x", "y")  # how operands are named


@dataclass(eq=False)
class Prologue:
    """The kernel of a product's factor.

    group       the kernel that made it
    operands    (value, offset, row stride, batch stride) of each buffer, in elements
    transposed  whether rows of the buffers are columns of the factor
    """

    group: Any
    value: Value
    fused: EpilogueProgram
    operands: tuple
    transposed: bool = False


def fuse_prologues(steps: list, escaping, takes) -> list:
    """Return `steps` (groups and epilogues) with prologues where `takes(node, position)` allows and they pay."""
    readers: dict = {}
    for s in steps:
        for v in reads_of(s):
            readers.setdefault(v, []).append(s)
    fused_into: dict = {}
    gone = set()
    for s in steps:
        found = _for_all_readers(s, readers, escaping, takes)
        if found:
            gone.add(s)
            for reader, prologues in found:
                fused_into.setdefault(reader, {}).update(prologues)
    return [_with(s, fused_into[s]) if s in fused_into else s for s in steps if s not in gone]


def reads_of(step) -> set:
    """Return the values in memory that a step reads."""
    found = {source_of(x) for n in step.nodes for x in n.inputs if type(x) is Value}
    return found - {None} - {v for n in step.nodes for v in n.outputs}


def _product(step) -> Node | None:
    if type(step) is Epilogue:
        return step.node
    return step.nodes[0] if not step.is_kernel else None


def _for_all_readers(group, readers, escaping, takes) -> list:
    """Return [(product, {operand's position: prologue})] if all readers of a kernel's one result can compute it themselves."""
    if type(group) is Epilogue or not group.is_kernel or group.body.reduced or group.body.counted:
        return []
    results = list(group.body.results)
    if len(results) != 1 or results[0] in escaping or not readers.get(results[0]):
        return []
    value, found = results[0], []
    for reader in readers[value]:
        node = _product(reader)
        if node is None:
            return []
        at = [i for i, x in enumerate(node.inputs) if type(x) is Value and source_of(x) is value]
        if not all(takes(node, i) for i in at):
            return []
        if type(reader) is Epilogue and any(v is value for v, *_ in reader.operands):
            return []
        prologues = {i: _prologue(group, value, node, i) for i in at}
        if None in prologues.values():
            return []
        found.append((reader, prologues))
    return found


def _prologue(group, value, node, position) -> Prologue | None:
    """Return the prologue of a factor; None where it does not pay, or strides do not say it."""
    operand = node.inputs[position]
    try:
        body = Body(group.nodes, operand.shape, (), (operand,))
    except Unfit:
        return None
    loads = list(body.loads)
    again = judged(_meets(node, position)) * judged(operand.aval.size) // judged(value.aval.size)
    if (sum(t.cost for t in body.terms) + len(loads)) * again > MOST_AGAIN:
        return None
    if sum(math.prod([n for n, s in zip(p.shape, p.strides) if s]) * 2 > value.aval.size for _, p in loads) > MOST_LOADED:
        return None
    for transposed in (False, True)[:1 + (node.op is matmul)]:
        strides = [steps_of(_swapped(p) if transposed else p, *_extents(node, operand.shape, transposed)) for _, p in loads]
        if None not in strides:
            return _build(group, value, body, loads, strides, FACTORS[position], transposed)
    return None


def _meets(node, position):
    """Return how many elements of the other factor each element meets."""
    if node.op is matmul:
        return node.output.shape[-1 if position == 0 else -2]
    outputs, _, *kernel = node.inputs[1].shape
    return outputs // node.params["groups"] * math.prod(kernel) // math.prod(node.params["stride"])


def _extents(node, shape, transposed):
    """Return (batches, rows, columns) of a factor: images of a convolution have channels and pixels."""
    if node.op is not matmul:
        return shape[0], shape[1], math.prod(shape[2:])
    batches, rows, columns = faces(shape)
    return (batches, columns, rows) if transposed else (batches, rows, columns)


def _swapped(pattern):
    (*lead, a, b), (*steps, s, t) = pattern.shape, pattern.strides
    return pattern._replace(shape=(*lead, b, a), strides=(*steps, t, s))


def _build(group, value, body, loads, strides, letter, transposed):
    operands = tuple([Operand(f"{letter}{i}", v.dtype, column == 1, bool(row != 0 or batch != 0))
                      for i, ((v, _), (batch, row, column)) in enumerate(zip(loads, strides))])
    names = {key: o.name for key, o in zip(loads, operands)}
    lines = tuple([line_of(t, names) for t in body.terms])
    result, = body.results.values()
    fused = EpilogueProgram(value.dtype, operands, lines, f"v{result.number}")
    return Prologue(group, value, fused, tuple([(v, p.offset, row, batch) for (v, p), (batch, row, _) in zip(loads, strides)]),
                    transposed)


def _with(step, prologues):
    before = tuple([prologues.get(i) for i in range(2)])
    if type(step) is Epilogue:
        step.before = before
        return step
    node = step.nodes[0]
    return Epilogue(node, None, node.output, None, (), (), before)
