"""Plans a graph as steps for a device: fused kernels (small alike ones batched) and calls, dead values after each, updates.

Memory is the allocator's business: work in one stream is in order, so the next step may take memory that was freed.
"""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from math import prod
from typing import Any

from ...ir import dtype as dt
from ...ir.graph.graph import Graph, Node, Value
from ...ir.opdef.op import Host
from ...ir.ops.linalg.products import matmul
from ...ir.ops.nn.conv import conv, conv_input_grad
from ...ir.ops.packed.conv_channels_last import conv_last as conv_of_last
from ...ir.ops.packed.conv_channels_last import conv_last_input_grad
from ...ir.ops.quantized.scaled_products import matmul8
from ...ir.symbols.substitute import choice
from ...ir.symbols.symbolic import hint
from ..codegen.triton.contract.matmul import is_cut
from ..codegen.triton.conv import conv_channels_last, conv_packed
from ..fusion.fuse import fuse, own_results, size_of, waits_for
from ..fusion.fuse_epilogue import Epilogue, EpilogueRules, fuse_epilogues
from ..fusion.fuse_prologue import fuse_prologues
from ..fusion.lower import Lowered, lower
from ..fusion.recompute import join_sums, recompute
from ..rewrite.kernel_body import source_of
from ..rewrite.strided import row_major
from ..simplify.single_pass_reductions import join_sweeps
from . import concat_placement
from .batched_launches import batch_launches, names_at_end
from .inplace_updates import UpdateRules, in_place

FLOATS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)


@dataclass(eq=False)
class KernelStep:
    """One fused kernel; with `ends_apart` its row values are written by an `EndStep`."""

    lowered: Lowered
    group: Any
    dead: tuple = ()
    ends_apart: bool = False

    @property
    def reads(self) -> list:
        return [v for v, _, written in self.lowered.operands if not written]

    @property
    def writes(self) -> list:
        late = names_at_end(self.lowered.kernel) if self.ends_apart else ()
        named = zip(self.lowered.kernel.buffers, self.lowered.operands)
        return [v for b, (v, _, written) in named if written and b.name not in late]


@dataclass(eq=False)
class CallStep:
    """One node that is called on arrays."""

    node: Node
    dead: tuple = ()
    refused: tuple = ()          # joins with other operations that were not made, as text

    @property
    def reads(self) -> list:
        return [source_of(x) for x in self.node.inputs if type(x) is Value and source_of(x) is not None]

    @property
    def writes(self) -> list:
        return list(self.node.outputs)


@dataclass(eq=False)
class ProductStep:
    """A matrix product or a convolution, with its epilogue."""

    epilogue: Epilogue
    dead: tuple = ()

    @property
    def node(self) -> Node:
        return self.epilogue.node

    @property
    def group(self):
        """Return the epilogue's group, or None."""
        return self.epilogue.group

    @property
    def factors(self) -> list:
        """Return the values in memory that its operands are, or are computed from."""
        before = self.epilogue.before
        loaded = [x for x, p in zip_longest(self.node.inputs, before) if p is None and type(x) is Value]
        computed = [v for p in before if p is not None for v, *_ in p.operands]
        return [*[source_of(x) for x in loaded if source_of(x) is not None], *computed]

    @property
    def epilogue_reads(self) -> list:
        """Return the values that the epilogue reads, in its order."""
        return [v for v, *_ in self.epilogue.operands if v not in self.epilogue.others]

    @property
    def reads(self) -> list:
        return [*self.factors, *self.epilogue_reads]

    @property
    def writes(self) -> list:
        return [self.epilogue.result, *self.epilogue.others]


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of a graph, in order, and the graph.

    in_place  {value: the input in whose memory it is written}
    parts     {value: the `Part` of a concat where it is written}
    """

    graph: Graph
    steps: tuple
    in_place: dict = field(default_factory=dict)
    parts: dict = field(default_factory=dict)


def plan(graph: Graph, owned=frozenset(), targets=None) -> Steps:
    """Return the steps of a graph.

    Results at the positions `owned` get memory of their own; `targets` names, by position, the input that a result is to
    replace.
    """
    graph, targets = own_results(graph, owned), targets or {}
    replacing = frozenset([graph.outputs[i] for i in targets])
    escaping = {source_of(v) for v in graph.outputs} | set(graph.outputs)
    groups = recompute(fuse(graph, replacing, launches=True), escaping, EPILOGUE_RULES.starts)
    groups = fuse_epilogues(join_sums(groups), {source_of(v) for v in graph.outputs}, replacing, EPILOGUE_RULES)
    steps = _early([_step(g) for g in fuse_prologues(groups, escaping, _has_prologue)], graph, targets)
    parts = _parts(graph, steps)
    over = in_place(graph, steps, targets, UPDATE_RULES)
    steps = batch_launches(graph, steps, [s for s in steps if type(s) is KernelStep], over, parts)
    forever, last = {source_of(v) for v in graph.outputs} | set(graph.outputs) | set(graph.inputs), {}
    last.update((v, i) for i, s in enumerate(steps) for v in (*s.reads, *s.writes))
    for i, s in enumerate(steps):
        s.dead = tuple([v for v in dict.fromkeys([*s.reads, *s.writes]) if v not in forever and last[v] == i])
    return Steps(graph, tuple(steps), over, parts)


def _early(steps, graph, targets) -> list:
    """Move input updates early, while caches hold their operands: after operands, readers and the last call that may fail."""
    over = {graph.outputs[position]: graph.inputs[number] for position, number in targets.items()}
    read = {v for s in steps for v in s.reads}
    updates = [s for s in steps if type(s) is not CallStep and any(v in over for v in s.writes) and read.isdisjoint(s.writes)
               and not any(waits_for(n) for n in (s.group.nodes if s.group is not None else ()))]
    held = Counter(v for s in updates for v in set(s.reads))
    updates = [s for s in updates if all(held[over[v]] == (over[v] in s.reads) for v in s.writes if v in over)]
    moving = set(updates)
    made: dict = {}
    last: dict = {}
    for i, s in enumerate(steps):
        if s not in moving:
            made.update(dict.fromkeys(s.writes, i))
            last.update(dict.fromkeys(s.reads, i))
    after: dict = {}
    failing = max((i for i, s in enumerate(steps) if type(s) is CallStep and _may_fail(s.node)), default=-1)
    for s in updates:
        needed = [failing] + [made.get(v, -1) for v in s.reads] + [last.get(over[v], -1) for v in s.writes if v in over]
        after.setdefault(max(needed), []).append(s)
    found = list(after.get(-1, ()))
    for i, s in enumerate(steps):
        found += [*([] if s in moving else [s]), *after.get(i, ())]
    return found


def _parts(graph, steps) -> dict:
    """Return the values that are written as parts of concats; their kernels are lowered for that."""
    kernels = [s for s in steps if type(s) is KernelStep]
    bodies = {v: s.group.body for s in kernels for v in s.writes}
    readers = Counter(v for s in steps for v in s.reads)
    found = concat_placement.parts(graph, [s.node for s in steps if type(s) is CallStep], bodies, readers)
    for s in kernels:
        result_patterns = concat_placement.patterns(s.group.body, found)
        if result_patterns:
            s.lowered = lower(join_sweeps(s.group.body), result_patterns, launches=True)
    return found


def _step(group):
    if type(group) is Epilogue:
        return ProductStep(group)
    if group.is_kernel:
        return KernelStep(lower(join_sweeps(group.body), launches=True), group)
    return CallStep(group.nodes[0], refused=tuple(group.refused))


def _has_epilogue(product, result) -> bool:
    operands = [x for x in product.node.inputs if x is not None]
    if not _reaches_all(product.node) or _is_cut(product.node):
        return False
    return (product.dtype in FLOATS and not result.dtype.is_complex and _are_factors(product.node, operands)
            and product.aval.size == result.aval.size > 0 and 2 <= product.ndim <= MOST_DIMS.get(product.node.op, product.ndim))


def _are_factors(node, operands) -> bool:
    kinds = dt.FLOAT8 if node.op is matmul8 else (node.output.dtype,)
    return all(type(x) is Value and x.dtype in kinds and x.aval.size > 0 for x in operands)


def _is_cut(node) -> bool:
    """Return whether a deep product of few tiles is split along its depth, which excludes an epilogue."""
    shape, x = node.output.shape, node.inputs[0]
    if node.op is not matmul or len(shape) < 2 or size_of(shape[:-2]) != 1 or node.output.dtype not in FLOATS:
        return False
    return _CUT[node.output.dtype](shape[-2], shape[-1], x.shape[-1])


def _has_prologue(node, position) -> bool:
    """Return whether a product can compute a factor in its tiles; a convolution can do so with its images."""
    if node.op is conv:
        x, w, _ = node.inputs
        groups = node.params["groups"]
        pixels = hint(node.output.shape[0]) * prod(map(hint, node.output.shape[2:]))
        # (These kernels take images from memory.)
        turns = w.dtype.itemsize == 2 and (conv_channels_last.suits(w.shape, groups)
                                           or conv_channels_last.pays_for_few(w.shape, groups, pixels)
                                           or conv_packed.pays(w.shape, groups, pixels, node.params["padding"]))
        fits = position == 0 and x.ndim <= MOST_DIMS[conv] and not (w.shape[1] == 1 and groups > 1) and not turns
    else:
        fits = node.op is matmul and not _is_cut(node)
    operands = [x for x in node.inputs if x is not None]
    return fits and node.output.dtype in FLOATS and node.output.aval.size > 0 and _are_factors(node, operands)


def _reaches_all(node) -> bool:
    """Return whether the taps of a transposed convolution reach every pixel."""
    if node.op not in (conv_input_grad, conv_last_input_grad):
        return True
    shape = node.inputs[1].shape
    kernel = shape[2:] if node.op is conv_input_grad else shape[1:-1]
    return all(s <= k for s, k in zip(node.params["stride"], kernel))


_CUT = {d: choice(f"is_cut_{d.short}", partial(is_cut, d)) for d in FLOATS}
MOST_DIMS = dict.fromkeys((conv, conv_input_grad, conv_of_last, conv_last_input_grad), 5)
EPILOGUE_RULES = EpilogueRules(_has_epilogue, (matmul, matmul8, *MOST_DIMS), mixed=True, spreads=True)


def _by_elements(step, value) -> bool:
    """Return whether a kernel makes a value element by element, or row by row."""
    return step.group is not None and (not step.group.reduced or value in step.group.body.rows)


def _may_fail(node) -> bool:
    """Return whether a call raises for some values or has an effect Python may see; device calls note most errors."""
    return node.has_effect or (type(node.op.lower) is Host and node.op.may_refuse(node.inputs))


def _reads_where_it_writes(step, target):
    """Return whether a kernel reads an input only at the element that it then writes.

    If threads may be laid out in several ways (elements of several sizes, row values), all have read before any writes
    (`elementwise.py`, `reduction_loops.py`); tiles of products have not.
    """
    body = step.group.body
    plain, points = (body.row_pattern, body.row_shape) if body.reduced else (row_major(body.shape).plain, body.shape)
    if target.aval.size != prod(points) or not all(p.plain == plain for v, p in body.loads if v is target):
        return False
    whole = [v for v in (*step.reads, *step.writes) if v.aval.size == target.aval.size]
    return type(step) is KernelStep or (target not in step.factors and len({v.dtype.itemsize for v in whole}) == 1)


UPDATE_RULES = UpdateRules(lambda step: step.node if type(step) is CallStep else None, lambda step: step.reads,
                           lambda step: step.writes, _by_elements, _reads_where_it_writes, _may_fail)
