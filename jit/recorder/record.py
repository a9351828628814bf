"""The recorder: operators of one eager run, appended to a graph.

Writes in place are functionalised. Every storage has a `Cell`: the graph value that its memory holds now. A tensor is a chain
of view operators on top of its cell; after a write, the next read of any alias goes through its chain again. The final values
of outside storages become updates. A read by Python cuts the graph: what follows holds only for the value that was read.
"""

import sys
from types import CodeType
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Value
from ...ir.opdef.aval import Aval
from ...ir.ops.core.elementwise import cast, mul
from ...ir.ops.core.host_call import host_call
from ...ir.ops.core.shape import expand, full, reshape
from ...ir.ops.index.assign import assign_view, run_chain
from ...ir.source_location import Where
from ...ir.symbols.scope import Scope
from ...ir.symbols.symbolic import SymFloat, is_symbol, pinned
from ...runtime.core.dispatch import shared_out
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor, wrap
from ...runtime.nn.base.hooks import objects_of
from ...runtime.nn.base.module import Module
from ...runtime.state.mode import HANDING_READERS, tls
from ..bytecode.user_code import modules_below
from ..errors.errors import TraceError, at
from ..guards.frames import is_user, unprofiled
from ..guards.guards import Condition
from ..guards.memory_order import is_written_unchecked
from ..host.host_call import record
from ..proxies.lazy_scalars import forced, operand, operands
from ..proxies.numpy_scalars import SymScalar
from . import caught_errors  # noqa: F401  (it registers itself)
from .alias_table import AliasTable
from .data_swap import DataSwaps
from .finish import finish
from .gradient_log import GradientLog
from .inputs import InputTable, LayoutLog, SparseTensors
from .optimizer_steps import OptimizerLog
from .random_streams import RandomStreams
from .recording import Cell, Link, LinkTable, Recording, base_of, is_shared
from .shared_tensors import SharedTensors
from .value_reads import ValueReads

SMALL = 64      # elements up to which a constant is written into the graph
_CALL = Module.__call__.__code__


class HostLog:
    """Log of host steps, which run at the end of a call, and of host functions whose results are graph values."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.steps: list = []           # (host step, the values that it takes), in order
        self.shown: set = set()         # positions of inputs that host steps may read
        self.done: Any = None           # host steps that a failed replay has already run, and this run leaves out

    def effect(self, step, tensors):
        """Append a host function without results, which runs at the end of every call."""
        if self._recorder.permits("host"):
            self.steps.append((step, [self._recorder.value_of(t) for t in tensors]))

    def call(self, function, tensors, key) -> list:
        """Call a function of tensors that changes nothing else in this process; every replay does, too."""
        for t in tensors:
            self._recorder.pin_sizes(t)
        return record(self._recorder, function, tuple(tensors), {}, is_quiet=True, key=key)

    def warn(self, message, category, stacklevel):
        """Warn at every call."""
        self._recorder.tracker.world.messages.warn(message, category, stacklevel + 1)

    def leaves_open(self, reason: str, is_open=True):
        """Note work that another part of the call must finish, or that it has: a replay would leave it to nobody."""
        r = self._recorder
        if is_open or r.runs_as_it_is == reason:
            r.runs_as_it_is = reason if is_open else ""

    def results(self, tensors, outputs, **params):
        """Append a host function whose results are the tensors `made`."""
        r = self._recorder
        r.permits("host")
        r.builder.line = r.here()
        values = r.builder.append(host_call, [r.value_of(t) for t in tensors] or [None], params)
        for t, v in zip(outputs, values):
            r.fresh(t, v)


class ModuleStack:
    """Names of modules for the nodes of a graph. Calls of modules do nothing for it."""

    entered: CodeType | None = None       # code that calls the recorded function: modules around it do not count
    line: Any = None                      # the user's line and module while ingot's own code runs alone (`own_code.py`)

    def __init__(self):
        self._paths: dict = {}            # id of a module: (the module, {id of a module below: its path})

    def innermost(self) -> str:
        """Return the innermost module under way: the class of the outermost one, and the path from there."""
        frame: Any = sys._getframe(1)
        calls = []
        while frame is not None and frame.f_code is not self.entered:
            if frame.f_code is _CALL:
                calls.append(frame.f_locals["self"])
            frame = frame.f_back
        name, paths = "", {}
        for module in reversed(calls):
            path = paths.get(id(module))
            if path is None:
                root, paths, path = type(module).__name__, self._below(module), ""
            name = f"{root}.{path}" if path else root
        return name

    def _below(self, module) -> dict:
        known = self._paths.get(id(module))
        if known is None:
            known = self._paths[id(module)] = module, {id(m): path for path, m in modules_below(module)}
        return known[1]


class Recorder:
    """Recorder of one run; its interface to eager code is `runtime/state/recorder.py`. `changing` holds the keys of options and
    gradients that were others at earlier calls. `scope` holds the symbolic sizes and numbers of the arguments; None if all are
    fixed. Tensors of the run are not held: each refers to its place here by its link, each storage by its cell."""

    differentiates = True     # whether the backward of results is recorded, for a backward after the call
    repeats_messages = True   # whether warnings, log records and progress bars come at each replay
    takes_parts = True        # whether operators on DTensors are recorded as those on this process's parts
    refuses = True            # whether an action that no trace repeats raises, where the call has not ended yet
    may_end_early = True      # whether the rest of a call may run unrecorded
    fixes_weights = False     # whether Python may read captured tensors, since they stay as they are

    def __init__(self, name: str, changing=frozenset(), scope: Scope | None = None):
        self.scope = scope
        self.builder = Builder(name)
        self.guards: list[Condition] = []
        self.links = LinkTable(self)
        self.inputs = InputTable(self)
        self.layouts = LayoutLog(self)
        self.aliases = AliasTable(self)
        self.swaps = DataSwaps(self)
        self.sparse = SparseTensors(self)
        self.shared = SharedTensors(self)
        self.gradients = GradientLog(self, changing)
        self.reads = ValueReads(self)
        self.random = RandomStreams(self)
        self.hosts = HostLog(self)
        self.optimizers = OptimizerLog(self, changing)
        self.modules = ModuleStack()
        self.tracker: Any = None                 # observer of Python's side of the run
        self.first_time = ""                     # what this call does, and no later one
        self.runs_as_it_is = ""                  # what the run does that no trace repeats

    @property
    def contents(self) -> Any:
        """Lists and dictionaries that the function reaches."""
        return self.tracker.contents

    # Graph values of tensors.

    def cell_of(self, t: Tensor) -> Any:
        """Return the cell of a tensor's memory, if this recorder knows it."""
        cell = t._storage.__dict__.get("cell")
        return cell if cell is not None and cell.recorder is self else None

    def link(self, t: Tensor) -> Link:
        """Return the link of a tensor; capture the tensor if it has none."""
        link = t.__dict__.get("_traced")
        return link if link is not None and link.recorder is self else self.inputs.capture(t)

    def value_of(self, t: Tensor) -> Value:
        """Return the current graph value of a tensor."""
        link = self.link(t)
        cell = link.cell
        if cell.value is None:
            self._keep_constant(t)
        if link.value is None or link.version != cell.version:
            link.value = run_chain(cell.value, link.chain)
            link.version = cell.version
        return link.value

    def shape_of(self, t: Tensor) -> tuple:
        """Return the shape of a tensor, with symbolic sizes."""
        link: Any = t.__dict__.get("_traced")
        is_tied = link is not None and link.recorder is self and link.value is not None and not is_shared(t)
        return link.value.aval.shape if is_tied else t._a.shape

    def pin_sizes(self, t: Tensor):
        """Fix the symbolic sizes of a tensor: what follows is recorded for these alone."""
        for n in self.shape_of(t):
            pinned(n)

    def chain_of(self, view: Tensor) -> tuple:
        """Return the view operators that lead from its base to a tensor, with symbolic sizes."""
        chain = self.aliases.chain_from_base(view)
        return view._chain if chain is None else chain

    def fresh(self, t, value):
        """Give a tensor memory of its own, which holds a graph value: its part, if several processes share it."""
        if is_shared(t):
            self.shared.fresh(t, value)
            return
        cell = t._storage.cell = Cell(self, value)
        self.links.tie(t, Link(self, cell, (), value))

    def fitted(self, src, aval: Aval) -> Value:
        """Return a tensor or number as a graph value of a shape and dtype."""
        if type(src) is SymFloat and aval.dtype.is_floating_point:
            wide = aval if aval.dtype is dt.float32 else aval.with_dtype(dt.float64)
            made = self.builder.append(mul, [self.fitted(1.0, wide), src], {})
            return made if wide.dtype is aval.dtype else cast(made, dtype=aval.dtype)
        if not isinstance(src, Tensor):
            return self.builder.call(full, None, shape=aval.shape, value=forced(pinned(src)), dtype=aval.dtype)
        value = self.value_of(src)
        if value.dtype is not aval.dtype:
            value = cast(value, dtype=aval.dtype)
        return value if value.shape == aval.shape else expand(value, shape=aval.shape)

    # Operators.

    def plain(self, op, args, params):
        """Return operands and parameters with the values of lazy scalars, unless the graph computes with these."""
        if params:
            params = {name: _plain_param(x) for name, x in params.items()}
        args = operands(op, args)
        return (self.shared.operands(args) if shared_out else args), params

    def operand(self, x, dtype):
        return operand(x, dtype)

    def ran(self, op, args, params, out):
        unprofiled(self._append, op, args, params, out)

    def _append(self, op, args, params, out):
        if shared_out and any(map(is_shared, out if type(out) is tuple else (out,))):
            for t in out if type(out) is tuple else (out,):     # (the operators on parts are there already)
                self.shared.tie(t)
            return
        b = self.builder
        b.line = self.here()
        self.gradients.operator_runs()
        if op is reshape:
            self.layouts.extents_read(args[0])
        values = [self.value_of(a) if isinstance(a, Tensor) else a for a in args]
        if self.scope is not None and not op.is_elementwise:     # elementwise ones give the same bits
            values = [pinned(a) if is_symbol(a) else a for a in values]
        result = b.append(op, values, params)
        if type(out) is tuple:
            for t, v in zip(out, result):
                self.fresh(t, v)
        elif op.is_view and out._storage is args[0]._storage:
            base = self.link(args[0])
            self.links.tie(out, Link(self, base.cell, (*base.chain, (op.name, tuple(sorted(params.items())))), result))
        else:
            self.fresh(out, result)

    def failed(self, op):
        """An operator raised for these values or sizes. If the function goes on, later calls do something else."""
        self.only_once(f"{op.name} could not take its values")

    # Memory.

    def created(self, t: Tensor, data=None):
        """A tensor was made from Python data: a constant of the trace."""
        self.inputs.memory_of_data.append(t._a)
        source = self.inputs.array(data) if isinstance(data, np.ndarray) else data
        if isinstance(source, Tensor):
            self.fresh(t, cast(self.value_of(source), dtype=t.dtype))
        elif t._a.size <= SMALL:
            self.fresh(t, self.builder.constant(t._a))
        else:
            self.fresh(t, None)
            t._storage.cell.constant = t._a

    def _keep_constant(self, t: Tensor):
        """Make a large constant an input, at its first read."""
        cell = self.cell_of(t)
        frozen = wrap(cell.constant.copy())
        frozen.__dict__["is_constant"] = True
        cell.constant, cell.value = None, self.value_of(frozen)

    def argument_array(self, array):
        return self.inputs.array(array)

    def detached(self, source, t):
        link = self.link(source)
        self.links.tie(t, Link(self, link.cell, link.chain, link.value, link.version))

    def writing(self, dst: Tensor, src):
        """A tensor is about to be written: it comes in with the history and version from before, a constant that nobody has
        read becomes an input, and arguments whose base gets another history become views of it."""
        if id(dst._storage) in self.aliases.read_only:
            self.aliases.join(dst._storage)
        cell = self.link(dst).cell
        storage = None if cell.root is None else self.swaps.storage_before(cell.root)      # (`x.data = y.data` gives x its own)
        if id(storage) in self.aliases.read_only:
            self.aliases.join(storage)
        if self.link(dst).cell.value is None:
            self._keep_constant(dst)
        has_history = base_of(dst)._node is not None or (isinstance(src, Tensor) and src._node is not None)
        if has_history and tls.m.grad and self.aliases.is_part(dst):
            self.aliases.join(dst._storage)
        cell, history = self.link(dst).cell, base_of(dst)._node
        if tls.m.grad and history is not None and history is self.inputs.histories.get(cell.source):
            cell.is_checked = True

    def wrote(self, dst: Tensor, src):
        self.builder.line = self.here()
        link = self.link(dst)
        if is_shared(dst):
            dst._a.backend.written_part(dst._a)
        if link.value is None:
            self.value_of(dst)
        value = self.fitted(src, link.value.aval)
        cell = link.cell
        if not cell.version and cell.root is not None:
            self.layouts.query_root(dst, is_written_unchecked)
            cell.by_root = base_of(dst) is base_of(cell.root) and not self.gradients.is_detached(cell.root)
        cell.value = value if not link.chain else assign_view(cell.value, value, chain=link.chain)
        cell.version += 1
        link.value, link.version = value, cell.version

    # Values and attributes that Python reads.

    def read(self, t: Tensor, how: str, value_read):
        """Python reads a value out of a tensor, two calls up; return what it gets."""
        reader = sys._getframe(2)
        return self.reads.read(t, how, value_read, reader, reader.f_back)

    def formatted(self, t: Tensor, spec: str, frame):
        while frame.f_code in HANDING_READERS:
            frame = frame.f_back
        value = t._a.item() if t._a.size == 1 else None
        return self.reads.printed.mark(t, value, spec, frame) if is_user(frame) else None

    def cut(self, t: Tensor, how: str, value_read, line=None):
        self.reads.cut(t, how, value_read, line)

    def attribute(self, owner: Tensor | type, name: str, setting: bool):
        """Ingot's own code is about to read an attribute of a class, or to read or set one that a tensor may have got."""
        tensors = self.tracker.tensors
        if isinstance(owner, Tensor):
            unprofiled(tensors.own_code_writes if setting else tensors.own_code_reads, owner, name)
        else:
            unprofiled(self.tracker.reads.add_attributes, owner.__name__, owner, (name,))

    def switch_read(self, switch):
        unprofiled(self.tracker.switches.read, switch)

    def switch_set(self, switch, is_restored: bool):
        unprofiled(self.tracker.switches.set, switch, is_restored)

    def asked(self, name: str, question):
        unprofiled(self.tracker.switches.asked, name, question)

    # Actions that a replay cannot repeat.

    def refuse(self, what: str, instead: str, line=None):
        """Raise for an action that is not recorded."""
        raise TraceError(f"this function cannot be traced: {what}{at(line or user_line())}; {instead}")

    def permits(self, action: str, t: Tensor | None = None) -> bool:
        """Return whether this kind of recording repeats an action: "clock", "counter", "data", "host", "print",
        "random", "schedule step" or "schedule read"."""
        return True

    def only_once(self, reason: str):
        """This call does something that no later call does."""
        self.first_time = reason

    def keeps_branches(self, pred: Tensor) -> bool:
        """Return whether `cond` records both branches. Traces record the one taken, and guard the answer."""
        return False

    def is_named(self, t: Tensor) -> bool:
        """Return whether a view is an input of its own, by a name. Traces capture the root of its memory."""
        return False

    def meets_hooks(self, text: str, hooks):
        """Hooks will run that no chain of names leads to."""
        for x in objects_of(hooks) if hooks else ():
            unprofiled(self.tracker.before_user_code, text, x)

    # Source locations and the end.

    def here(self) -> tuple:
        """Return the user's line that runs, and its module."""
        return self.modules.line or Where(user_line(), self.module_around())

    def module_around(self) -> str:
        return self.modules.innermost()

    def finish(self, result_tensors) -> Recording:
        return finish(self, result_tensors)

    def release(self):
        """Untie the tensors of the run from this recorder."""
        self.reads.defers = False
        self.optimizers.schedules.settle()
        self.links.release()
        self.swaps.release()


def _plain_param(x):
    """Return a parameter with the values of lazy scalars, also in tuples such as sizes."""
    if type(x) is tuple:
        return tuple(map(_plain_param, x))
    return x.number if type(x) is SymScalar else forced(x)
