"""Pads matrices of odd row sizes between products.

    %2 = matmul(%x, %w)            f32[8,5]          %2 = matmul(%x, pad(%w))                  f32[8,64]
    %3 = amax(%2, dim=(1,))                          %3 = amax(where(iota < 5, %2, -inf), dim=(1,))
    %4 = exp(sub(%2, expand(%3)))                    %4 = exp(sub(%2, expand(%3)))
    %5 = matmul(%4, %y)                              %5 = matmul(where(iota < 5, %4, 0), pad(%y))

Rows that do not begin on whole vectors are loaded and stored element by element, without copy engines: the logits of
classifiers over 50257 classes are such. The new columns are left out of every sum, so results keep their bits.
"""

from typing import Any

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Graph, Node, Value
from ...ir.opdef.op import Reduce, Scalar
from ...ir.ops.core import elementwise as ew
from ...ir.ops.core.reduce import amax, amin, sum_
from ...ir.ops.core.shape import expand, full, iota, pad, permute, slice_
from ...ir.ops.linalg.products import matmul
from ...ir.ops.nn.loss import take_class
from ...ir.symbols.symbolic import hint
from ..rewrite.kernel_body import can_fuse
from ..rewrite.rewrite import rebuild

VECTOR = 16          # bytes to which rows are aligned
COLUMNS = 64         # what sizes become multiples of
LEAST = 1 << 20      # elements of a matrix from which it is worth it
# The neutral element of each reduction. (A sum of nothing but -0.0 is -0.0.)
NEUTRAL = {sum_: -0.0, amax: float("-inf"), amin: float("inf")}


def pad_columns(graph: Graph) -> Graph:
    """Widen each such matrix whose readers all allow it."""
    makers: dict = {}
    for n in graph.nodes:
        region = _region(graph, n) if _is_odd(n) else None
        if region is not None and makers.keys().isdisjoint(region.nodes):
            makers.update(dict.fromkeys(region.nodes, region))
    if not makers:
        return graph
    return rebuild(graph, lambda b, node, operands: makers[node].visit(b, node, operands), makers.__contains__)


def _is_odd(node) -> bool:
    """Return whether a node is a product of floats whose rows are not aligned."""
    out = node.outputs[0]
    return (node.op is matmul and out.ndim == 2 and type(out.shape[1]) is int and out.dtype.is_floating_point
            and out.dtype.itemsize <= 4 and bool(out.shape[1] * out.dtype.itemsize % VECTOR)
            and hint(out.aval.size) >= LEAST)


def _region(graph, product) -> "_Region | None":
    """Return (elementwise nodes over a product, their other readers), or None if a reader does not allow it."""
    shape, inside, nodes = product.output.shape, {product.output}, [product]
    for n in graph.nodes:
        mine = [x for x in n.inputs if type(x) is Value and x in inside]
        if not mine or n is product:
            continue
        if type(n.op.lower) is Scalar and can_fuse(n) and n.output.shape == shape:
            if not all(x in inside or _spreads(x) for x in n.inputs if type(x) is Value):
                return None
            inside.add(n.output)
        elif not _takes(graph, n, mine[0], mine):
            return None
        elif n.op is permute:
            nodes += graph.uses[n.output]
        nodes.append(n)
    is_shown = any(v in graph.results for n in nodes for v in n.outputs if v in inside or n.op is permute)
    used = any(n.op is matmul for n in nodes[1:])
    return None if is_shown or not used else _Region(nodes, inside, shape)


def _spreads(x) -> bool:
    """Return whether a value has few elements of its own, is a count, or is computed from such by elements."""
    node = x.node
    if node is None or node.op in (iota, full) or (node.op is expand and node.inputs[0].shape != x.shape):
        return node is not None
    return (type(node.op.lower) is Scalar and can_fuse(node)
            and all(v.shape == x.shape and _spreads(v) for v in node.inputs if type(v) is Value))


def _takes(graph, node, first, mine) -> bool:
    """Return whether a node that is not elementwise can read a wider matrix."""
    if node.op is matmul:
        return len(mine) == 1 and node.output.ndim == 2
    if len(mine) != 1 or node.inputs[0] is not first:
        return False
    if type(node.op.lower) is Reduce:
        dims = tuple(node.params["dim"])
        return dims == (0,) or (dims == (1,) and node.op in NEUTRAL and first.dtype.is_floating_point)
    if node.op is permute:
        readers = graph.uses[node.output]
        return bool(readers) and all(r.op is matmul and r.inputs[0] is node.output and r.inputs[1] is not node.output
                                     and r.output.ndim == 2 for r in readers)
    return node.op is take_class


class _Region:
    """A product and its elementwise followers, being rewritten.

    nodes    all that change
    inside   the values that become wider
    wide     {value: its wider self}, and `zeroed` with zeros in the new columns
    """

    def __init__(self, nodes, inside, shape):
        self.nodes, self.inside = frozenset(nodes), inside
        self.rows, self.size = shape
        self.columns = -(-self.size // COLUMNS) * COLUMNS
        self.wide: dict = {}
        self.zeroed: dict = {}
        self.padded: dict = {}
        self.here: Any = None       # where the columns are that were there

    def visit(self, b: Builder, node: Node, operands):
        x = node.inputs[0]
        if node.output in self.inside:
            made = self._product(b, operands) if node.op is matmul else self._element(b, node, operands)
            self.wide[node.output] = made
            return self._narrow(made, 1)
        if type(node.op.lower) is Reduce:
            if tuple(node.params["dim"]) == (1,):
                return b.append(node.op, (self._masked(b, x, NEUTRAL[node.op]),), node.params)
            made = b.append(node.op, (self.wide[x],), node.params)
            return self._narrow(made, made.ndim - 1)
        if node.op is permute:
            self.wide[node.output] = permute(self._with_zeros(b, x), dims=(1, 0))
            return self._narrow(self.wide[node.output], 0)
        if node.op is take_class:
            target = operands[1]
            return take_class(self.wide[x], ew.where(ew.lt(target, self.size), target, -1))
        if node.inputs[1] in self.inside:
            return self._narrow(b.append(matmul, (operands[0], self.wide[node.inputs[1]]), node.params), 1)
        if x in self.inside:
            return b.append(matmul, (self._with_zeros(b, x), self._more(operands[1], 0)), node.params)
        return self._narrow(b.append(matmul, (self.wide[x], operands[1]), node.params), 0)

    def _product(self, b, operands):
        x, y = operands
        is_permuted = y.node is not None and y.node.op is permute
        y = permute(self._more(y.node.inputs[0], 0), dims=(1, 0)) if is_permuted else self._more(y, 1)
        return b.append(matmul, (x, y), {})

    def _element(self, b, node, operands):
        given = [self.wide[old] if old in self.inside else self._spread(b, new) if type(old) is Value else old
                 for old, new in zip(node.inputs, operands)]
        return b.append(node.op, given, node.params)

    def _spread(self, b, x):
        """Return the wider form of a value that expands few elements."""
        if x not in self.wide:
            node, shape = x.node, (self.rows, self.columns)
            if type(node.op.lower) is Scalar:
                given = [self._spread(b, v) if type(v) is Value else v for v in node.inputs]
                self.wide[x] = b.append(node.op, given, node.params)
            elif node.op is not expand:
                self.wide[x] = b.call(node.op, None, **(node.params | {"shape": shape}))
            else:
                source = node.inputs[0]
                varies = bool(source.ndim) and source.shape[-1] == self.size
                self.wide[x] = expand(self._more(source, source.ndim - 1) if varies else source, shape=shape)
        return self.wide[x]

    def _more(self, x, dim):
        """Return a matrix with rows or columns of zeros at its end."""
        if (x, dim) not in self.padded:
            nothing = (0,) * x.ndim
            high = tuple([self.columns - self.size if d == dim else 0 for d in range(x.ndim)])
            self.padded[x, dim] = pad(x, low=nothing, high=high, interior=nothing, value=0)
        return self.padded[x, dim]

    def _masked(self, b, value, number):
        """Return the wider value with a number in the new columns."""
        if self.here is None:
            count = b.call(iota, None, shape=(self.rows, self.columns), dim=1, dtype=dt.int32)
            self.here = ew.lt(count, self.size)
        return ew.where(self.here, self.wide[value], number)

    def _with_zeros(self, b, value):
        if value not in self.zeroed:
            self.zeroed[value] = self._masked(b, value, 0.0)
        return self.zeroed[value]

    def _narrow(self, value, dim):
        return slice_(value, dim=dim, start=0, stop=self.size, step=1)
