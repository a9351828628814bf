"""A table of what a module consists of: layers, shapes, parameters, floating point operations."""

from contextlib import contextmanager
from dataclasses import dataclass, field

from ...ir.errors import ArgumentError
from ...ir.op import operations
from ..autograd.grad_mode import no_grad
from ..random import fork_rng
from ..state import tls
from ..tensor import Tensor
from .parameter import is_lazy

__all__ = ["Summary", "summary"]


class _Watcher:
    """Stands where a recorder does, and hears of every operator."""

    def __init__(self):
        self.open: list[Row] = []

    def saw(self, op, args, params, out):
        """An operator ran: its operations belong to every module that is being called."""
        count = operations(op, args, out if type(out) is tuple else (out,))
        for row in self.open:
            row.flops += count

    def __getattr__(self, name):
        return _ignore


def _ignore(*args):
    """What else recorders are told."""


@dataclass
class Row:
    """One module of a summary."""

    name: str
    kind: str
    depth: int
    output: str = ""
    params: int = 0
    flops: int = 0
    calls: int = 0


@dataclass
class Summary:
    """What `summary` found; printing it shows the table."""

    rows: list = field(default_factory=list)
    params: int = 0
    trainable: int = 0
    buffers: int = 0
    param_bytes: int = 0
    flops: int = 0

    def __str__(self):
        head = ("layer", "output", "parameters", "flops")
        lines = [(("  " * r.depth) + (f"{r.name}: {r.kind}" if r.name else r.kind) + (f" x{r.calls}" if r.calls > 1 else ""),
                  r.output if r.calls else "not called", f"{r.params:,}", _short(r.flops)) for r in self.rows]
        widths = [max(len(row[i]) for row in (head, *lines)) for i in range(4)]
        shown = ["  ".join((row[0].ljust(widths[0]), row[1].ljust(widths[1]), row[2].rjust(widths[2]), row[3].rjust(widths[3])))
                 for row in (head, *lines)]
        rule = "-" * len(shown[0])
        total = (f"parameters: {self.params:,} ({self.trainable:,} trainable, {self.param_bytes / 2 ** 20:.2f} MiB)\n"
                 f"buffers: {self.buffers:,}\nflops of one call: {_short(self.flops)}")
        return "\n".join((shown[0], rule, *shown[1:], rule, total))

    __repr__ = __str__


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
    """Calls `model(input, *args, **kwargs)` once (a tuple of inputs is spread out) and tells of every module its output
    shape, its parameters and the floating point operations of its calls.

    Modules are shown `depth` levels down. The call is in evaluation mode unless `train`, and leaves no trace: no gradients,
    modes and the random state as before.
    """
    if tls.m.recorder is not None:
        tls.m.recorder.refuse("it summarises a module", "call nn.summary outside of the function")
    inputs = input if isinstance(input, tuple) else () if input is None else (input,)
    rows = {id(m): Row(name.rpartition(".")[2], m._get_name(), name.count(".") + bool(name))
            for name, m in model.named_modules()}
    watcher, modes = _Watcher(), {m: m.training for m in model.modules()}
    try:
        model.train(train)
        with _watched(watcher), _hooked(model, rows, watcher), no_grad(), fork_rng():
            model(*inputs, *args, **kwargs)
    finally:
        for module, mode in modes.items():
            module.training = mode
    return _counted(model, rows, depth)


@contextmanager
def _watched(watcher):
    m = tls.m
    m.recorder = watcher
    m.refresh()
    try:
        yield
    finally:
        m.recorder = None
        m.refresh()


@contextmanager
def _hooked(model, rows, watcher):
    """Notes when modules are entered and left."""
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


def _counted(model, rows, depth) -> Summary:
    """The table, with parameters counted once each."""
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
