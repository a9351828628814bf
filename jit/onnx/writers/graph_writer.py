"""Writer of ONNX graphs (nodes, constants, shapes computed at run time) and the table of operator writers."""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....ir import dtype as dt
from ....ir.graph.printer import format_place
from ....ir.opdef.op import Op
from ....ir.registry import Registry
from ....ir.source_location import module_of
from ....ir.symbols.symbolic import SymInt, is_symbol, source_of
from ...errors.errors import ExportError, at
from ...errors.extents import extent_of, parsed
from ..format import proto
from .recorded_ops import Item, Ref
from .size_formulas import FixedSize, Formulas, is_fixed

SMALL = 512   # bytes of a constant that is kept in a node
FLOAT8_SINCE = 19   # the operator set that has its dtypes


@dataclass(frozen=True)
class Emitter:
    """Writer of an operator: `write(w, item, *operands, **params)` returns the name of each result.

    `when(node, opset)` selects the nodes that it takes (None: all); other composites are written as their bodies. A `lazy`
    operator is written only when its result is used by name; `lazy(w, item)` names a smaller operand for elementwise operators,
    or None.
    """

    write: Callable
    when: Callable | None
    lazy: Any


EMITTERS: dict[Op, Emitter] = Registry()


def emits(*ops: Op, when=None, lazy=None):
    """Register the decorated writer of one or several operators."""

    def mark(fn):
        for op in ops:
            assert op not in EMITTERS, f"{op.name} has two writers"
            EMITTERS[op] = Emitter(fn, when, lazy)
        return fn

    return mark


def emits_each(table: dict, **how):
    """Register writers by their operator, or operators; `how` as for `emits`."""
    for ops, fn in table.items():
        emits(*(ops if isinstance(ops, tuple) else (ops,)), **how)(fn)


def emits_from(factory, table: dict, **how):
    """Register the writers that a factory makes of the row of each operator; `how` as for `emits`."""
    for op, row in table.items():
        emits(op, **how)(factory(*row) if isinstance(row, tuple) else factory(row))


class Claims:
    """Predicate of nodes that have a writer, in an operator set version."""

    def __init__(self, opset: int):
        self.opset = opset
        self.ops = frozenset(EMITTERS)

    def __call__(self, node) -> bool:
        emitter = EMITTERS.get(node.op)
        return emitter is not None and (emitter.when is None or bool(emitter.when(node, self.opset)))


def _names(text: str, name: str) -> bool:
    """Return whether a size's text determines the size of a name."""
    extent = parsed(text)
    return extent is not None and extent.name == name


class Writer:
    """A graph that is being written."""

    def __init__(self, opset: int, outer: "Writer | None" = None):
        self.opset = opset
        self.nodes: list = []
        self.root: Writer = outer.root if outer is not None else self
        self.names: dict = {} if outer is None else dict(outer.names)     # ref -> name
        self.waiting: dict = {}                                            # ref -> item that is written when it is needed
        self.made_by: dict = {}                                            # ref -> item that makes it
        self.used_by: dict = {}                                            # ref -> items that read it, None for a result
        self.ends: dict = {}                                               # ref of a layer's states -> name of the last one
        self.constants: dict = {}                                          # name -> array (of the root)
        self.size_sources: dict = {}                                       # name of a free size -> (ref, dim) that has it
        self.branches: Any = None                                          # which items are in branches (of the root)
        self.calls: dict = {}                                              # name -> `ModuleCall` (of the root)
        self.item: Item | None = None
        self._taken: set = set()
        self._same: dict = {}
        self._sizes: dict = {} if outer is None else dict(outer._sizes)

    # Names.

    def fresh(self, hint: str) -> str:
        taken, name, n = self.root._taken, hint, 0
        while name in taken:
            n += 1
            name = f"{hint}_{n}"
        taken.add(name)
        return name

    def reserve(self, names):
        self.root._taken.update(names)

    def name(self, x, dtype=None) -> str:
        if type(x) is Ref:
            if x not in self.names:
                self.write(self.root.waiting[x])
            return self.names[x]
        return self.scalar(x, dtype)

    def bind(self, ref: Ref, name: str):
        """Set the name of a ref, and register its sizes for formulas (sizes of inner graphs serve these only)."""
        self.names[ref] = name
        for dim, n in enumerate(ref.shape):
            if type(n) is SymInt and self.root is self:
                self.root.size_sources.setdefault(n.text, (ref, dim))

    # Nodes.

    def node(self, kind: str, *inputs, outputs: int = 1, hint: str = "", **attributes) -> Any:
        """Add a node; return the name of its result, or a list of names."""
        hint = hint or (self.item.op.name if self.item is not None else kind.lower())
        made = [self.fresh(hint if outputs == 1 else f"{hint}_{i}") for i in range(outputs)]
        self.put(kind, inputs, made, attributes)
        return made[0] if outputs == 1 else made

    def put(self, kind, inputs, outputs, attributes):
        given = [("" if x is None else x) for x in inputs]
        while given and not given[-1]:
            given.pop()
        attributes = {k: v for k, v in attributes.items() if v is not None}
        for v in attributes.values():
            unknown = next((n for n in (v if isinstance(v, (list, tuple)) else (v,)) if is_symbol(n)), None)
            if unknown is not None:
                raise FixedSize(f"the size {source_of(unknown)}")
        where = self.item.line if self.item is not None else None
        name = self.fresh(f"node_{outputs[0]}")
        place, metadata = self.modules_of(where, name)
        self.nodes.append(proto.make_node(kind, given, outputs, f"{place}{name}", attributes, metadata=metadata,
                                          doc=format_place(where) if where else ""))

    def modules_of(self, where, name: str) -> tuple:
        """Return (the module path in front of a node's name, metadata of enclosing modules as in PyTorch's models)."""
        around: list = []
        call = module_of(where)
        while call in self.root.calls:
            around.insert(0, self.root.calls[call])
            call = around[0].parent
        if not around:
            return "", {}
        paths, kinds = [*[c.path for c in around], name], [*[c.kind for c in around], self.item.op.name if self.item else name]
        place = "".join([f"/{part}" for part in around[-1].path.split(".") if part])
        return f"{place}/" if place else "", {"namespace": "/".join(map(": ".join, zip(paths, kinds))),
                                              "pkg.torch.onnx.class_hierarchy": repr(kinds),
                                              "pkg.torch.onnx.name_scopes": repr(paths)}

    def write(self, item: Item):
        emitter = EMITTERS.get(item.op)
        if emitter is None or (emitter.when is not None and not emitter.when(item.node, self.opset)):
            raise ExportError(f"operator {item.op.name}{at(item.line)} has no counterpart in ONNX (version {self.opset})")
        for v in (*item.inputs, *item.outputs):
            if type(v) is Ref:
                self.require(v.dtype, f"operator {item.op.name}{at(item.line)}")
        before, self.item = self.item, item
        try:
            found = emitter.write(self, item, *item.inputs, **item.params)
        except FixedSize as e:
            raise ExportError(f"operator {item.op.name}{at(item.line)} can be written only with fixed sizes: {e}") from None
        finally:
            self.item = before
        for ref, name in zip(item.outputs, (found,) if isinstance(found, str) else found):
            if name is not None:
                self.bind(ref, name)

    def require(self, dtype, subject: str):
        if dtype in dt.FLOAT8 and self.opset < FLOAT8_SINCE:
            raise ExportError(f"{subject} has {dtype.name}, which ONNX has from version {FLOAT8_SINCE} on; pass "
                              f"opset={FLOAT8_SINCE} or higher, not {self.opset}")

    # Constants.

    def const(self, array, hint: str = "constant") -> str:
        """Return a constant array. Equal ones are stored once: small ones as nodes, large ones as initializers."""
        a = np.ascontiguousarray(array).reshape(np.shape(array))
        key = (a.dtype.str, a.dtype.name, a.shape, a.tobytes())
        root = self.root
        if key not in root._same:
            name = root._same[key] = root.fresh(hint)
            if a.nbytes <= SMALL:
                value = {"value": proto.make_tensor(a, name)}
                root.nodes.append(proto.make_node("Constant", [], [name], f"node_{name}", value))
            else:
                root.constants[name] = a
        return root._same[key]

    def scalar(self, value, dtype) -> str:
        """Return a number as a 0-d constant, or computed if it depends on sizes."""
        if is_symbol(value):
            return self.node("Squeeze", self.number(value, dtype))
        return self.const(np.asarray(value).astype(dtype.np), "number")

    def small(self, x) -> str | None:
        """Return the name of the operand that a ref was broadcast from, or None."""
        item = self.root.made_by.get(x) if type(x) is Ref else None
        if item is None or not EMITTERS[item.op].lazy or x in self.names:
            return None
        return EMITTERS[item.op].lazy(self, item)

    def is_used(self, ref) -> bool:
        return bool(self.root.used_by.get(ref))

    # Sizes.

    def ints(self, values) -> str:
        values = list(values)
        if is_fixed(values):
            return self.const(np.array(values, np.int64), "sizes")
        parts, run = [], []
        for v in [*values, None]:
            if v is not None and not is_symbol(v):
                run.append(v)
                continue
            if run:
                parts.append(self.const(np.array(run, np.int64), "sizes"))
                run = []
            if v is not None:
                parts.append(self.number(v, dt.int64))
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=0, hint="sizes")

    def number(self, size, dtype) -> str:
        key = source_of(size), dtype
        if key not in self._sizes:
            self._sizes[key] = Formulas(self, self._size).written(size, dtype)
        return self._sizes[key]

    def _size(self, name):
        if name not in self._sizes:
            sources = self.root.size_sources
            text = next(text for text in (name, *sources) if text in sources and _names(text, name))
            ref, dim = sources[text]
            made = self.node("Shape", self.names[ref], start=dim, end=dim + 1, hint="size")
            extent = extent_of(text)
            if extent.plus:
                made = self.node("Sub", made, self.const(np.array([extent.plus], np.int64), "number"))
            if extent.times > 1:
                made = self.node("Div", made, self.const(np.array([extent.times], np.int64), "number"))
            self._sizes[name] = made
        return self._sizes[name]

    # Shorthands of several writers.

    def cast(self, name: str, dtype) -> str:
        more: dict = {"saturate": 0} if dtype is dt.float8_e5m2 else {}      # which has infinities for what is too large
        return self.node("Cast", name, to=proto.type_number(dtype), **more)

    def reshape(self, name: str, shape) -> str:
        """Reshape; a single symbolic size needs no computation."""
        shape = tuple(shape)
        symbolic = [i for i, n in enumerate(shape) if is_symbol(n)]
        if len(symbolic) == 1 and 0 not in shape:
            shape = tuple([-1 if i == symbolic[0] else n for i, n in enumerate(shape)])
        return self.node("Reshape", name, self.ints(shape), allowzero=1 if 0 in shape else None)

    def transpose(self, name: str, dims) -> str:
        return name if tuple(dims) == tuple(range(len(dims))) else self.node("Transpose", name, perm=list(dims))

    def expand(self, name: str, shape) -> str:
        return self.node("Expand", name, self.ints(shape))

    def slice(self, name: str, starts, stops, axes, steps=None) -> str:
        steps = None if steps is None or all(s == 1 for s in steps) else self.ints(steps)
        return self.node("Slice", name, self.ints(starts), self.ints(stops), self.ints(axes), steps)

    def squeeze(self, name: str, axes) -> str:
        return self.node("Squeeze", name, self.ints(axes))

    def unsqueeze(self, name: str, axes) -> str:
        return self.node("Unsqueeze", name, self.ints(axes))

    def range(self, count, dtype=dt.int64) -> str:
        """Return 0, 1, 2 ... below a number that may be symbolic."""
        if not is_symbol(count):
            return self.const(np.arange(count).astype(dtype.np), "range")
        end = self.node("Squeeze", self.number(count, dt.int64))
        found = self.node("Range", self.scalar(0, dt.int64), end, self.scalar(1, dt.int64))
        return found if dtype is dt.int64 else self.cast(found, dtype)

    def filled(self, shape, value, dtype) -> str:
        value = np.full(1, value).astype(dtype.np)
        if is_fixed(shape) and np.prod(shape) == 1:
            return self.const(value.reshape(shape), "number")
        return self.node("ConstantOfShape", self.ints(shape), value=proto.make_tensor(value, "value"))

    def reduce(self, kind: str, name: str, axes, keep) -> str:
        """Reduce over axes, which are an input from version 18 on."""
        if self.opset >= 18 or kind == "ReduceSum":
            return self.node(kind, name, self.ints(axes), keepdims=int(keep))
        return self.node(kind, name, axes=list(axes), keepdims=int(keep))

    @contextmanager
    def inner(self):
        """Yield a writer for an inner graph, such as the body of a Scan."""
        inside = Writer(self.opset, self)
        inside.item = self.item
        yield inside

    def scan(self, states, sequences, types, body, *, axis: int, reverse: bool = False) -> list:
        """Write a loop along an axis.

        `states` and `sequences` are names. `types` are (dtype, shape) of the states, of a slice of each sequence, and of each
        step's results. `body(writer, states, slices)` returns the names of new states and results.
        """
        with self.inner() as inside:
            names = [inside.fresh("step_in") for _ in (*states, *sequences)]
            inputs = [proto.make_value(n, *t) for n, t in zip(names, [*types[0], *types[1]])]
            new, out = body(inside, names[:len(states)], names[len(states):])
            given = [inside.node("Identity", n, hint="step_out") for n in (*new, *out)]
            outputs = [proto.make_value(n, *t) for n, t in zip(given, [*types[0], *types[2]])]
            graph = proto.make_graph(self.fresh("steps"), inside.nodes, inputs, outputs)
        count = len(sequences)
        made = self.node("Scan", *states, *sequences, outputs=len(given), body=graph, num_scan_inputs=count,
                         scan_input_axes=[axis] * count, scan_input_directions=[int(reverse)] * count,
                         scan_output_axes=[axis] * len(out), scan_output_directions=[int(reverse)] * len(out))
        return made if isinstance(made, list) else [made]
