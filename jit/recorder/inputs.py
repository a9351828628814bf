"""Inputs of a recording with their sources (argument, captured tensor, gradient, random key), and reads of their layout."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.dim_order import order_of
from ...ir.opdef.aval import Aval
from ...ir.opdef.op import OPS
from ...ir.ops.core.shape import slice_
from ...ir.symbols.substitute import collect
from ...ir.symbols.symbolic import pinned
from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import Leaf
from ...runtime.core.storage import user_line
from ...runtime.core.tensor import Tensor
from ..errors.errors import TraceError, at
from ..guards.memory_order import is_root, layout_of
from ..guards.state_guards import MemoryGuard, parts_guard
from .backward import key_of
from .giving_up import may_give_up
from .gradient_log import hook_numbers_of
from .recording import Cell, Link, Source, base_of, is_shared

OUTSIDE = ("argument", "base", "captured", "grad", "part")      # kinds of sources with memory that outlives a call


class InputTable:
    """Table of inputs by position, with the cells of memory that comes from outside."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.sources: list[Source] = []
        self.cells: list[Cell] = []             # one for each memory from outside
        self.devices: dict[int, Any] = {}       # position: backend of an input that is not on the host
        self.orders: dict[int, tuple] = {}      # position of an argument: order of its dims in memory, unless row-major
        self.histories: dict[int, Any] = {}     # position: the input's node when it came in,
        self.hooks: dict[int, tuple] = {}       # and that node with the numbers of its hooks
        self.own: dict[int, int] = {}           # id of a tensor over memory that is another input: its position
        self.twins: dict[int, Tensor] = {}      # position of such a tensor: the tensor
        self.shared: list = []                  # (position of an argument, captured tensor over the same memory)
        self.arrays: dict = {}                  # id of an array or list among the arguments: its tensor
        self.memory_of_data: list = []          # arrays of constants, which may lie in the memory of what they were made from

    def argument(self, t: Tensor, position: int, shape=None, name: str = ""):
        """Enter an argument, in order; `shape` holds its symbolic sizes, if it has any."""
        r = self._recorder
        if is_shared(t):
            for n in shape or ():       # (parts have fixed sizes)
                pinned(n)
            r.shared.argument(t, position, name or f"arg{position}")
            return
        link = t.__dict__.get("_traced")        # of the same tensor as an earlier argument, perhaps with parts of it between
        known = link.cell if link is not None and link.recorder is r else r.cell_of(t)
        aval = t.aval if shape is None else Aval(shape, t.dtype)
        if known is None or known.root._a is not t._a:
            self.enter(t, Source("argument", position), name or f"arg{position}", aval)
        else:
            r.links.tie_outside(t, Link(r, known, (), known.value))
            self.sources.append(Source("argument", position))
            if t is not known.root and id(t) not in self.own:       # else it is the same tensor, with one gradient
                self._own(t)
            r.builder.input(name or f"arg{position}", aval)
        r.gradients.note_leaf(t)

    def enter(self, t, source, name="", aval=None):
        """Make a tensor an input. A second part of memory that already came in is an input of its own, as long as nobody writes
        to either part."""
        r = self._recorder
        if r.cell_of(t) is not None:
            r.aliases.read_only.add(id(t._storage))
        position = len(self.sources)
        value = r.builder.input(name or f"{source.kind}{position}", aval or t.aval)
        self.sources.append(source)
        if t._a.__class__ is DeviceArray:
            self.devices[position] = t._a.backend
        order = order_of(t._a) if source.kind == "argument" else None
        if order is not None and t._a.transpose(order).flags.c_contiguous:
            self.orders[position] = order
        self.set_history(position, None if source.kind == "base" else t._node)
        cell = t._storage.cell = Cell(r, value, t, position, began=t._storage.version)
        self.cells.append(cell)
        r.links.tie_outside(t, Link(r, cell, (), value))
        return value

    def capture(self, t: Tensor) -> Link:
        """Enter a tensor that the function reached by itself: an input by reference, through the root of its memory."""
        r = self._recorder
        if is_shared(t):
            return r.shared.capture(t)
        leaf = r.gradients.position_of_owner(t)
        root = self.root_of(t) if leaf is None else t
        if r.random.is_state(root):
            r.refuse("it uses, or leaves outside, the state of a random generator that it takes",
                     "take it outside of the function", r.random.line_of_state(root))
        known = r.cell_of(t)
        if known is not None and known.root is None:        # another tensor over memory that the function made
            base = root.__dict__.get("_traced")
            chain = base.chain if t is not root and base is not None and base.recorder is r else ()
            return r.links.tie(t, Link(r, known, (*chain, *t._chain), None, -1))
        for other in {id(o): o for o in (root, known and known.root) if o is not None and o is not t}.values():
            r.gradients.fix(other)
        kind = None if known is None else self.sources[known.source].kind
        if kind == "base" or (kind == "argument" and t is not known.root):
            self.shared.append((self.sources[known.source].what, t))
        is_same = known is not None and (known.root is root or known.root._a is t._a)
        if is_same and known.root is not root and type(root._node) is Leaf and id(root) not in self.own:
            self.enter_own(root, known)
        if not (is_same and (known.root is root or root.is_leaf)):
            if known is not None and known.version:
                raise overlap_error()
            if leaf is None:
                self.enter(root, Source("captured", root))
            else:
                self.enter(root, Source("grad", leaf), aval=r.builder.inputs[leaf].aval)
            known = t._storage.cell
            r.gradients.note_leaf(root)
        if t is not root or "_traced" not in t.__dict__ or t.__dict__["_traced"].recorder is not r:
            chain = () if t is root or t._a is known.root._a else t._chain
            if t is not root and t._node is not None and r.differentiates and id(t) not in self.own:
                self.enter_own(t, known, chain)
            r.links.tie_outside(t, Link(r, known, chain, None, -1))
            if t is not known.root and self.sources[known.source].kind == "captured":
                r.guards.append(MemoryGuard.of(t, known.root))
        return t.__dict__["_traced"]

    def root_of(self, t: Tensor) -> Tensor:
        """Return the tensor through which memory comes in. A leaf, which gets a gradient, is an input of its own."""
        if (type(t._node) is Leaf or self._recorder.is_named(t)) and self._recorder.cell_of(t) is None:
            return t
        return base_of(t) if base_of(t)._storage is t._storage else t       # (`base.data = new` moves the base)

    def enter_own(self, t, cell, chain=(), aval=None, source=None):
        """Make a tensor over memory that is already an input another input, since it gets a gradient of its own."""
        r, source = self._recorder, source or Source("captured", t)
        r.builder.input(f"{source.kind}{len(self.sources)}", aval or t.aval)
        self.sources.append(source)
        self._own(t)
        r.links.tie_outside(t, Link(r, cell, chain, None, -1))
        r.gradients.note_leaf(t)

    def _own(self, t):
        """Note that a tensor over the memory of another input is the last input."""
        position = self.own[id(t)] = len(self.sources) - 1
        self.twins[position] = t
        self.set_history(position, t._node)

    def set_history(self, position, node):
        """Note the history with which an input comes in."""
        self.histories[position] = node
        if node is not None:
            self.hooks[position] = node, hook_numbers_of(node)

    def position_of(self, t) -> int | None:
        """Return the position of a tensor that is an input itself, also once it has other memory."""
        cell, swapped = self._recorder.link(t).cell, self._recorder.swaps.swapped
        if id(t) in swapped:
            return swapped[id(t)][1]
        joined = self._recorder.aliases.joined.get(id(t))       # as an argument, not as the base of others
        return joined if joined is not None else cell.source if t is cell.root else self.own.get(id(t))

    def over(self, cell) -> list:
        """Return (position, tensor) of the inputs that are all of some memory from outside."""
        link = self._recorder.link
        twins = [(p, t) for p, t in self.twins.items() if link(t).cell is cell and not link(t).chain]
        position = self._recorder.aliases.joined.get(id(cell.root), cell.source)
        return [(position, cell.root), *twins]

    def over_part(self, cell) -> list:
        """Return (position, tensor) of the inputs without a base that are a part of some memory: `.data` of a view."""
        link = self._recorder.link
        return [(p, t) for p, t in self.twins.items() if link(t).cell is cell and link(t).chain]

    def is_from(self, cell, *kinds: str) -> bool:
        """Return whether memory comes from an input of one of these kinds."""
        return cell.source is not None and self.sources[cell.source].kind in kinds

    def ends(self) -> dict:
        """Return {position of an input: its history}. Inputs with the same history get one gradient, at the first of them."""
        first: dict = {}
        for position, edge in self.histories.items():
            if edge is not None:
                first.setdefault(key_of(edge), (position, edge))
        return dict(first.values())

    def captured(self) -> list:
        return [s.what for s in self.sources if s.kind == "captured"]

    def array(self, x):
        """Return a tensor for an array or list that is an argument, and other values unchanged."""
        t = self.arrays.get(id(x)) if isinstance(x, (np.ndarray, list, tuple)) else None
        return x if t is None else t.detach()


class SparseTensors:
    """Sparse tensors of a run: the ones that it created, and the ones from outside whose parts it used."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._own: dict = {}        # by id
        self._used: dict = {}       # by id

    def created(self, t):
        self._own[id(t)] = t

    def is_own(self, t) -> bool:
        return id(t) in self._own

    @may_give_up
    def parts_read(self, t):
        """The parts of a sparse tensor from outside are about to be used: a guard fixes which tensors they are."""
        r = self._recorder
        if t.__dict__.get("_gradient_of", (None,))[0] is r:
            r.refuse("it uses a sparse gradient that was there before, which has more or fewer entries at each call",
                     "clear it first (zero_grad(), .grad = None), or use it outside")
        parts = t.parts()[0]
        if id(t) not in self._used and not all(map(self._is_argument, parts)):
            r.guards.append(parts_guard(t))
        self._used[id(t)] = t

    def _is_argument(self, t):
        link = t.__dict__.get("_traced")
        return link is not None and link.recorder is self._recorder and self._recorder.inputs.is_from(link.cell, "argument")


class LayoutLog:
    """Log of layout queries: {(position of an input, query): answer}."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.answers: dict = {}
        self.methods: dict = {}         # position of an input -> names of its methods that the function calls

    def strides_read(self, t: Tensor):
        """The function reads the strides of a tensor, which depend on the layout and sizes of the memory that it views."""
        self._pin_sizes(t)
        self.query_root(t, layout_of)

    def offset_read(self, t: Tensor, is_whole: bool):
        """The function reads where a tensor begins in its memory; `is_whole` if it is all of that memory. The answer depends on
        the layout, and on the sizes and numbers that the tensor's views use."""
        if is_whole:
            self.query_root(t, is_root)
            return
        self._pin_sizes(t)
        self.query_root(t, layout_of)

    def _pin_sizes(self, t):
        """Make the sizes and numbers that the views up to a tensor use conditions."""
        link, found = self._recorder.link(t), {}
        if link.cell.value is not None:
            collect((link.cell.value.aval.shape, link.chain), found)
        for n in found.values():
            pinned(n)

    def asked(self, t: Tensor, query: Callable):
        """The function asks a question of a tensor, or of the input in whose memory it is a view."""
        r = self._recorder
        (self.query_root if id(t) in r.swaps.swapped or r.inputs.position_of(t) is None else self.query)(t, query)

    def query_root(self, t, query):
        """Record the answer of a query on the input in whose memory a tensor lies."""
        cell = self._recorder.link(t).cell
        if self._recorder.inputs.is_from(cell, "argument", "captured"):
            self.answers[cell.source, query] = query(cell.root)

    def query(self, t: Tensor, query: Callable):
        """Record the answer of a query on an input."""
        position = self._recorder.inputs.position_of(t)
        if position is not None:
            self.answers[position, query] = query(t)

    def calls_method(self, t: Tensor, name: str):
        """Record that the function calls a method of an input."""
        position = self._recorder.inputs.position_of(t)
        if position is not None:
            self.methods[position] = self.methods.get(position, frozenset()) | {name}

    def extents_read(self, t: Tensor):
        """The function asks whether a view is row-major: note which symbolic sizes of its slices are whole extents."""
        link = self._recorder.link(t)
        if self._recorder.scope is None or link.cell.value is None:
            return
        aval = link.cell.value.aval
        for name, params in link.chain:
            before, aval = aval, OPS[name].infer(aval, **dict(params))
            if name == slice_.name:
                for mine, all_of in zip(aval.shape, before.shape):
                    bool(mine == all_of)


def overlap_error() -> TraceError:
    """Return the error for a write to memory that came in as several tensors."""
    return TraceError("this function cannot be traced: it writes to memory that came in as several tensors"
                      f"{at(user_line())}; make the views inside the traced function, or pass clones")


def swap_error() -> TraceError:
    """Return the error for a tensor whose new memory others lie over, too."""
    return TraceError("this function cannot be traced: it sets .data of a tensor to memory that another tensor or result of it "
                      "lies over, too; set it to a clone, or return one")
