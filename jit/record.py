"""The recorder: what the door saw during one eager run, written down as a graph.

Writes in place are made functional here. Every storage has a `Cell`: the value its memory now holds, as a value of the
graph. A tensor is a chain of view operators on top of its cell; after a write, the next read of any alias re-reads through
its chain. What outside storages hold in the end become updates.

Where Python reads a value out of a tensor, the recording is cut: what follows is only valid for the value that was seen.
"""

import weakref
from dataclasses import replace
from typing import Any

from ..ir import dtype as dt
from ..ir.aval import Aval
from ..ir.dim_order import order_of
from ..ir.graph import Builder, Value
from ..ir.op import OPS
from ..ir.ops.assign import assign_view, run_chain
from ..ir.ops.elementwise import cast, mul
from ..ir.ops.host import host_call
from ..ir.ops.shape import expand, full, reshape, slice_
from ..ir.scope import Scope
from ..ir.substitute import collect
from ..ir.symbolic import SymFloat, is_symbol, pinned
from ..runtime.autograd.node import Leaf
from ..runtime.device_array import DeviceArray
from ..runtime.storage import user_line
from ..runtime.tensor import Tensor
from .answers import Answers
from .backward import backward_of
from .conditions import Condition
from .differentiate import is_freed
from .errors import TraceError, at
from .exchange import Exchange
from .frames import unwatched
from .made_leaves import MadeLeaf, number_of
from .memory_order import is_root, lay_of, overlapping
from .optimizer_steps import OptimizerSteps
from .random_streams import RandomStreams
from .read_numbers import known
from .rebinding import Rebinding
from .recorded_gradients import Gradients
from .recorder_watch import WATCHES, tell
from .recording import Cell, LeafState, Link, MemoryGuard, Output, PartsGuard, Recording, Source, base_of
from .shared_results import share_memory


class Recorder(Exchange, Gradients, OptimizerSteps, RandomStreams, Rebinding):
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
        self.hosts: list = []                    # (host step, values)
        self.shared: list = []                   # (argument, captured tensor over the same memory)
        self.lays: dict = {}                     # (position of an input, question): how it lies in memory
        self.read_only: set = set()              # ids of outside storages of which several different parts came in
        self.own_inputs: dict[int, int] = {}     # by id of a tensor over memory that is another input: its position
        self.edges: dict[int, Any] = {}          # position of an input: its history when it came in
        self.turned: dict = {}                   # position of an input: (the tensor, whether it required grad)
        self.cleared: list | None = None         # leaves that had no gradient any more when the first operation ran
        self.contents: Any = None                # the `Contents` of lists and dictionaries that the function reaches
        self.casts: Any = None                   # the `Casts` that lie in the globals of the user's modules
        self.scheduled: set = set()              # ids of the groups of optimizers whose rates change at the end of the call
        self.replaced: set = set()               # (id of an optimizer's state, name) of entries that the user's code replaced
        self.rebound_to: dict = {}               # by id: (tensor from outside whose `.data` was set, position, storage before)
        self.streams: dict = {}                  # by id of a random generator: where it stands
        self.made_sparse: dict = {}              # by id: the sparse tensors that it has made
        self.apart: dict = {}                    # by id: those that it has taken apart
        self.states: dict = {}                   # by id of the tensor: (state that it took, of which generator, place)
        self.first_time = ""                     # what this call does, and no later one
        self.touched: set = set()                # ids of the tensors of which it heard, at the end
        self._linked: list = []                  # weak references to the tensors that have links

    # Tensors that come from outside.

    def argument(self, t: Tensor, position: int, shape=None, name: str = ""):
        """Enters an argument as input, in order; `shape` where its sizes are symbolic."""
        known = self.cell_of(t)
        aval = t.aval if shape is None else Aval(shape, t.dtype)
        if known is None or known.root._a is not t._a:
            self.enter(t, Source("argument", position), name or f"arg{position}", aval)
        else:
            self.give(t, Link(self, known, (), known.value))
            self.sources.append(Source("argument", position))
            if t is not known.root:             # else it is the same tensor, whose gradient is wanted once
                self.own_inputs[id(t)] = len(self.sources) - 1
                self.edges[len(self.sources) - 1] = t._node
            self.builder.input(name or f"arg{position}", aval)
        self.note_leaf(t)

    def cell_of(self, t: Tensor) -> Any:
        """What the memory of a tensor holds, if this recorder knows it."""
        cell = t._storage.__dict__.get("cell")
        return cell if cell is not None and cell.recorder is self else None

    def enter(self, t, source, name, aval=None):
        """Makes a tensor an input. Another part of memory that already came in is an input of its own, as long as nobody
        writes to either."""
        if self.cell_of(t) is not None:
            self.read_only.add(id(t._storage))
        value = self.builder.input(name, aval or t.aval)
        self.sources.append(source)
        if t._a.__class__ is DeviceArray:
            self.devices[len(self.sources) - 1] = t._a.backend
        order = order_of(t._a) if source.kind == "argument" else None
        if order is not None and t._a.transpose(order).flags.c_contiguous:
            self.orders[len(self.sources) - 1] = order
        self.edges[len(self.sources) - 1] = t._node if source.kind in ("argument", "captured") else None
        cell = t._storage.cell = Cell(self, value, t, len(self.sources) - 1)
        self.outside.append(cell)
        self.give(t, Link(self, cell, (), value))
        return value

    def give(self, t, link):
        """A tensor from outside has this link."""
        link.is_given = True
        self.tie(t, link)

    def tie(self, t, link):
        t.__dict__["_traced"] = link
        self._linked.append(weakref.ref(t))

    def _capture(self, t: Tensor) -> Link:
        """A tensor that the function got from elsewhere: an input by reference, through the root of its memory."""
        root = base_of(t) if base_of(t)._storage is t._storage else t     # (`base.data = new` moves the base)
        if self.is_state(root):
            self.refuse("it uses the state of a random generator as a tensor", "take it outside of the function")
        known = self.cell_of(t)
        if known is not None and known.root is None:        # another tensor over memory that the function made
            base = root.__dict__.get("_traced")
            chain = base.chain if t is not root and base is not None and base.recorder is self else ()
            self.tie(t, Link(self, known, (*chain, *t._chain), None))
            t.__dict__["_traced"].version = -1
            return t.__dict__["_traced"]
        if known is not None and self.sources[known.source].kind == "argument" and t is not known.root:
            self.shared.append((self.sources[known.source].what, t))
        is_same = known is not None and (known.root is root or known.root._a is t._a)
        if is_same and known.root is not root and type(root._node) is Leaf and id(root) not in self.own_inputs:
            self._enter_leaf(root, known)
        if not (is_same and (known.root is root or root.is_leaf)):
            if known is not None and known.version:
                raise self._overlap()
            owner = root.__dict__.get("_gradient_of")
            if owner is None or owner[0] is not self:
                self.enter(root, Source("captured", root), f"captured{len(self.sources)}")
            else:
                self.enter(root, Source("grad", owner[1]), f"grad{len(self.sources)}", self.builder.inputs[owner[1]].aval)
            known = t._storage.cell
            self.note_leaf(root)
        if t is not root or "_traced" not in t.__dict__ or t.__dict__["_traced"].recorder is not self:
            chain = () if t is root or t._a is known.root._a else t._chain
            self.give(t, Link(self, known, chain, None))
            t.__dict__["_traced"].version = -1
            if t is not known.root and self.sources[known.source].kind == "captured":
                self.guards.append(MemoryGuard(t, known.root, t._node is not None))
        return t.__dict__["_traced"]

    def _enter_leaf(self, t, cell):
        """A leaf lies over memory that is an input already: it is one of its own, whose gradient it gets."""
        self.own_inputs[id(t)] = len(self.sources)
        self.builder.input(f"captured{len(self.sources)}", t.aval)
        self.sources.append(Source("captured", t))
        self.give(t, Link(self, cell, (), None))
        t.__dict__["_traced"].version = -1
        self.note_leaf(t)

    def input_of(self, t) -> int | None:
        """The position of the input that a tensor is; None for one that is not itself an input."""
        cell = self.link(t).cell
        return cell.source if t is cell.root else self.own_inputs.get(id(t))

    @staticmethod
    def _overlap():
        return TraceError("this function cannot be traced: it writes to memory that came in as several tensors"
                          f"{at(user_line())}; make the views inside the traced function, or pass clones")

    def takes_apart(self, t):
        """The parts of a sparse tensor are used: one that was there before counts by which they are."""
        parts = t.parts()[0]
        if id(t) not in self.apart and not all(map(self._is_argument, parts)):
            self.guards.append(PartsGuard(t))
        self.apart[id(t)] = t

    def _is_argument(self, t):
        link = t.__dict__.get("_traced")
        return (link is not None and link.recorder is self and link.cell.source is not None
                and self.sources[link.cell.source].kind == "argument")

    def asks_lay(self, t: Tensor):
        """Strides, or where a tensor begins in its memory, are looked at: what comes from outside counts by that."""
        cell = self.link(t).cell
        if cell.source is not None and self.sources[cell.source].kind in ("argument", "captured"):
            self.lays[cell.source, lay_of] = lay_of(cell.root)

    def asks_whether_root(self, t: Tensor):
        """Where a tensor begins in its memory is looked at, and it is the whole of that: so it has to be."""
        cell = self.link(t).cell
        if cell.source is not None and self.sources[cell.source].kind in ("argument", "captured"):
            self.lays[cell.source, is_root] = is_root(cell.root)

    def asks_place(self, t: Tensor):
        """Where a tensor begins in its memory is looked at: that counts, with the sizes and numbers that it follows from."""
        link, found = self.link(t), {}
        if link.cell.value is not None:
            collect((link.cell.value.aval.shape, link.chain), found)
        for n in found.values():
            pinned(n)
        self.asks_lay(t)

    def note_leaf(self, t):
        leaf = t._node
        if type(leaf) is Leaf and id(leaf) not in self.leaves:
            if self.input_of(t) is None:
                self.refuse("it uses the gradient of a tensor that shares memory with another one it uses", "clone one of them")
            self.add_leaf(t, leaf, leaf.grad)

    def add_leaf(self, t, leaf, grad):
        """An input has this leaf, and this gradient."""
        position = self.input_of(t)
        if t._node is leaf and position is not None:
            self.edges[position] = leaf
        self.leaves[id(leaf)] = LeafState(position, leaf, grad)
        if grad is not None:
            grad.__dict__["_gradient_of"] = self, position
            self._linked.append(weakref.ref(grad))

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
        b.line = user_line()
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
            raise self._overlap()
        b = self.builder
        b.line = user_line()
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

    def host_effect(self, step, tensors):
        """A host function without results is to run at the end of every call."""
        self.hosts.append((step, [self.value_of(t) for t in tensors]))

    def host_results(self, tensors, made, **params):
        """A host function made tensors."""
        self.builder.line = user_line()
        values = self.builder.append(host_call, [self.value_of(t) for t in tensors] or [None], params)
        for t, v in zip(made, values):
            self.fresh(t, v)

    def refuse(self, what: str, instead: str):
        """Something ran that a trace would not repeat."""
        raise TraceError(f"this function cannot be traced: {what}{at(user_line())}; {instead}")

    # The end.

    def finish(self, result_tensors) -> Recording:
        """The recording, once the function has returned."""
        self.check_lent()
        r = Recording(self.builder, self.sources, self.cuts, hosts=self.hosts, shared=self.shared, scope=self.scope,
                      devices=self.devices, orders=self.orders)
        result_tensors = [*result_tensors]
        r.lays = [(position, ask, lay) for (position, ask), lay in self.lays.items()]
        r.outputs = [self.output(t, result_tensors) for t in result_tensors]        # gradients of leaves are added meanwhile
        r.rebinds = self.rebinds(result_tensors)
        for cell in self.outside:
            is_last = cell.version and (id(cell.root) in self.rebound_to or cell.root._storage.cell is cell)
            if is_last and self.sources[cell.source].kind in ("argument", "captured", "grad"):
                if self._has_grown(cell):
                    raise TraceError("this function cannot be traced: it writes in place to a tensor from outside, whose "
                                     "gradient then goes through what it did; return the new value, or write under no_grad()")
                r.updates.append((cell.source, cell.value))
        written = {position for position, _ in r.updates}
        if overlapping([c.root for c in self.outside if c.source in written], [c.root for c in self.outside]):
            raise self._overlap()
        read = {s.what for s in self.sources if s.kind == "grad"}
        r.cleared = [p for p in self.cleared or () if p is not None and p not in read]
        self.guard_hooks()
        for s in self.leaves.values():
            if s.position is None:
                continue
            if s.was_read:
                r.leaves.append((s.position, s.aval))
            if s.was_set or not s.is_as_before():
                r.grads.append((s.position, None if s.gradient is None else self.value_of(s.gradient)))
        r.turns = self.turns()
        given = self._given_gradients(r)
        share_memory(self, result_tensors, r.outputs, given.values())
        r.outputs = self._with_gradients(result_tensors, r.outputs, {id(g): position for position, g in given.items()})
        if self.differentiates and any(o.has_history for o in r.outputs):
            made = {t._node for t, o in zip(result_tensors, r.outputs) if o.leaf is not None}
            r.backward = backward_of(self, [t for t, o in zip(result_tensors, r.outputs) if o.has_history], made)
        self.settle_streams()
        self.settle_optimizers()
        self.release()
        return r

    def _has_grown(self, cell) -> bool:
        """Whether memory from outside got another history than it came with."""
        node = cell.root._node
        if self.sources[cell.source].kind == "grad" or node is self.edges.get(cell.source):
            return False
        return cell.source not in self.turned or not cell.root.is_leaf

    def _given_gradients(self, r) -> dict:
        """{position of an input: the gradient that it has from now on}."""
        given = {position for position, value in r.grads if value is not None}
        return {s.position: s.gradient for s in self.leaves.values() if s.position in given}

    @staticmethod
    def _with_gradients(result_tensors, outputs, position_of):
        """The outputs, of which those that leaves have as gradients from now on are these very tensors."""
        return [replace(o, gradient_of=position_of.get(id(t))) if o.source is None and not o.requires_grad else o
                for t, o in zip(result_tensors, outputs)]

    def output(self, t, results) -> Output:
        """What a tensor is that is handed out; to `results`, all of these, the gradient of one that is a leaf is added."""
        link = self.link(t)
        value = self.value_of(t)
        if id(t) in self.rebound_to:
            return Output(value, self.rebound_to[id(t)][1], (), True, t.requires_grad)
        output = self.memory_of(t, link, value)
        if output.same:
            return output
        kept = None if output.source is not None or t.is_leaf else number_of(t._kept_grad, results)
        return replace(output, leaf=MadeLeaf.of(t, results), kept=kept)

    def memory_of(self, t, link, value):
        root = link.cell.root
        if root is not None and self.sources[link.cell.source].kind in ("argument", "captured", "grad"):
            return Output(value, link.cell.source, link.chain, t is root, t.requires_grad,
                          detached=base_of(t) is not base_of(root), is_data=base_of(t)._is_data)
        device = t.device if t._a.__class__ is DeviceArray else None
        return Output(value, None, (), False, t.requires_grad, t.requires_grad and is_freed(t._node), device,
                      order=order_of(t._a), locked=device is None and not (link.chain or t._a.flags.writeable))

    def release(self):
        """Unties the tensors of the run from this recorder."""
        self.defers = False
        for ref in self._linked:
            t = ref()
            if t is None:
                continue
            self.touched.add(id(t))
            link = t.__dict__.get("_traced")
            if link is not None and link.recorder is self:
                del t.__dict__["_traced"]
            if self.cell_of(t) is not None:
                del t._storage.cell
            t.__dict__.pop("_gradient_of", None)
        for _, _, storage in self.rebound_to.values():
            storage.__dict__.pop("cell", None)
        self._linked = []
