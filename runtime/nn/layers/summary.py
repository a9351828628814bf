"""Summaries of modules: a table of layers, shapes, parameters and FLOPs, and a drawing of the graph."""

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ....ir.draw import view
from ....ir.draw.tables import COLUMNS, LINES, clipped, counted, html_table, text_table
from ....ir.errors import ArgumentError
from ....ir.graph.graph import Builder, Graph, Value, live_nodes
from ....ir.opdef.op import operations
from ...autograd.grad_mode import no_grad
from ...core.random import fork_rng
from ...core.storage import user_line
from ...core.tensor import Tensor
from ...state.mode import other_mode, tls
from ...state.recorder import NullRecorder
from ..base.parameter import is_lazy

__all__ = ["GraphBuilder", "Summary", "summary"]


class GraphBuilder:
    """The graph of one call, built from its operators. A tensor stands for its last value. Tensors that no operator made are
    inputs, with names from `names`."""

    def __init__(self, name: str, names: dict):
        self.builder = Builder(name)
        self.names = names                  # id of tensor -> name
        self.values: dict[int, Value] = {}
        self.tensors: list[Any] = []           # keeps tensors alive, so that ids stay unique
        self.groups: dict[str, list] = {}

    def _enter(self, t: Tensor, value: Value):
        self.tensors.append(t)
        self.values[id(t)] = value

    def value_of(self, t: Tensor) -> Value:
        if id(t) not in self.values:
            self._enter(t, self.builder.input(self.names.get(id(t), "x"), t.aval))
        return self.values[id(t)]

    def append(self, op, args, params, out, group: str):
        """Append an operator that ran inside the module `group`."""
        self.builder.line = user_line()
        start = len(self.builder.nodes)
        values = self.builder.append(op, [self.value_of(a) if isinstance(a, Tensor) else a for a in args], params)
        pairs = zip(out, values) if type(out) is tuple else ((out, values),)
        for t, value in pairs:
            self._enter(t, value)
        if group:
            self.groups.setdefault(group, []).extend(self.builder.nodes[start:])

    def assign(self, t: Tensor, source):
        """Give a tensor the value of another one."""
        if isinstance(source, Tensor) and source.aval == t.aval:
            self._enter(t, self.value_of(source))

    def finish(self, results) -> tuple:
        """Return (graph, nodes by module), reduced to what the results need."""
        outputs = [self.values[id(t)] for t in results if id(t) in self.values]
        whole = self.builder.finish(outputs)
        live = live_nodes(whole)
        last = Builder(whole.name)
        used = {x for n in live for x in n.inputs if type(x) is Value} | set(outputs)
        env: dict = {v: last.input(v.name, v.aval) for v in whole.inputs if v in used}
        copies = {}
        for n in whole.nodes:
            if n in live:
                copies[n] = last.copy(n, [env[x] if type(x) is Value else x for x in n.inputs])
                env.update(zip(n.outputs, copies[n].outputs))
        graph: Graph = last.finish([env[v] for v in outputs])
        groups = {name: present for name, nodes in self.groups.items() if (present := [copies[n] for n in nodes if n in live])}
        return graph, groups


class _SummaryRecorder(NullRecorder):
    """A recorder that counts the FLOPs of operators and builds the graph."""

    def __init__(self, model):
        self.open: list[Row] = []
        names = {id(t): n for n, t in (*model.named_parameters(), *model.named_buffers())}
        self.graph = GraphBuilder(type(model).__name__, names)

    def ran(self, op, args, params, out):
        """Count an operator for every module that is being called."""
        count = operations(op, args, out if type(out) is tuple else (out,), params)
        for row in self.open:
            row.flops += count
        self.graph.append(op, args, params, out, self.open[-1].path if self.open else "")

    def wrote(self, dst, src):
        self.graph.assign(dst, src)

    def drew(self, generator, key):
        self.graph.names[id(key)] = "key"

    def detached(self, source, t):
        self.graph.assign(t, source)

    @property
    def random(self):
        return self


@dataclass
class Row:
    """One module of a summary."""

    path: str
    kind: str
    depth: int
    output: str = ""
    params: int = 0
    flops: int = 0
    calls: int = 0

    @property
    def name(self) -> str:
        """Return the last part of the path."""
        return self.path.rpartition(".")[2]


@dataclass(repr=False)
class Summary:
    """The result of `summary`: printed as a table; `save` draws the graph of the call."""

    rows: list = field(default_factory=list)
    params: int = 0
    trainable: int = 0
    buffers: int = 0
    param_bytes: int = 0
    flops: int = 0
    graph: Any = field(default=None, repr=False)
    modules: dict = field(default_factory=dict, repr=False)     # graph nodes by the path of their module

    def svg(self) -> str:
        """Return a drawing of the graph, with the operators of each module on one shade."""
        return view.svg(self.graph, self.modules)

    def save(self, path):
        """Write the drawing to a file: SVG, or DOT if the name ends in .dot."""
        view.save(self.graph, path, self.modules)

    def _cells(self, indent: str) -> list:
        return [((indent * r.depth) + (f"{r.name}: {r.kind}" if r.name else r.kind) + (f" x{r.calls}" if r.calls > 1 else ""),
                 r.output if r.calls else "not called", f"{r.params:,}", _short(r.flops)) for r in self.rows]

    def _totals(self) -> list:
        return [f"parameters: {self.params:,} ({self.trainable:,} trainable, {self.param_bytes / 2 ** 20:.2f} MiB)",
                f"buffers: {self.buffers:,}", f"flops of one call: {_short(self.flops)}"]

    def _lines(self, most: int | None) -> list:
        """Return the lines of the text, with at most so many rows."""
        head, *rows = text_table(_HEAD, self._cells("  "), (0, 1))
        hidden = 0 if most is None else max(0, len(rows) - most)
        more = [f"... {counted(hidden, 'more row')}: print(summary) shows all, depth= selects levels"] if hidden else []
        rule = "-" * max(map(len, (head, *rows)))
        return [head, rule, *rows[:len(rows) - hidden], *more, rule, *self._totals()]

    def __str__(self):
        return "\n".join(self._lines(None))

    def __repr__(self):
        return "\n".join([clipped(line, COLUMNS) for line in self._lines(LINES - _AROUND_ROWS)])

    def _repr_html_(self) -> str:
        return html_table(_HEAD, self._cells("\u2003"), (0, 1), "; ".join(self._totals()), "print(summary)")


_HEAD = ("layer", "output", "parameters", "flops")
_AROUND_ROWS = 7        # lines above and below the rows, and the one that counts hidden rows


def _short(n: int) -> str:
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if n >= size:
            return f"{n / size:.2f} {unit}"
    return str(n)


def _shape_of(result) -> str:
    if isinstance(result, Tensor):
        return str(list(result.shape))
    if isinstance(result, (tuple, list)):
        return ", ".join(_shape_of(r) for r in result if r is not None)
    if isinstance(result, dict):
        return ", ".join(f"{k}: {_shape_of(v)}" for k, v in result.items())
    return type(result).__name__


def summary(model, input=None, *args, depth=None, train=False, **kwargs) -> Summary:
    """Call `model(input, *args, **kwargs)` once and return a table of output shapes, parameters and FLOPs per module.

    A tuple of inputs is spread out. `.save("net.svg")` of the result draws the graph. Modules are shown `depth` levels down.
    The call runs in evaluation mode unless `train`, and restores modes, gradients and random state.
    """
    if tls.m.recorder is not None:
        tls.m.recorder.refuse("it summarises a module", "call nn.summary outside of the function")
    inputs = input if isinstance(input, tuple) else () if input is None else (input,)
    rows = {id(m): Row(name, m._get_name(), name.count(".") + bool(name))
            for name, m in model.named_modules()}
    watcher, modes = _SummaryRecorder(model), {m: m.training for m in model.modules()}
    try:
        model.train(train)
        with other_mode(recorder=watcher), _tracking_calls(model, rows, watcher), no_grad(), fork_rng():
            result = model(*inputs, *args, **kwargs)
    finally:
        for module, mode in modes.items():
            module.training = mode
    found = _build_table(model, rows, depth)
    found.graph, found.modules = watcher.graph.finish(_tensors_of(result))
    return found


def _tensors_of(result) -> list:
    if isinstance(result, Tensor):
        return [result]
    parts = result.values() if isinstance(result, dict) else result if isinstance(result, (tuple, list)) else ()
    return [t for part in parts for t in _tensors_of(part)]


@contextmanager
def _tracking_calls(model, rows, watcher):
    """Record when modules are entered and left."""
    def enter(module, args):
        row = rows[id(module)]
        row.calls += 1
        watcher.open.append(row)

    def leave(module, args, result):
        watcher.open.pop()
        rows[id(module)].output = _shape_of(result)

    handles = [h for m in model.modules() for h in (m.register_forward_pre_hook(enter), m.register_forward_hook(leave))]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _build_table(model, rows, depth) -> Summary:
    """Return the table, with each parameter counted once."""
    if depth is not None and depth < 0:
        raise ArgumentError(f"summary: depth must be 0 or more, got {depth}")
    found = Summary(flops=rows[id(model)].flops)
    for module in model.modules():
        row = rows[id(module)]
        row.params = sum(_size(p) for p in module.parameters(recurse=depth is not None and row.depth == depth))
        if depth is None or row.depth <= depth:
            found.rows.append(row)
    for p in model.parameters():
        found.params += _size(p)
        found.trainable += _size(p) if p.requires_grad else 0
        found.param_bytes += _size(p) * p.element_size()
    found.buffers = sum(_size(b) for b in model.buffers())
    return found


def _size(p) -> int:
    return 0 if is_lazy(p) else p._a.size
