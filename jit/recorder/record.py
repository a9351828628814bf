"""The recorder: what the door saw during one eager run, written down as a graph.

Writes in place are made functional here. Every storage has a `Cell`: the value its memory now holds, as a value of the
graph. A tensor is a chain of view operators on top of its cell; after a write, the next read of any alias re-reads through
its chain. What outside storages hold in the end become updates.

Where Python reads a value out of a tensor, the recording is cut: what follows is only valid for the value that was seen.
"""

from typing import Any

from ...ir import dtype as dt
from ...ir.graph.graph import Builder, Value
from ...ir.opdef.aval import Aval
from ...ir.opdef.op import OPS
from ...ir.ops.core.elementwise import cast, mul
from ...ir.ops.core.host_call import host_call
from ...ir.ops.core.shape import expand, full, reshape, slice_
from ...ir.ops.index.assign import assign_view, run_chain
from ...ir.symbols.scope import Scope
from ...ir.symbols.symbolic import SymFloat, is_symbol, pinned
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ...runtime.nn.base.hooks import objects_of
from ..errors.conditions import Condition
from ..errors.errors import TraceError, at
from ..errors.question_cache import Answers
from ..guards.frames import unwatched
from ..proxies.lazy_scalars import known
from .aliased_inputs import JoinedMemory
from .data_io import Exchange
from .data_swap import Rebinding
from .gradient_log import Gradients
from .inputs import OutsideTensors
from .lr_schedulers import Schedules
from .module_stack import ModulesAround
from .optimizer_steps import OptimizerSteps
from .outputs import RecordedEnd
from .random_streams import RandomStreams
from .recording import Cell, LeafState, Link, Source
from .recording_observers import WATCHES, tell


class Recorder(ModulesAround, Exchange, Gradients, JoinedMemory, OptimizerSteps, OutsideTensors, RandomStreams, Rebinding,
               RecordedEnd, Schedules):
    """Listens at the door while a function runs.

    `changing` names options of optimizers, as OptionGuard.place does, that become inputs because they were seen to change.
    `scope` holds the sizes and numbers of the arguments that are symbolic; None if everything is fixed.

    Tensors of the run are not held: each knows its place here by its link, each storage by its cell.
    """

    differentiates = True     # whether the backward of results is recorded, for one that comes after the call
    fixes_weights = False     # whether Python may read what comes from outside, since it stays as it is

    def __init__(self, name: str, changing=frozenset(), scope: Scope | None = None):
        super().__init__()
        self.changing = changing
        self.scope = scope
        self.guards: list[Condition] = []
        self.builder = Builder(name)
        self.answers = Answers(self.builder)
        self.sources: list[Source] = []
        self.devices: dict[int, Any] = {}        # position of an input: the backend that it lies on
        self.orders: dict[int, tuple] = {}       # position of an argument: the order of its dims in memory, if not that of rows
        self.outside: list[Cell] = []            # of memory that comes from outside
        self.leaves: dict[int, LeafState] = {}   # by id of the leaf
        self.gradients: list = []                # (leaf from outside, its state, weak reference to the gradient it came with)
        self.fixed: dict = {}                    # by id of such a leaf: its gradient, which is the same tensor at each call
        self.hosts: list = []                    # (host step, values)
        self.shared: list = []                   # (argument, captured tensor over the same memory)
        self.lays: dict = {}                     # (position of an input, question): how it lies in memory
        self.read_only: set = set()              # ids of outside storages of which several different parts came in
        self.joined: dict[int, int] = {}         # by id of an argument that became a view of other memory: its position
        self.joined_inputs: list = []            # positions of inputs that are all of such memory
        self.own_inputs: dict[int, int] = {}     # by id of a tensor over memory that is another input: its position
        self.edges: dict[int, Any] = {}          # position of an input: its history when it came in
        self.turned: dict = {}                   # position of an input: (the tensor, whether it required grad)
        self.retained: set = set()               # positions of inputs that keep their gradients from now on
        self.cleared: list | None = None         # leaves that had no gradient any more when the first operation ran
        self.watch: Any = None                   # the `Watch` that looks after Python's side of the run
        self.contents: Any = None                # the `Contents` of lists and dictionaries that the function reaches
        self.casts: Any = None                   # the `Casts` that lie in the globals of the user's modules
        self.trials: list = []                   # the `Trial`s of its schedules of learning rates, in order
        self.scheduled: set = set()              # the places, (id of the owner, key), that these set
        self.laid: dict = {}                     # by place: (owner, key, what lies there in the recording, what else does)
        self.own_optimizers: list = []           # optimizers that the function makes
        self.replaced: set = set()               # (id of an optimizer's state, name) of entries that the user's code replaced
        self.rebound_to: dict = {}               # by id: (tensor from outside whose `.data` was set, position, what it was)
        self.kinds: dict = {}                    # by position of such a tensor: its sizes, dtype and order in memory at first
        self.streams: dict = {}                  # by id of a random generator: where it stands
        self.made_sparse: dict = {}              # by id: the sparse tensors that it has made
        self.apart: dict = {}                    # by id: those that it has taken apart
        self.states: dict = {}                   # by id of the tensor: (state that it took, of which generator, place)
        self.first_time = ""                     # what this call does, and no later one
        self.runs_as_it_is = ""                  # what it does that no trace repeats
        self.shown: set = set()                  # positions of inputs that host steps may read
        self.done: Any = None                    # host steps that have run, and that it leaves out
        self.touched: set = set()                # ids of the tensors of which it heard, at the end
        self._linked: list = []                  # weak references to the tensors that have links

    def link(self, t: Tensor) -> Link:
        """How the graph knows a tensor."""
        link = t.__dict__.get("_traced")
        return link if link is not None and link.recorder is self else self._capture(t)

    def value_of(self, t: Tensor) -> Value:
        """The graph value that a tensor holds now."""
        link = self.link(t)
        cell = link.cell
        if cell.value is None:
            self.keep_constant(t)
        if link.value is None or link.version != cell.version:
            link.value = run_chain(cell.value, link.chain)
            link.version = cell.version
        return link.value

    def shape_of(self, t: Tensor) -> tuple:
        """The sizes of a tensor as the graph knows them."""
        link: Any = t.__dict__.get("_traced")
        known = link is not None and link.recorder is self and link.value is not None
        return link.value.aval.shape if known else t._a.shape

    def chain_of(self, view: Tensor) -> tuple:
        """The view operators that lead from its base to a tensor, with sizes as the graph knows them."""
        chain, base = self.link(view).chain, view._base
        return chain if base is None else chain[len(self.link(base).chain):]

    # What the door reports.

    def saw(self, op, args, params, out):
        """One operator ran."""
        unwatched(self._write_down, op, args, params, out)

    def _write_down(self, op, args, params, out):
        b = self.builder
        b.line = self.here()
        if self.cleared is None:
            self.cleared = [s.position for s in self.leaves.values() if s.was_set and s.gradient is None]
        if WATCHES:
            tell(op, args, params, out, b.line)
        if op is reshape:
            self.note_extent(args[0])
        values = [self.value_of(a) if isinstance(a, Tensor) else a for a in args]
        if self.scope is not None and not op.is_elementwise:     # whose bits are those for a value that holds the number
            values = [pinned(a) if is_symbol(a) else a for a in values]
        result = b.append(op, values, params)
        if type(out) is tuple:
            for t, v in zip(out, result):
                self.fresh(t, v)
        elif op.is_view and out._storage is args[0]._storage:
            base = self.link(args[0])
            self.tie(out, Link(self, base.cell, (*base.chain, (op.name, tuple(sorted(params.items())))), result))
        else:
            self.fresh(out, result)

    def note_extent(self, t: Tensor):
        """Notes which symbolic sizes of a view's slices are those of all that was sliced: whether it is row-major depends on
        that."""
        link = self.link(t)
        if self.scope is None or link.cell.value is None:
            return
        aval = link.cell.value.aval
        for name, params in link.chain:
            before, aval = aval, OPS[name].infer(aval, **dict(params))
            if name == slice_.name:
                for mine, all_of in zip(aval.shape, before.shape):
                    bool(mine == all_of)

    def fresh(self, t, value):
        cell = t._storage.cell = Cell(self, value)
        self.tie(t, Link(self, cell, (), value))

    def detached(self, source, t):
        """`t` is `source` without its history."""
        link = self.link(source)
        new = Link(self, link.cell, link.chain, link.value)
        new.version = link.version
        self.tie(t, new)

    def writing(self, dst: Tensor):
        """A tensor is about to be written: constants that nobody has read are needed now, before they change."""
        cell = self.cell_of(dst)
        if cell is not None and cell.value is None:
            self.keep_constant(dst)

    def wrote(self, dst: Tensor, src):
        """`dst` was overwritten with a tensor or a number."""
        if id(dst._storage) in self.read_only:
            self.join(dst._storage)
        b = self.builder
        b.line = self.here()
        link = self.link(dst)
        if link.value is None:
            self.value_of(dst)
        value = self.fitted(src, link.value.aval)
        cell = link.cell
        cell.value = value if not link.chain else assign_view(cell.value, value, chain=link.chain)
        cell.version += 1
        link.value, link.version = value, cell.version

    def fitted(self, src, aval: Aval) -> Value:
        if type(src) is SymFloat and aval.dtype.is_floating_point:
            wide = aval if aval.dtype is dt.float32 else aval.with_dtype(dt.float64)
            made = self.builder.append(mul, [self.fitted(1.0, wide), src], {})
            return made if wide.dtype is aval.dtype else cast(made, dtype=aval.dtype)
        if not isinstance(src, Tensor):
            return self.builder.call(full, None, shape=aval.shape, value=known(pinned(src)), dtype=aval.dtype)
        value = self.value_of(src)
        if value.dtype is not aval.dtype:
            value = cast(value, dtype=aval.dtype)
        return value if value.shape == aval.shape else expand(value, shape=aval.shape)

    def failed(self, op):
        """An operator raised, and may not do so for other values or sizes: if the function goes on, it does what other calls
        do not do."""
        self.first_time = f"{op.name} could not take its values"

    def meets_hooks(self, text: str, hooks):
        """Hooks will run that no chain of names leads to."""
        found = objects_of(hooks) if hooks and self.watch is not None else ()
        for x in found:
            unwatched(self.watch.meets, text, x)

    def host_effect(self, step, tensors):
        """A host function without results is to run at the end of every call."""
        self.hosts.append((step, [self.value_of(t) for t in tensors]))

    def host_results(self, tensors, made, **params):
        """A host function made tensors."""
        self.builder.line = self.here()
        values = self.builder.append(host_call, [self.value_of(t) for t in tensors] or [None], params)
        for t, v in zip(made, values):
            self.fresh(t, v)

    def keeps_branches(self, pred: Tensor) -> bool:
        """Whether `cond` is to be written down with both branches: traces take the one of the answer, which they guard."""
        return False

    def refuse(self, what: str, instead: str):
        """Something ran that a trace would not repeat."""
        raise TraceError(f"this function cannot be traced: {what}{at(user_line())}; {instead}")
