"""Mutated graphs of operators: a sample with other parameters, operands, shapes, dtypes or declared types."""

import contextlib
import random
import re
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.graph.graph import Graph, Node, Value
from ingot.ir.graph.text import parse, show
from ingot.ir.opdef.aval import Aval
from ingot.ir.opdef.op import OPS
from ingot.ir.ops.core import elementwise as ew
from ingot.ir.symbols.scope import Scope
from ingot.ir.symbols.symbolic import SymInt
from samples import (
    SAMPLES,
    rows,
    table,  # noqa: F401  (fills SAMPLES)
)

NAMES = sorted(set(SAMPLES) & set(OPS))
LARGE = 1 << 24                 # bytes of values: larger graphs are read and not run

_INTS = (0, 1, -1, 2, 3, 5, 7, 8, 63, 255, -3, 1000, 10 ** 8, -10 ** 8, 1 << 31, -(1 << 31), (1 << 32) + 1, 1 << 40, 1 << 62,
         (1 << 63) - 1, -(1 << 63), 1 << 63, 1 << 70)
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 1e-30, 1e30, 1e308, float("inf"), -float("inf"), float("nan"))
_OTHERS: tuple = (None, True, False, "", "sum", (), (1,), (0, 1), dt.float32, dt.int64, dt.bool_, dt.bfloat16,
                  slice(0, 2, 1), 1j)


def home(name: str) -> str:
    """Return the file of ir/ops that holds an operator's shape rule, such as "core.shape"."""
    return OPS[name].infer.__module__.partition(".ir.ops.")[2]


class Case(NamedTuple):
    """A mutated graph as text, its declared types, and the arrays of each call.

    compared    whether results are compared by value: numbers such as 1e308 are given to find reads outside memory alone
    damaged     whether the manifest is changed as well
    """

    name: str
    seed: int
    text: str
    inputs: tuple
    outputs: tuple
    graph: Any              # None if the shape rule refuses it
    calls: tuple
    compared: bool
    damaged: bool


def case_of(seed: int, name: str) -> Case:
    """Return the mutated graph of a seed for an operator."""
    return _Mutation(random.Random(f"{seed} {name}"), name, seed).case()


_TOKENS = re.compile(r"-?\d+|%\w+|\w+=|\w+|[(),\[\]:]")


def _other_text(text: str, pick: random.Random) -> str:
    """Return a text with words exchanged, repeated or left out."""
    for _ in range(pick.choice((1, 1, 2))):
        words = list(_TOKENS.finditer(text))
        one, other = pick.choice(words), pick.choice(words).group()
        instead = pick.choice((other, other, "", 2 * (one.group() + " "), str(pick.choice(_INTS)), "%0"))
        text = text[:one.start()] + instead + text[one.end():]
    return text


def damage(data, pick: random.Random):
    """Change one thing in JSON data."""
    holder = data
    while True:
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        if not keys:
            return
        key = pick.choice(keys)
        inner = holder[key]
        if isinstance(inner, (dict, list)) and inner and pick.random() < 0.85:
            holder = inner
            continue
        kind = pick.randrange(4)
        if kind == 0:
            del holder[key]
        elif kind == 1 and isinstance(holder, list):
            holder.append(inner)
        else:
            holder[key] = pick.choice((None, 0, 1, -1, 1 << 40, 1 << 70, 1.5, "s", "", "float64", [], {}, [0], [[]], True))
        return


class _Mutation:
    """One sample of an operator, changed."""

    def __init__(self, pick: random.Random, name: str, seed: int):
        self.pick, self.name, self.seed = pick, name, seed
        sample = pick.choice(rows(name))
        kinds = {"int": ("int64", "int32", "uint8"), "integral": ("int64", "uint8"), "float": ("float64", "float32")}
        some = kinds.get(sample.dtypes, ("float64", "float32", "int64")) if isinstance(sample.dtypes, str) else sample.dtypes
        self.op, self.params = OPS[name], dict(sample.params)
        self.args = list(sample.cast(dt.by_name(pick.choice(some))))
        self.wrap = pick.random() < 0.5
        self.shapes = {i: a.shape for i, a in enumerate(self.args) if isinstance(a, np.ndarray)}
        self.dtypes = {i: dt.from_numpy(self.args[i].dtype) for i in self.shapes}
        self.symbol = pick.random() < 0.2
        self.lie = None
        self.extremes = pick.random() < 0.1

    def change(self):
        """Change one thing."""
        pick = self.pick
        at = pick.random()
        if at < 0.6 and self.params:
            name = pick.choice(sorted(self.params))
            self.params[name] = self.other(self.params[name])
        elif at < 0.78 and self.shapes:
            i = pick.choice(sorted(self.shapes))
            self.shapes[i] = self.other_shape(self.shapes[i])
        elif at < 0.88 and self.shapes:
            self.dtypes[pick.choice(sorted(self.shapes))] = pick.choice(dt.ALL)
        elif at < 0.92 and self.params:
            del self.params[pick.choice(sorted(self.params))]
        elif at < 0.94:
            self.params[pick.choice(("dim", "shape", "extra", "value", "dtype"))] = pick.choice((0, (1, 2), 1.5, dt.int8))
        elif at < 0.98:
            self.change_operands()
        else:
            self.lie = pick.choice(("shape", "dtype", "count"))

    def change_operands(self):
        at = self.pick.randrange(len(self.args))
        kind = self.pick.randrange(4)
        if kind == 0:
            self.remove(at)
        elif kind == 1:
            self.place(at, self.pick.choice((None, 0, 1.5, True, -1, float("nan"), 1 << 40, 1j)))
        else:
            other = self.pick.randrange(len(self.args))
            self.args.append(self.args[other])
            if other in self.shapes:
                self.shapes[len(self.args) - 1], self.dtypes[len(self.args) - 1] = self.shapes[other], self.dtypes[other]

    def remove(self, at):
        kept = [i for i in range(len(self.args)) if i != at]
        if kept:
            self.args = [self.args[i] for i in kept]
            self.shapes, self.dtypes = ({n: d[i] for n, i in enumerate(kept) if i in d} for d in (self.shapes, self.dtypes))

    def place(self, at, value):
        self.args[at] = value
        self.shapes.pop(at, None)
        self.dtypes.pop(at, None)

    def other_shape(self, shape):
        pick, kind = self.pick, self.pick.randrange(6)
        if kind == 0 or not shape:
            at = pick.randrange(len(shape) + 1)
            return (*shape[:at], pick.choice((0, 1, 2, 3)), *shape[at:])
        at = pick.randrange(len(shape))
        if kind == 1:
            return shape[:at] + shape[at + 1:]
        if kind == 2 and len(shape) > 1:
            return shape[::-1]
        size = pick.choice((0, 1, 2, 5, 17, shape[at] + 1, max(shape[at] - 1, 0), 2 * shape[at]))
        return (*shape[:at], size, *shape[at + 1:])

    def other(self, value):
        """Return another value for a parameter, mostly of its type."""
        pick, kind = self.pick, type(value)
        if pick.random() < 0.07:
            return pick.choice(_OTHERS)
        if kind is bool:
            return pick.choice((not value, not value, int(value), None, 2))
        if kind is int:
            return pick.choice((value + 1, value - 1, -value, 2 * value, -1 - value, pick.choice(_INTS), pick.choice(_INTS),
                                pick.choice(_INTS[:9]), float(value)))
        if kind is float:
            return pick.choice((-value, value * 2, pick.choice(_FLOATS), pick.choice(_FLOATS), 2))
        if kind is str:
            return pick.choice(_words())
        if kind is dt.DType:
            return pick.choice(dt.ALL)
        if kind is slice:
            parts = [value.start, value.stop, value.step]
            at = pick.randrange(3)
            parts[at] = pick.choice((None, pick.choice(_INTS[:9]), pick.choice(_INTS)))
            return slice(*parts)
        if isinstance(value, (tuple, list)):
            return self.other_tuple(tuple(value))
        if value is None:
            return pick.choice((0, 1, -1, (0,), (1, 1), 0.5, True, "sum", dt.float32, None))
        return pick.choice(_OTHERS)

    def other_tuple(self, value):
        pick, kind = self.pick, self.pick.randrange(8)
        if not value:
            return pick.choice(((0,), (1,), (0, 0), (-1,), (1 << 40,)))
        at = pick.randrange(len(value))
        if kind == 0:
            return value[:at] + value[at + 1:]
        if kind == 1:
            return (*value[:at], value[at], *value[at:])
        if kind == 2:
            return pick.choice((value[::-1], (), value[at]))
        return (*value[:at], self.other(value[at]), *value[at + 1:])

    def case(self) -> Case:
        for _ in range(self.pick.choice((0, 0, 0, 1) if self.symbol else (1, 1, 1, 2, 3))):
            self.change()
        inputs, operands, names = self.operands()
        try:
            graph = self.graph_of(inputs, operands)
        except Exception:       # the reader must refuse it
            graph = None
        outputs = self.declared(graph, operands)
        if graph is None or outputs != self.types_of(graph):        # the text lies
            node = Node(self.op, tuple(operands), self.params, outputs, multi=len(outputs) > 1)
            shown, graph = Graph("fuzz", tuple(inputs), (node,), node.outputs), None
        else:
            shown = graph
        try:
            text = show(shown)
        except Exception:       # sizes that have no text
            text = show(Graph("fuzz", tuple(inputs), (), ()))
        calls = tuple([self.arrays(inputs, sizes) for sizes in self.sizes(names)])
        if self.pick.random() < 0.08:
            text, graph = _other_text(text, self.pick), None
            with contextlib.suppress(Exception):
                graph = shown = parse(text)
                inputs = graph.inputs
        types = tuple([tuple([v.aval for v in values]) for values in (inputs, shown.outputs)])
        return Case(self.name, self.seed, text, *types, graph, calls, not self.extremes, self.pick.random() < 0.05)

    def types_of(self, graph):
        return tuple([v.aval for n in graph.nodes if n.op is self.op for v in n.outputs][:64])

    def operands(self):
        """Return (inputs, operands, {name of a size: its value}). Sometimes one size is symbolic."""
        names: dict = {}
        shapes = dict(self.shapes)
        sizes = sorted({n for s in shapes.values() for n in s if n > 1})
        if self.symbol and sizes and max(map(prod, shapes.values()), default=0) < LARGE:
            n = self.pick.choice(sizes)
            symbol = Scope().size("s", n)
            names["s"] = n
            if self.pick.random() < 0.5:        # also in parameters
                self.params = {k: _replaced(v, n, symbol) for k, v in self.params.items()}
            shapes = {i: tuple([symbol if m == n else m for m in s]) for i, s in shapes.items()}
        inputs, operands = [], []
        for i, a in enumerate(self.args):
            if i in shapes:
                inputs.append(Value(Aval(shapes[i], self.dtypes[i]), index=len(inputs), name=f"a{i}"))
                operands.append(inputs[-1])
            else:
                operands.append(a.item() if isinstance(a, np.generic) else a)
        return inputs, operands, names

    def graph_of(self, inputs, operands):
        """Return the graph with the types that shape rules give; half of them with elementwise operators around."""
        nodes, operands = [], list(operands)
        at = next((i for i, v in enumerate(operands) if type(v) is Value), None)
        if self.wrap and at is not None:
            nodes += _negated([operands[at]])
            if nodes:
                operands[at] = nodes[0].outputs[0]
        given = self.op.infer(*[v.aval if type(v) is Value else v for v in operands], **self.params)
        multi = type(given) is tuple
        node = Node(self.op, tuple(operands), self.params, given if multi else (given,), multi=multi)
        after = _negated(node.outputs) if self.wrap else []
        made = {n.inputs[0]: n.outputs[0] for n in after}
        graph = Graph("fuzz", tuple(inputs), (*nodes, node, *after), tuple([made.get(v, v) for v in node.outputs]))
        assert all((type(n) is int and n >= 0) or type(n) is SymInt for v in graph.values() for n in v.shape)
        return graph

    def declared(self, graph, operands):
        """Return the types of the results that the text declares."""
        if graph is not None:
            types = [*self.types_of(graph)]
        else:
            types = [next((v.aval for v in operands if type(v) is Value), Aval((2,), dt.float32))]
        if not types:
            return ()
        if self.lie == "count":
            types = types[1:] if len(types) > 1 else types * 2
        elif self.lie == "dtype":
            types = [Aval(types[0].shape, self.pick.choice(dt.ALL)), *types[1:]]
        elif self.lie == "shape":
            types = [Aval(self.other_shape(types[0].shape), types[0].dtype), *types[1:]]
        return tuple(types)

    def sizes(self, names):
        if not names:
            return [{}]
        n = names["s"]
        return [names, {"s": self.pick.choice((n + 1, 2 * n, 7))}, {"s": self.pick.choice((2, 2, 3, max(n - 1, 2)))}]

    def arrays(self, inputs, sizes):
        given = {}
        for v in inputs:
            i = int(v.name[1:])
            shape = tuple([n if type(n) is int else sizes["s"] for n in v.shape])
            a = self.args[i]
            if not isinstance(a, np.ndarray) or a.shape != shape or dt.from_numpy(a.dtype) is not v.dtype:
                a = None if prod(shape) > LARGE else self.fresh(shape, v.dtype)
            elif self.extremes:
                a = self.with_extremes(a.copy())
            given[v.name] = a
        return tuple(given.values())

    def fresh(self, shape, dtype):
        noise = np.random.default_rng(self.pick.getrandbits(32))
        if dtype is dt.bool_:
            return noise.random(shape) < 0.5
        if dtype.is_inexact:
            return np.asarray(noise.standard_normal(shape)).astype(dtype.np)
        return np.asarray(noise.integers(0, self.pick.choice((1, 2, 3, 8)), shape)).astype(dtype.np)

    def with_extremes(self, a):
        flat = a.reshape(-1)
        for _ in range(min(2, flat.size)):
            value = self.pick.choice((-1, 0, 5, 100, 1 << 20, -(1 << 31), 1 << 40)) if a.dtype.kind in "iu" else (
                self.pick.choice(_FLOATS) if a.dtype.kind in "fc" else True)
            with np.errstate(all="ignore"):
                flat[self.pick.randrange(flat.size)] = np.asarray(value).astype(a.dtype)
        return a


def _negated(values) -> list:
    """Return nodes that negate values, if their dtypes can be negated."""
    made = []
    for v in values:
        op = ew.logical_not if v.dtype is dt.bool_ else ew.neg
        with contextlib.suppress(Exception):
            made.append(Node(op, (v,), {}, (op.infer(v.aval),)))
    return made


def _replaced(value, n, symbol):
    if type(value) is tuple:
        return tuple([_replaced(v, n, symbol) for v in value])
    return symbol if type(value) is int and value == n else value


_WORDS: list = []


def _words() -> list:
    """Return the texts that parameters of samples have."""
    if not _WORDS:
        found = {v for name in NAMES for s in rows(name) for v in s.params.values() if type(v) is str}
        _WORDS.extend(sorted(found | {"", "none"}))
    return _WORDS
