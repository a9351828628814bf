"""Bodies of fused kernels, found from the values that they store.

The kernel runs over a shape; some of its dims may be reduced. Every stored value is demanded at every point, its operands are
demanded in turn, through whatever views lie between, down to values in memory. Views cost nothing: they only change the pattern
in which a value is demanded. A value demanded in two patterns is computed twice.

Terms that do not vary along the reduced dims belong to a row; the others to sweeps over the row.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import GraphError
from ...ir.graph.graph import Node, Value
from ...ir.kernel.kernel import CAST, CONST, FOLD, LOAD
from ...ir.opdef.op import Reduce, Scalar, View
from ...ir.ops.core.elementwise import cast, copy, where
from ...ir.ops.core.reduce import all_, any_, keepdim_shape
from ...ir.ops.core.shape import bitcast, contiguous, expand, full, iota, later, reshape
from ...ir.ops.nn.loss import over_classes_views, take_class
from ...ir.symbols.substitute import is_same
from ..codegen import scalars
from ..codegen.cost import function_cost
from .strided import Pattern, row_major, through

LOW = dt.NARROW
CALL = "call"        # of a scalar function
INDEX = "index"      # where the point is
PICK = "pick"        # a load from another place of the row
_COPIES = frozenset((copy, contiguous))
_FREE = frozenset((full, later))
_LOGICAL = frozenset((any_, all_))


class Unfit(GraphError):
    """The error of operations that cannot be one kernel."""


@dataclass(eq=False)
class Term:
    """One computation of a kernel at a point: a load, constant, index, scalar function, cast or reduction."""

    kind: str
    dtype: dt.DType
    args: tuple = ()
    attr: Any = None          # the buffer of a load, a number, a pattern, a function's name, a kind of reduction
    row: bool = False            # does not vary along the reduced dims
    depth: int = 0               # how many reductions must be done before
    cost: int = 0                # of this term alone
    number: int = field(default=0)

    @property
    def is_leaf(self) -> bool:
        return self.kind in (LOAD, CONST, INDEX)


def is_free(value: Value) -> bool:
    """Return whether a value needs no memory: a view of another, or the same number everywhere."""
    return value.node is not None and (type(value.node.op.lower) is View or value.node.op in _FREE)


def is_of_other_bits(value: Value) -> bool:
    """Return whether a value is a view that reads memory as another dtype."""
    while type(value) is Value and is_free(value) and value.node.inputs:
        if value.node.op is bitcast:
            return True
        value = value.node.inputs[0]
    return False


def source_of(value: Value) -> Value | None:
    """Return the value behind views; None for a fill."""
    while is_free(value):
        if value.node.op is full:
            return None
        value = value.node.inputs[0]
    return value


def sources(node: Node) -> list:
    """Return the values in memory that a node reads, through views or not, each once."""
    found = [source_of(x) for x in node.inputs if type(x) is Value]
    return [v for v in dict.fromkeys(found) if v is not None]


def can_fuse(node: Node) -> bool:
    """Return whether a fused kernel can compute this node with the bits that eager code gives."""
    if node.op is take_class:
        return bool(node.inputs[0].aval.size) and not node.output.dtype.is_complex
    if node.op is iota:
        return bool(node.output.aval.size) and not node.output.dtype.is_complex and node.output.dtype is not dt.bool_
    avals = [v.aval for v in (*[x for x in node.inputs if type(x) is Value], *node.outputs)]
    if any(0 in a.shape for a in avals) or node.multi or not avals[:-1]:
        return False
    if any(a.dtype.is_complex for a in avals):
        return _takes_complex(node)
    if type(node.op.lower) is Reduce:
        return bool(node.params["dim"]) and ("exact" in node.op.traits or node.output.dtype is not dt.bool_)
    if type(node.op.lower) is not Scalar:
        return False
    if node.op is cast or node.op in _COPIES:
        return not is_of_other_bits(node.inputs[0])
    floats = all(a.dtype.is_floating_point for a in avals[:-1])
    return scalar_name(node) in scalars.FUNCTIONS and not node.params and (floats or "exact" in node.op.traits
                                                                           or _divides_by_number(node))


def _divides_by_number(node) -> bool:
    """Return whether a node divides integers by a known nonzero number, so that it refuses nothing."""
    kind, by = node.output.dtype, node.inputs[-1]
    if "refuses_integers" not in node.op.traits or type(by) is not int or not by or not kind.is_integer:
        return False
    least, most = dt.int_range(kind)
    return least <= by <= most


def _takes_complex(node):
    """Return whether there is a scalar function of complex numbers, or a fold of them."""
    if type(node.op.lower) is Reduce:
        return bool(node.params["dim"])         # (those that ask for an order refuse complex numbers)
    if type(node.op.lower) is not Scalar:
        return False
    if node.op is cast or node.op in _COPIES:
        return not is_of_other_bits(node.inputs[0])
    return scalar_name(node) in scalars.COMPLEX and not node.params


def number_kind(node: Node) -> tuple:
    """Return (dtype of a number among an elementwise node's operands, whether low precision is computed in float32)."""
    kinds = [x.dtype for x in node.inputs if type(x) is Value]
    like = next((k for k in reversed(kinds) if k is not dt.bool_), node.output.dtype if len(kinds) == 1 else dt.bool_)
    if len(kinds) < len(node.inputs) and all(k is dt.bool_ for k in kinds):
        like = node.output.dtype
    return like, like in LOW and len(kinds) < len(node.inputs) and "exact" in node.op.traits


def scalar_name(node: Node) -> str:
    """Return the scalar function of an elementwise node."""
    return node.op.lower.fn or node.op.name


class Body:
    """The terms of a kernel over `shape`, reducing the dims `reduced`, that stores `stores`.

    nodes     the operations that it does itself; all other values are loaded
    terms     in an order in which they can be computed
    results   the term of each stored value
    rows      the stored values with one element per row
    loads     (value, pattern) of each buffer that is read
    counted   the patterns in which the index of a point is used
    pattern   that of a value of the kernel's own shape
    """

    def __init__(self, nodes, shape, reduced, stores):
        self.nodes, self.shape, self.reduced = frozenset(nodes), tuple(shape), tuple(reduced)
        self.terms, self.loads, self.counts, self.counted = [], {}, {}, {}
        self._known = {}        # (value, pattern) -> its term, while terms are made
        self.pattern = row_major(self.shape).plain
        self.row_shape = keepdim_shape(self.shape, self.reduced)
        self.row_pattern = self._over_rows(self.row_shape).plain
        ways = {v: self.way_to(v) for v in stores}
        self.rows = {v for v, way in ways.items() if self.is_row(self.pattern_of(v, way))}
        self.results = {v: self.demand(v, way) for v, way in ways.items()}
        del self._known

    def _over_rows(self, shape):
        return through(row_major(shape), expand, {"shape": self.shape})

    def way_to(self, value):
        """Return the views that lay a stored value out over the iteration shape."""
        if is_same(value.shape, self.shape):
            return ()
        if is_same(math.prod(value.shape), math.prod(self.shape)):
            return ((reshape, {"shape": self.shape}),)
        if is_same(math.prod(value.shape), math.prod(self.row_shape)):
            return ((reshape, {"shape": self.row_shape}), (expand, {"shape": self.shape}))
        raise Unfit(f"a result of shape {value.shape} is not computed over {self.shape}")

    def is_row(self, pattern: Pattern) -> bool:
        """Return whether a pattern stands still along the reduced dims."""
        return bool(self.reduced) and all(pattern.strides[d] == 0 for d in self.reduced)

    def pattern_of(self, value, chain) -> Pattern:
        """Return the strided pattern of a value that a chain of views demands."""
        if not chain and is_same(value.shape, self.shape):
            return self.pattern
        pattern = row_major(value.shape)
        for op, params in chain:
            seen = through(pattern, op, params)
            if seen is None:
                raise Unfit(f"{op.name} of a value of shape {value.shape} is no strided view")
            pattern = seen
        if not is_same(pattern.shape, self.shape):
            raise Unfit(f"a value of shape {pattern.shape} is demanded over {self.shape}")
        return pattern.plain

    def demand(self, value, chain) -> Term:
        """Return the term that is the value seen through a chain of views."""
        while is_free(value):
            if value.node.op is full:
                return self._constant(value.node.params["value"], value.dtype)
            chain = ((value.node.op, value.node.params), *chain)
            value = value.node.inputs[0]
        key = value, self.pattern_of(value, chain)
        if key not in self._known:
            # (Views that undo each other are none, or strides might not say what lies behind the first of them.)
            is_whole = is_same(value.shape, self.shape) and is_same(tuple(key[1]), tuple(self.pattern))
            self._known[key] = self._make(value, () if is_whole else chain, key[1])
        return self._known[key]

    def _make(self, value, chain, pattern):
        node = value.node
        if node not in self.nodes:
            self.loads.setdefault((value, pattern), len(self.loads))
            return self._term(LOAD, value.dtype, attr=(value, pattern), row=self.is_row(pattern))
        if type(node.op.lower) is Reduce:
            return self._fold(node, pattern)
        if node.op is iota:
            return self._index(node, chain)
        if node.op is take_class:
            return self._pick(node, pattern)
        row = self.is_row(pattern)
        self.counts[node] = self.counts.get(node, 0) + math.prod(self.row_shape if row else self.shape)
        return self._compute(node, chain, row)

    def _term(self, kind, dtype, args=(), attr=None, row=False, cost=0) -> Term:
        depth = max((a.depth for a in args), default=0) + (kind == FOLD)
        term = Term(kind, dtype, tuple(args), attr, row, depth, cost, len(self.terms))
        self.terms.append(term)
        return term

    def _constant(self, number, dtype) -> Term:
        exact = np.asarray(number).astype(dtype.np).item() if dtype not in LOW else float(number)
        key = CONST, dtype, repr(exact)
        if key not in self._known:
            self._known[key] = self._term(CONST, dtype, attr=exact)
        return self._known[key]

    def _index(self, node, chain) -> Term:
        """Return the index along a dim, as loaded from memory whose elements are their own places along it."""
        counted = Pattern(node.output.shape, tuple([int(d == node.params["dim"]) for d in range(node.output.ndim)]))
        for op, params in chain:
            seen = through(counted, op, params)
            if seen is None:
                raise Unfit(f"{op.name} of an index is no strided view")
            counted = seen
        counted = counted.plain
        counts = not counted.offset and all(type(s) is int and s in (0, 1) for s in counted.strides)
        if not counts or not is_same(counted.shape, self.shape):
            raise Unfit("an index that is no plain count along a dim")
        self.counted.setdefault(counted, len(self.counted))
        self.counts[node] = math.prod(node.output.shape)
        return self._cast(self._term(INDEX, dt.int64, attr=counted, row=self.is_row(counted)), node.output.dtype)

    def _pick(self, node, pattern):
        """Return an element of each row of a value in memory, at a checked index along the row."""
        operand, target = node.inputs
        if not is_same(operand.shape, self.shape) or self.reduced != (1,) or pattern != self.row_pattern:
            raise Unfit(f"{node.op.name} of {operand.shape} in a kernel over {self.shape} that reduces {self.reduced}")
        source, index = self.demand(operand, ()), self.demand(target, over_classes_views(self.shape))
        kinds = []
        while source.kind == CAST:       # what is picked is cast instead of all that it is picked from
            kinds.append(source.dtype)
            source, = source.args
        if source.kind != LOAD:
            raise Unfit(f"{node.op.name} of a value that is not in memory")
        self.counts[node] = math.prod(self.row_shape)
        picked = self._term(PICK, source.dtype, (self._cast(index, dt.int64),), source.attr, row=True)
        for kind in reversed(kinds):
            picked = self._cast(picked, kind)
        return picked

    def _cast(self, term, dtype) -> Term:
        return term if term.dtype is dtype else self._term(CAST, dtype, (term,), row=term.row, cost=1)

    # Operators.

    def _fold(self, node, pattern):
        """Return a reduction over exactly the reduced dims of exactly this shape, one result per row."""
        operand = node.inputs[0]
        if not is_same(operand.shape, self.shape) or tuple(node.params["dim"]) != self.reduced:
            raise Unfit(f"{node.op.name} over {node.params['dim']} of {operand.shape} in a kernel over {self.shape}")
        if pattern.strides != self.row_pattern.strides or pattern.offset:
            raise Unfit(f"the result of {node.op.name} is not used row by row")
        self.counts[node] = math.prod(self.shape)
        term = self.demand(operand, ())
        kind = node.op.lower.kind
        work = dt.bool_ if node.op in _LOGICAL else dt.float32 if term.dtype in LOW else term.dtype
        result = dt.int64 if kind.startswith("arg") else work
        folded = self._term(FOLD, result, (self._cast(term, work),), kind, row=True, cost=1)
        return self._cast(folded, node.output.dtype)

    def _compute(self, node, chain, row):
        if node.op is cast or node.op in _COPIES:
            return self._cast(self.demand(node.inputs[0], chain), node.output.dtype)
        like, wide = number_kind(node)
        args = []
        for i, x in enumerate(node.inputs):
            if type(x) is Value:
                term = self.demand(x, chain)
                args.append(self._cast(term, dt.float32) if wide and term.dtype in LOW else term)
            elif node.op is where and i == 0:
                args.append(self._constant(bool(x), dt.bool_))
            else:       # in float32, too, it is the number that the lower precision has
                number, kind = (float(np.asarray(x).astype(like.np)), dt.float32) if wide else (x, like)
                args.append(self._constant(number, kind))
        name, gives = scalar_name(node), node.output.dtype
        result_dtype = dt.float32 if wide and gives is like else gives
        term = self._term(CALL, result_dtype, args, name, row, function_cost(name, len(args), _counted(args, result_dtype)))
        return self._cast(term, gives)


def _counted(args, result_dtype):
    found = next((a.dtype for a in reversed(args) if a.dtype is not dt.bool_), result_dtype)
    return dt.float32 if found is dt.bool_ else found


def node_cost(node: Node) -> int:
    """Return the cost of an operation for one element."""
    if type(node.op.lower) is Reduce or node.op in (cast, iota, take_class) or node.op in _COPIES:
        return 1
    kind = next((x.dtype for x in reversed(node.inputs) if type(x) is Value and x.dtype is not dt.bool_), dt.float32)
    return function_cost(scalar_name(node), len(node.inputs), kind)
