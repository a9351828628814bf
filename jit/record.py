"""The recorder: what the door saw during one eager run, written down as a graph.

Writes in place are made functional here. Every storage has a `Cell`: the value its memory now holds, as a value of the
graph. A tensor is a chain of view operators on top of its cell; after a write, the next read of any alias re-reads through
its chain. What outside storages hold in the end become updates.

Where Python reads a value out of a tensor, the recording is cut: what follows is only valid for the value that was seen.
"""

from dataclasses import dataclass, field

import numpy as np

from ..ir.aval import Aval
from ..ir.graph import Builder, Value
from ..ir.ops.elementwise import cast
from ..ir.ops.host import host_call
from ..ir.ops.shape import assign_view, expand, full, run_chain
from ..runtime.autograd.node import Leaf
from ..runtime.nn.module import Structure
from ..runtime.storage import user_line
from ..runtime.tensor import Tensor, wrap
from .differentiate import is_freed
from .errors import TraceError, at
from .seen import frozen_value


class Cell:
    """What one storage holds: a graph value for the whole of its root tensor, and how often it was written."""

    __slots__ = ("root", "source", "value", "version")

    def __init__(self, value, root=None, source=None):
        self.value = value
        self.version = 0
        self.root = root        # the outside tensor whose memory this is, or None for memory made inside
        self.source = source    # index of the input behind it


class Link:
    """Where a tensor's value comes from: a cell, the views on top of it, and the graph value at some version."""

    __slots__ = ("cell", "chain", "recorder", "value", "version")

    def __init__(self, recorder, cell, chain, value):
        self.recorder = recorder
        self.cell = cell
        self.chain = chain
        self.value = value
        self.version = cell.version


@dataclass(frozen=True)
class Source:
    """Where an input comes from at every call.

    kind    "argument" (what = its position), "captured" (what = the tensor), "grad" (what = position of the input whose
            gradient it is), "key" (what = the random generator), "scalar" (what = a function that gives a Python number)
    """

    kind: str
    what: object


@dataclass(frozen=True)
class Cut:
    """A place where Python read a value: the nodes before it, the value, how it was read and what was seen."""

    nodes: int
    value: Value
    how: str
    seen: object


@dataclass
class Recording:
    """One finished path through a function."""

    builder: Builder
    sources: list
    cuts: list
    outputs: list = field(default_factory=list)      # one Output for each result tensor
    updates: list = field(default_factory=list)      # (input position, value)
    grads: list = field(default_factory=list)        # (input position, value or None): gradients set on leaves
    leaves: list = field(default_factory=list)       # (input position, aval of the gradient found there, or None)
    hosts: list = field(default_factory=list)        # (host step, the values it takes): what runs at the end, in order
    shared: list = field(default_factory=list)       # (argument, captured tensor over the same memory)


@dataclass
class LeafState:
    """The gradient of a leaf during a recording: what it was, and whether that was ever looked at."""

    position: int | None   # of the input that is the leaf; None for one that the function made
    leaf: Leaf
    before: Tensor | None
    was_read: bool = False
    was_set: bool = False


class OptimizerGuard:
    """The groups, parameters and states that an optimizer's step found: looked at only when something has changed since."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.version = Structure.version
        self.seen = optimizer.layout()

    @property
    def watched(self) -> tuple:
        """What identifies the condition."""
        return "optimizer", id(self.optimizer)

    def holds(self) -> bool:
        """Whether the step would work on the same objects."""
        now = Structure.version
        if now == self.version:
            return True
        found = self.optimizer.layout()
        if len(found) != len(self.seen) or any(a is not b for a, b in zip(found, self.seen)):
            return False
        self.version = now
        return True

    def __str__(self):
        return f"the state or the groups of {type(self.optimizer).__name__} are other objects than before"


@dataclass(frozen=True)
class OptionGuard:
    """An option of an optimizer's group (weight decay, say) that was used as a number."""

    group: dict
    key: str
    value: object

    def holds(self) -> bool:
        """Whether the option is as it was."""
        now = self.group.get(self.key)
        return now is self.value or (type(now) is type(self.value) and now == self.value)

    @property
    def place(self) -> tuple:
        """What identifies the option."""
        return id(self.group), self.key

    watched = place

    def __str__(self):
        return f"the optimizer's option {self.key} was {self.value!r}, is {self.group.get(self.key)!r}"


class Recorder:
    """Listens at the door while a function runs.

    `changing` names options of optimizers, as OptionGuard.place does, that become inputs because they were seen to change.
    """

    def __init__(self, name: str, changing=frozenset()):
        self.changing = changing
        self.guards: list[OptionGuard | OptimizerGuard] = []
        self.builder = Builder(name)
        self.sources: list[Source] = []
        self.cuts: list[Cut] = []
        self.cells: dict[int, Cell] = {}         # by id of the storage
        self.leaves: dict[int, LeafState] = {}   # by id of the leaf
        self.grad_owner: dict[int, int] = {}     # id(gradient tensor found on a leaf) -> input position of that leaf
        self.hosts: list = []                    # (host step, values)
        self.shared: list = []                   # (argument, captured tensor over the same memory)
        self.read_only: set = set()              # ids of storages of which several different parts came in
        self.keep: list = []                     # what must not be freed while ids are in use

    # Tensors that come from outside.

    def argument(self, t: Tensor, position: int):
        """Enters an argument as input, in order."""
        known = self.cells.get(id(t._storage))
        if known is None or known.root._a is not t._a:
            self._enter(t, Source("argument", position), f"arg{position}")
        else:
            self._link(t, Link(self, known, (), known.value))
            self.sources.append(Source("argument", position))
            self.builder.input(f"arg{position}", t.aval)
        self._note_leaf(t)

    def _enter(self, t, source, name):
        """Makes a tensor an input. Another part of memory that already came in is an input of its own, as long as nobody
        writes to either."""
        if id(t._storage) in self.cells:
            self.read_only.add(id(t._storage))
        value = self.builder.input(name, t.aval)
        self.sources.append(source)
        cell = self.cells[id(t._storage)] = Cell(value, t, len(self.sources) - 1)
        self.keep.append(t._storage)
        self._link(t, Link(self, cell, (), value))
        return value

    def _link(self, t, link):
        t.__dict__["_traced"] = link
        self.keep.append(t)

    def _capture(self, t: Tensor) -> Link:
        """A tensor that the function got from elsewhere: an input by reference, through the root of its memory."""
        root = t if t._base is None else t._base
        known = self.cells.get(id(t._storage))
        if known is not None and self.sources[known.source].kind == "argument" and t is not known.root:
            self.shared.append((self.sources[known.source].what, t))
        if known is None or (known.root is not root and known.root._a is not t._a):
            if known is not None and known.version:
                raise self._overlap()
            owner = self.grad_owner.get(id(root))
            source = Source("captured", root) if owner is None else Source("grad", owner)
            name = "captured" if owner is None else "grad"
            self._enter(root, source, f"{name}{len(self.sources)}")
            known = self.cells[id(t._storage)]
            self._note_leaf(root)
        if t is not root or "_traced" not in t.__dict__ or t.__dict__["_traced"].recorder is not self:
            chain = () if t is root or t._a is known.root._a else t._chain
            self._link(t, Link(self, known, chain, None))
            t.__dict__["_traced"].version = -1
        return t.__dict__["_traced"]

    @staticmethod
    def _overlap():
        return TraceError("this function cannot be traced: it writes to memory that came in as several tensors"
                          f"{at(user_line())}; make the views inside the traced function, or pass clones")

    def _note_leaf(self, t):
        leaf = t._node
        if type(leaf) is Leaf and id(leaf) not in self.leaves:
            cell = self.link(t).cell
            if t is not cell.root:
                self.refuse("it uses the gradient of a tensor that shares memory with another one it uses", "clone one of them")
            position = cell.source
            self.leaves[id(leaf)] = LeafState(position, leaf, leaf.grad)
            if leaf.grad is not None:
                self.grad_owner[id(leaf.grad)] = position

    def link(self, t: Tensor) -> Link:
        """How the graph knows a tensor."""
        link = t.__dict__.get("_traced")
        return link if link is not None and link.recorder is self else self._capture(t)

    def value_of(self, t: Tensor) -> Value:
        """The graph value that a tensor holds now."""
        link = self.link(t)
        if link.version != link.cell.version:
            link.value = run_chain(link.cell.value, link.chain)
            link.version = link.cell.version
        return link.value

    # What the door reports.

    def saw(self, op, args, params, out):
        """One operator ran."""
        b = self.builder
        b.line = user_line()
        values = [self.value_of(a) if isinstance(a, Tensor) else a for a in args]
        result = b.append(op, values, params)
        if type(out) is tuple:
            for t, v in zip(out, result):
                self._fresh(t, v)
        elif op.is_view and out._storage is args[0]._storage:
            base = self.link(args[0])
            self._link(out, Link(self, base.cell, (*base.chain, (op.name, tuple(sorted(params.items())))), result))
        else:
            self._fresh(out, result)

    def _fresh(self, t, value):
        cell = self.cells[id(t._storage)] = Cell(value)
        self.keep.append(t._storage)
        self._link(t, Link(self, cell, (), value))

    def detached(self, source, t):
        """`t` is `source` without its history."""
        link = self.link(source)
        new = Link(self, link.cell, link.chain, link.value)
        new.version = link.version
        self._link(t, new)

    def wrote(self, dst: Tensor, src):
        """`dst` was overwritten with a tensor or a number."""
        if id(dst._storage) in self.read_only:
            raise self._overlap()
        b = self.builder
        b.line = user_line()
        link = self.link(dst)
        value = self._fitted(src, dst.aval)
        cell = link.cell
        cell.value = value if not link.chain else assign_view(cell.value, value, chain=link.chain)
        cell.version += 1
        link.value, link.version = value, cell.version

    def _fitted(self, src, aval: Aval) -> Value:
        if not isinstance(src, Tensor):
            return self.builder.call(full, None, shape=aval.shape, value=src, dtype=aval.dtype)
        value = self.value_of(src)
        if value.dtype is not aval.dtype:
            value = cast(value, dtype=aval.dtype)
        return value if value.shape == aval.shape else expand(value, shape=aval.shape)

    def rebound(self, t, value):
        """`t.data = value`."""
        raise TraceError(f"setting .data cannot be traced{at(user_line())}; write in place with t.copy_(value) under no_grad()")

    def taped(self, node, args, out):
        """An operation went on the tape: notes the graph values of what its rule will read."""
        tensors = [out, *args]
        node.traced = tuple([self._traced_value(t) if kept is not None else None for t, kept in zip(tensors, node.saved)])

    def _traced_value(self, t):
        if type(t) is tuple:
            return tuple([self.value_of(x) for x in t])
        return self.value_of(t) if isinstance(t, Tensor) else None

    def unpacked(self, t: Tensor, value, node):
        """Backward took a saved array out as the tensor `t`."""
        if value is None or value.owner is not self.builder:
            raise TraceError(f"backward inside a traced function reached {node.op.name}, which ran before it; call backward() "
                             "in the same traced function as the forward pass, or outside of it")
        self._fresh(t, value)

    def made(self, t: Tensor):
        """A tensor was made from Python data inside the function: a constant of the trace, but memory of its own."""
        a = t._a
        if a.size <= 64:
            self._fresh(t, self.builder.constant(a))
        else:
            frozen = Tensor.__new__(Tensor)
            frozen._a, frozen._node, frozen._storage = a.copy(), None, type(t._storage)()
            self._fresh(t, self.value_of(frozen))

    def drew(self, generator, t: Tensor):
        """A generator gave a fresh key."""
        self._enter(t, Source("key", generator), f"key{len(self.sources)}")

    def optimizer(self, optimizer):
        """An optimizer is about to step."""
        self.guards.append(OptimizerGuard(optimizer))

    def options(self, group: dict) -> dict:
        """An optimizer's group as its update may read it: the learning rate, and what was seen to change, as 0-d tensors
        that are read anew at every call; everything else guarded."""
        seen = dict(group)
        for key, value in group.items():
            if key == "params" or isinstance(value, Tensor):
                continue
            guard = OptionGuard(group, key, value)
            if type(value) is float and (key == "lr" or guard.place in self.changing):
                seen[key] = self._scalar(lambda key=key: group[key])
            elif type(value) is tuple and guard.place in self.changing:
                seen[key] = tuple([self._scalar(lambda key=key, i=i: group[key][i]) for i in range(len(value))])
            else:
                self.guards.append(guard)
        return seen

    def _scalar(self, give) -> Tensor:
        """A Python number that changes from call to call, as a 0-d tensor."""
        t = wrap(np.asarray(give(), np.float64))
        self._enter(t, Source("scalar", give), f"scalar{len(self.sources)}")
        return t

    def host_effect(self, step, tensors):
        """A host function without results is to run at the end of every call."""
        self.hosts.append((step, [self.value_of(t) for t in tensors]))

    def host_results(self, tensors, made, **params):
        """A host function made tensors."""
        self.builder.line = user_line()
        values = self.builder.append(host_call, [self.value_of(t) for t in tensors] or [None], params)
        for t, v in zip(made, values):
            self._fresh(t, v)

    def refuse(self, what: str, instead: str):
        """Something ran that a trace would not repeat."""
        raise TraceError(f"this function cannot be traced: {what}{at(user_line())}; {instead}")

    def grad_access(self, t: Tensor, setting: bool):
        """`t.grad` is about to be read or set."""
        if type(t._node) is Leaf:
            self.link(t)
            self._note_leaf(t)
            if setting:
                self.leaves[id(t._node)].was_set = True
            else:
                self.grad_read(t._node)

    def leaf_made(self, t: Tensor):
        """`t` starts to require grad: fine for what the function made, which nobody outside will ask for its gradient."""
        if self.link(t).cell.root is t:
            self.refuse("it makes a tensor from outside require grad", "call requires_grad_() before, or on x.detach()")
        self.leaves[id(t._node)] = LeafState(None, t._node, None)
        self.keep.append(t)

    def grad_read(self, leaf: Leaf):
        """The gradient of a leaf is about to be read."""
        state = self.leaves.get(id(leaf))
        if state is None:
            raise TraceError("backward inside a traced function reached a tensor that the function never used; call backward() "
                             "in the same traced function as the forward pass, or outside of it")
        if not state.was_set:
            state.was_read = True

    def grad_set(self, leaf: Leaf):
        """The gradient of a leaf is another tensor now."""
        self.leaves[id(leaf)].was_set = True

    def read(self, t: Tensor, how: str, seen):
        """Python read a value out of a tensor."""
        if how in ("len",):
            return
        value = self.value_of(t)
        self.cuts.append(Cut(len(self.builder.nodes), value, how, frozen_value(seen)))

    # The end.

    def finish(self, result_tensors) -> Recording:
        """The recording, once the function has returned."""
        r = Recording(self.builder, self.sources, self.cuts, hosts=self.hosts, shared=self.shared)
        r.outputs = [self._output(t) for t in result_tensors]
        for cell in self.cells.values():
            if cell.root is not None and cell.version and self.sources[cell.source].kind in ("argument", "captured", "grad"):
                r.updates.append((cell.source, cell.value))
        for s in self.leaves.values():
            if s.position is None:
                continue
            if s.was_read:
                r.leaves.append((s.position, None if s.before is None else s.before.aval))
            if s.was_set or s.leaf.grad is not s.before:
                r.grads.append((s.position, None if s.leaf.grad is None else self.value_of(s.leaf.grad)))
        self.release()
        return r

    def _output(self, t):
        link = self.link(t)
        value = self.value_of(t)
        root = link.cell.root
        if root is not None and self.sources[link.cell.source].kind in ("argument", "captured", "grad"):
            return Output(value, link.cell.source, link.chain, t is root, t.requires_grad)
        return Output(value, None, (), False, t.requires_grad, t.requires_grad and is_freed(t._node))

    def release(self):
        """Unties the tensors of the run from this recorder."""
        for t in self.keep:
            if isinstance(t, Tensor):
                link = t.__dict__.get("_traced")
                if link is not None and link.recorder is self:
                    del t.__dict__["_traced"]
        self.keep = []


@dataclass(frozen=True)
class Output:
    """A result tensor: a fresh value, or a view (`chain`) of an input's memory; `same` if it is that very tensor. `freed`
    says that a backward inside of the function has used up its history."""

    value: Value
    source: int | None
    chain: tuple
    same: bool
    requires_grad: bool
    freed: bool = False
