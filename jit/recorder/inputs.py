"""Tensors that come to a recording from outside: arguments, and what the function got from elsewhere."""

import weakref
from collections.abc import Callable
from typing import Any

from ...ir.dim_order import order_of
from ...ir.opdef.aval import Aval
from ...ir.symbols.substitute import collect
from ...ir.symbols.symbolic import pinned
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import Leaf
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ..errors.errors import TraceError, at
from ..guards.frames import unwatched
from ..guards.memory_order import is_root, lay_of
from ..guards.state_guards import MemoryGuard, PartsGuard
from .recording import Cell, Link, Source, base_of


class OutsideTensors:
    """The part of a recorder that makes them inputs."""

    def argument(self: Any, t: Tensor, position: int, shape=None, name: str = ""):
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

    def cell_of(self: Any, t: Tensor) -> Any:
        """What the memory of a tensor holds, if this recorder knows it."""
        cell = t._storage.__dict__.get("cell")
        return cell if cell is not None and cell.recorder is self else None

    def enter(self: Any, t, source, name, aval=None):
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

    def give(self: Any, t, link):
        """A tensor from outside has this link."""
        link.is_given = True
        self.tie(t, link)

    def tie(self: Any, t, link):
        t.__dict__["_traced"] = link
        self._linked.append(weakref.ref(t))

    def _capture(self: Any, t: Tensor) -> Link:
        """A tensor that the function got from elsewhere: an input by reference, through the root of its memory."""
        leaf = self.leaf_of_gradient(t)
        root = self.root_of(t) if leaf is None else t
        if self.is_state(root):
            self.refuse("it uses the state of a random generator as a tensor", "take it outside of the function")
        known = self.cell_of(t)
        if known is not None and known.root is None:        # another tensor over memory that the function made
            base = root.__dict__.get("_traced")
            chain = base.chain if t is not root and base is not None and base.recorder is self else ()
            self.tie(t, Link(self, known, (*chain, *t._chain), None))
            t.__dict__["_traced"].version = -1
            return t.__dict__["_traced"]
        for other in {id(o): o for o in (root, known and known.root) if o is not None and o is not t}.values():
            self._fix_gradient(other)
        kind = None if known is None else self.sources[known.source].kind
        if kind == "base" or (kind == "argument" and t is not known.root):
            self.shared.append((self.sources[known.source].what, t))
        is_same = known is not None and (known.root is root or known.root._a is t._a)
        if is_same and known.root is not root and type(root._node) is Leaf and id(root) not in self.own_inputs:
            self._enter_leaf(root, known)
        if not (is_same and (known.root is root or root.is_leaf)):
            if known is not None and known.version:
                raise self._overlap()
            if leaf is None:
                self.enter(root, Source("captured", root), f"captured{len(self.sources)}")
            else:
                self.enter(root, Source("grad", leaf), f"grad{len(self.sources)}", self.builder.inputs[leaf].aval)
            known = t._storage.cell
            self.note_leaf(root)
        if t is not root or "_traced" not in t.__dict__ or t.__dict__["_traced"].recorder is not self:
            chain = () if t is root or t._a is known.root._a else t._chain
            self.give(t, Link(self, known, chain, None))
            t.__dict__["_traced"].version = -1
            if t is not known.root and self.sources[known.source].kind == "captured":
                self.guards.append(MemoryGuard(t, known.root, t._node is not None))
        return t.__dict__["_traced"]

    def root_of(self, t: Tensor) -> Tensor:
        """The tensor through which the memory of another one comes in. A leaf is an input of its own, which gets a gradient."""
        if type(t._node) is Leaf and self.cell_of(t) is None:
            return t
        return base_of(t) if base_of(t)._storage is t._storage else t       # (`base.data = new` moves the base)

    def _enter_leaf(self: Any, t, cell):
        """A leaf lies over memory that is an input already: it is one of its own, whose gradient it gets."""
        self.own_inputs[id(t)] = len(self.sources)
        self.builder.input(f"captured{len(self.sources)}", t.aval)
        self.sources.append(Source("captured", t))
        self.give(t, Link(self, cell, (), None))
        t.__dict__["_traced"].version = -1
        self.note_leaf(t)

    def input_of(self: Any, t) -> int | None:
        """The position of the input that a tensor is; None for one that is not itself an input."""
        cell = self.link(t).cell
        return cell.source if t is cell.root else self.own_inputs.get(id(t), self.joined.get(id(t)))

    @staticmethod
    def _overlap():
        return TraceError("this function cannot be traced: it writes to memory that came in as several tensors"
                          f"{at(user_line())}; make the views inside the traced function, or pass clones")

    def takes_apart(self: Any, t):
        """The parts of a sparse tensor are used: one that was there before counts by which they are."""
        if t.__dict__.get("_gradient_of", (None,))[0] is self:
            self.refuse("it uses a sparse gradient that was there before, which has more or fewer entries at each call",
                        "clear it first (zero_grad(), .grad = None), or use it outside")
        parts = t.parts()[0]
        if id(t) not in self.apart and not all(map(self._is_argument, parts)):
            self.guards.append(PartsGuard(t))
        self.apart[id(t)] = t

    def _is_argument(self: Any, t):
        link = t.__dict__.get("_traced")
        return (link is not None and link.recorder is self and link.cell.source is not None
                and self.sources[link.cell.source].kind == "argument")

    def asks_lay(self: Any, t: Tensor):
        """Strides, or where a tensor begins in its memory, are looked at: what comes from outside counts by that."""
        cell = self.link(t).cell
        if cell.source is not None and self.sources[cell.source].kind in ("argument", "captured"):
            self.lays[cell.source, lay_of] = lay_of(cell.root)

    def asks_of(self: Any, t: Tensor, ask: Callable):
        """Something of a tensor that is an argument is looked at, beside its values: it counts by what `ask` gives."""
        position = self.input_of(t)
        if position is not None:
            self.lays[position, ask] = ask(t)

    def asks_attribute(self: Any, t: Tensor, name: str):
        """Ingot's own code reads an attribute that a tensor may have got."""
        if self.watch is not None:
            unwatched(self.watch.own_code_reads, t, name)

    def sets_attribute(self: Any, t: Tensor, name: str):
        """Ingot's own code is about to give a tensor an attribute."""
        if self.watch is not None:
            unwatched(self.watch.own_code_writes, t, name)

    def asks_whether_root(self: Any, t: Tensor):
        """Where a tensor begins in its memory is looked at, and it is the whole of that: so it has to be."""
        cell = self.link(t).cell
        if cell.source is not None and self.sources[cell.source].kind in ("argument", "captured"):
            self.lays[cell.source, is_root] = is_root(cell.root)

    def asks_place(self: Any, t: Tensor):
        """Where a tensor begins in its memory is looked at: that counts, with the sizes and numbers that it follows from."""
        link, found = self.link(t), {}
        if link.cell.value is not None:
            collect((link.cell.value.aval.shape, link.chain), found)
        for n in found.values():
            pinned(n)
        self.asks_lay(t)

    def note_leaf(self: Any, t):
        leaf = t._node
        if type(leaf) is Leaf and id(leaf) not in self.leaves:
            if self.input_of(t) is None:
                self.refuse("it uses the gradient of a tensor that shares memory with another one it uses", "clone one of them")
            self.add_leaf(t, leaf, leaf.grad)
