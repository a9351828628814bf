"""Finds values of an arranged graph that can be written into the inputs that they replace.

    %2 = assign_view(%cache, %k)          %2 is %cache with one part written
    %3 = attention(%q, %2)
    replaces %cache: %2                   so it is written there, before anything reads it, and nothing is copied

Such values are computed element by element from the input, or are updates of it: operators (trait "updates") that leave most
of their first operand as it is, one after the other. All other readers of the input have run before. After the first write
nothing may fail, since Python repeats a call that has failed: the indices of updates are checked before
(`hoist_index_checks`). (A GPU's kernels record wrong indices and skip their writes: no call is repeated.)
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.params import param_key
from ...ir.ops.index.indexing import gather, in_range
from ...ir.ops.index.sort import arg_topk, argsort
from ..layout.plain_operands import pattern_of
from ..rewrite.kernel_body import is_free, source_of
from ..rewrite.strided import row_major
from .plan_steps import Call, Fused, Product, reads_of, values_of, writes_of

# Checks of indices.


def hoist_index_checks(graph: Graph) -> Graph:
    """Return the graph with the indices of its updates checked at their source, by operators that run as early as possible.

        %1 = index_put(%cache, %k, %at)            %0 = in_range(%at, low=-16, high=16)
        %3 = index_put(%other, %v, %at)            %1 = index_put(%cache, %k, %0)
                                                   %3 = index_put(%other, %v, %0)

    So positions that many layers write to are checked once, and before the first of them is written in place.
    """
    wanted: dict = {}
    for node in graph.nodes:
        for position, *bounds in _index_bounds(node):
            wanted.setdefault(node.inputs[position], {})[param_key(tuple(bounds))] = bounds
    if not wanted:
        return graph
    b, checked = Builder(graph.name), {}
    env = b.copy_inputs(graph)

    def check(values):
        for v in values:
            for key, (low, high) in wanted.get(v, {}).items():
                checked[v, key] = b.append(in_range, (env[v],), {"low": low, "high": high})

    check(graph.inputs)
    for node in graph.nodes:
        operands = [env[x] if type(x) is Value else x for x in node.inputs]
        for position, *bounds in _index_bounds(node):
            operands[position] = checked[node.inputs[position], param_key(tuple(bounds))]
        env.update(zip(node.outputs, b.copy_like(node, operands).outputs))
        check(node.outputs)
    return b.finish_like(graph, env)


def may_fail(node: Node) -> bool:
    """Return whether a node may raise, or has an effect that Python may see; neither an update with checked indices nor a
    gather by the positions of a sort does."""
    if not node.op.may_refuse(node.inputs):
        return node.has_effect
    if node.op is gather:
        x, index = node.inputs
        maker = index.node if type(index) is Value else None
        if maker is not None and maker.op in (argsort, arg_topk):
            return maker.params["dim"] != node.params["dim"] or maker.inputs[0].aval.shape != x.aval.shape
    indices = [node.inputs[position] for position, *_ in _index_bounds(node)]
    return not indices or any(v.node is None or v.node.op is not in_range for v in indices)


def _index_bounds(node) -> list:
    """Return (number of the operand, least index, one more than the largest) of the indices of an update."""
    return node.op.bounds(*node.inputs, **node.params) if node.op.bounds is not None and "updates" in node.op.traits else []


# Writes in place.


@dataclass(frozen=True)
class UpdateRules:
    """The questions about a machine's steps.

    call            (step) -> the node of a called operator, None for other steps
    reads, writes   (step) -> the values in memory that it reads, and those that it makes
    by_elements     (step, value) -> whether it makes the value by elements, in any layout
    where_it_writes (step, value) -> whether it reads the value only at the element that it then writes; of no call
    may_fail        (node) -> whether its call may raise, or has an effect that Python may see
    """

    call: Callable
    reads: Callable
    writes: Callable
    by_elements: Callable
    where_it_writes: Callable
    may_fail: Callable


def in_place(graph: Graph, steps: list, targets: dict, rules: UpdateRules | None = None) -> dict:
    """Return {value: the input in whose memory it is written}, in the order of the steps.

    `targets` names, by position, the input that a result replaces.
    """
    found: dict = {}
    updates = _Updates(graph, steps, rules or ON_CPU)
    for position, number in targets.items():
        value, target = graph.outputs[position], graph.inputs[number]
        if value.aval == target.aval and graph.outputs.count(value) == 1:
            found.update(dict.fromkeys(updates.of(value, target), target))
    return found


class _Updates:
    """A search for values that may be written over inputs."""

    def __init__(self, graph, steps, rules):
        self.steps, self.rules = steps, rules
        self.nodes = [rules.call(s) for s in steps]
        self.makers = {v: i for i, s in enumerate(steps) for v in rules.writes(s)}
        self.leaving = {source_of(v) for v in graph.outputs if is_free(v)} | set(graph.outputs)
        self.failing = max((i for i, n in enumerate(self.nodes) if n is not None and rules.may_fail(n)), default=-1)
        self.readers: dict = {}       # value in memory -> the numbers of the steps that read it
        for i, s in enumerate(steps):
            for v in dict.fromkeys(rules.reads(s)):
                self.readers.setdefault(v, []).append(i)

    def of(self, value, target) -> list:
        """Return the values written over an input, first to last: a chain of updates up to a result; none if that is unsafe."""
        best: list = []
        chain = [value]
        if target in self.leaving:
            return []
        while chain[0] in self.makers and self._writes_anywhere(chain[0]):
            if self._may_take(chain, target):
                best = list(chain)
            base = self._base(chain[0])
            if base is None or base is target or base in self.leaving or base.aval != target.aval:
                break
            chain.insert(0, base)
        return best

    def _writes_anywhere(self, value) -> bool:
        """Return whether a value is made by elements, or an update."""
        at = self.makers[value]
        node = self.nodes[at]
        return self.rules.by_elements(self.steps[at], value) if node is None else "updates" in node.op.traits

    def _base(self, value):
        node = self.nodes[self.makers[value]]
        return None if node is None or type(node.inputs[0]) is not Value else _whole(node.inputs[0])

    def _may_take(self, chain, target) -> bool:
        """Return whether the values of a chain may take an input's place, one after the other."""
        writes = [self.makers[v] for v in chain]
        if writes[0] < self.failing:
            return False
        return all(i <= write and (i < write or self._reads_as_it_writes(i, held))
                   for held, write in zip([target, *chain], writes) for i in self.readers.get(held, ()))

    def _reads_as_it_writes(self, number, held) -> bool:
        """Return whether a step reads a value only where it writes at the same time, or as its update's base."""
        node = self.nodes[number]
        if node is None:
            return self.rules.where_it_writes(self.steps[number], held)
        first, *others = values_of(node)
        return "updates" in node.op.traits and _whole(first) is held and held not in [source_of(v) for v in others]


def _by_elements(step, value) -> bool:
    """Return whether a value is made by a kernel without reductions, or an epilogue."""
    if type(step) is Fused:
        return value in step.group.body.results and not step.group.reduced
    return value in step.epilogue.others


def _where_it_writes(step, held) -> bool:
    if type(step) is Product and held in [source_of(v) for v in values_of(step.node)]:
        return False
    group = step.group if type(step) is Fused else step.epilogue.group
    plain = _flat(row_major(held.shape).plain)
    return all(_flat(p) == plain for v, p in group.body.loads if v is held)


ON_CPU = UpdateRules(lambda step: step.node if type(step) is Call else None, reads_of, writes_of, _by_elements,
                     _where_it_writes, may_fail)


def _whole(value):
    """Return the value in memory that another one shows whole and in order, or None."""
    found = pattern_of(value)
    if found is None:
        return None
    source, pattern = found
    return source if source is value or _flat(pattern) == _flat(row_major(source.shape).plain) else None


def _flat(p):
    sizes = [(n, s) for n, s in zip(p.shape, p.strides) if n != 1]
    step, order = 1, True
    for n, s in reversed(sizes):
        order, step = order and s == step, step * n
    return p.offset, order, math.prod(p.shape)
