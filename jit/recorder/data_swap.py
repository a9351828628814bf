"""Tensors from outside that get other memory, sizes or strides: `t.data = new`, `t.set_(new)`, `t.t_()`.

Such a tensor has the new layout after every call.
"""

from dataclasses import replace

from ...ir.dim_order import order_of
from ...ir.graph.graph import Value
from ...runtime.core.tensor import wrap
from ..guards.memory_order import memory_order
from .alias_table import overlap
from .giving_up import may_give_up
from .inputs import swap_error
from .outputs import memory_output, version_apart
from .recording import Link, base_of


class DataSwaps:
    """Log of the tensors whose memory was replaced."""

    def __init__(self, recorder):
        self._recorder = recorder
        self.swapped: dict = {}     # by id: (tensor from outside, its position, a tensor over the memory that it lost)
        self.bases: dict = {}       # by id: the tensor over all of the memory that a tensor from outside got by `.data`
        self.windows: set = set()   # ids of those that came to other memory by `set_()`
        self.kinds: dict = {}       # position of such a tensor: its first (sizes, dtype, order in memory)
        self.stand_ins: dict = {}   # by id: (tensor that lost elements, the root that its older views have instead)

    @may_give_up
    def data_set(self, t, value):
        r = self._recorder
        r.permits("data", t)
        link, new = r.link(t), r.link(value)
        r.value_of(value)
        if id(t) in self.windows:
            r.refuse("it sets .data of a tensor behind set_() or a resize_() that grows it", "do one of the two")
        position = link.cell.source
        if id(t) not in self.swapped and position is not None:
            if link.cell.root is not t:
                r.refuse("it sets .data of a tensor that is a view, or lies over the memory of another one that it uses",
                         "write in place with t.copy_(value) under no_grad(), or set it to a clone")
            self._remember(t, position)
        is_outside = id(t) in self.swapped
        has_history = not t.is_leaf or (is_outside and (t._node is not None or value._node is not None))
        if has_history and (t._a.shape != value._a.shape or t._a.dtype != value._a.dtype
                            or (is_outside and memory_order(t._a) != memory_order(value._a))):
            r.refuse(f"it sets .data of a tensor of {t._a.dtype.name}{list(t._a.shape)} to one of {value._a.dtype.name}"
                     f"{list(value._a.shape)}, or in another order in memory", "keep its kind")
        if is_outside:          # (others may end within the call, and their memory with them)
            self.bases[id(t)] = base_of(value)
        self._tie_like(t, new, link.is_outside)

    def _remember(self, t, position):
        if position in self._recorder.aliases.wholes:
            self._recorder.refuse("it writes to memory that came in as several tensors, and gives one of them other memory or "
                                  "sizes", "write to a clone, or do one of the two outside")
        if t._node is not self._recorder.inputs.histories[position] and not t.is_leaf:
            self._recorder.refuse("it writes in place to a tensor from outside, whose history then goes on, and gives it other "
                                  "memory or sizes behind that", "write to a clone, or write under no_grad()")
        self._recorder.gradients.note_leaf(t)
        before = wrap(t._a)
        before._storage, before._base = t._storage, t._base
        self.swapped[id(t)] = t, position, before
        self.kinds[position] = t._a.shape, t._a.dtype, memory_order(t._a)

    @may_give_up
    def reshaping(self, t, name: str):
        r = self._recorder
        link = r.link(t)
        if name == "set_" and t._node is not None:
            r.refuse("set_ changes the memory of a tensor that requires grad", "use a new tensor, or do it outside")
        if not link.is_outside:
            return
        if name == "set_":
            self.windows.add(id(t))
        if id(t) in self.swapped:
            return
        if link.cell.root is not t or link.cell.source is None:
            r.refuse(f"{name} changes the shape or the memory of a tensor that is a view, or lies over that of another one "
                     "that it uses", f"use the result of {name.rstrip('_')}(), or do it outside")
        if t._node is not None:
            r.refuse(f"{name} changes the shape or the memory of a tensor from outside that requires grad",
                     f"use the result of {name.rstrip('_')}(), or do it outside")
        self._remember(t, link.cell.source)

    @may_give_up
    def rebound(self, t, value, name: str):
        r = self._recorder
        new = value.__dict__.get("_traced")
        if new is None or new.recorder is not r:
            r.refuse(f"{name} gives a tensor other memory", "make a new tensor")
        self._tie_like(t, new, r.link(t).is_outside)

    def stood_in(self, t, root):
        self.stand_ins[id(root)] = t, root

    def _tie_like(self, t, new, is_outside):
        self._recorder.links.tie(t, Link(self._recorder, new.cell, new.chain, new.value, new.version, is_outside))

    def outputs(self, result_tensors, result_outputs):
        """Return (position, `Output` of the final memory) of each swapped tensor."""
        r, swapped = self._recorder, [*self.swapped.values()]
        results = [(i, t) for i, t in enumerate(result_tensors) if id(t) not in self.swapped and not result_outputs[i].is_late]
        owners = [id(r.link(t).cell) for t in (*[t for _, t in results], *[t for t, _, _ in swapped])]
        found = []
        for t, position, _ in swapped:
            cell = r.link(t).cell
            output = replace(memory_output(r, t), same=False, requires_grad=False, freed="", is_window=id(t) in self.windows)
            if output.is_window and cell.root is not None and t._base is self.base_before(cell.root):
                output = replace(output, detached=False)
            elif id(t) in self.bases and not output.is_window and output.source is not None and not output.detached:
                version = version_apart(t, self.storage_before(cell.root))      # a part of its own memory, by `.data`
                output = replace(output, detached=True, depth=len(output.chain), version=version)
            if output.source is None and owners.count(id(cell)) > 1 and not self._are_apart(cell, results):
                over = [i for i, other in results if other._node is None and self._has_same_layout(t, other)]
                if owners.count(id(cell)) > 2 or not over:
                    raise swap_error()
                output = replace(output, memory_of=over[0])
            elif output.source is None and owners.count(id(cell)) > 1 and self._is_part(t):
                output = replace(output, whole=cell.value, views=r.link(t).chain, order=order_of(self.bases[id(t)]._a))
            found.append((position, output))
        return found

    def storage_before(self, t):
        """Return the storage with which a tensor came in."""
        return self.swapped[id(t)][2]._storage if id(t) in self.swapped else t._storage

    def base_before(self, t):
        """Return the tensor of which `t` was a view when it came in, or `t`."""
        before = self.swapped[id(t)][2] if id(t) in self.swapped else t
        return t if before._base is None else self.stood_for(before._base)

    def stood_for(self, base):
        """Return the tensor that a base stands in for, or the base."""
        return self.stand_ins[id(base)][0] if id(base) in self.stand_ins else base

    def roots_before(self, cells) -> list:
        """Return the tensors behind cells, over the memory of the beginning; leave out those that lost it unread."""
        lost = {id(t): (position, before) for t, position, before in self.swapped.values()}
        read = self._read_before_loss()
        return [c.root if id(c.root) not in lost else lost[id(c.root)][1] for c in cells
                if id(c.root) not in lost or lost[id(c.root)][0] in read]

    def clashes(self, updates) -> list:
        """Return the pairs (input read in memory that it loses, input written) that must not overlap at later calls."""
        return [(lost, written) for lost in self._read_before_loss() for written, _ in updates if lost != written]

    def _read_before_loss(self) -> list:
        """Return the positions of inputs that are read in memory which they lose."""
        b = self._recorder.builder
        read = {x for n in b.nodes for x in n.inputs if type(x) is Value} if self.swapped else ()
        return [position for _, position, _ in self.swapped.values() if b.inputs[position] in read]

    def _is_part(self, t) -> bool:
        """Return whether a leaf got a view of memory made inside by `.data`."""
        return id(t) in self.bases and t.is_leaf and bool(self._recorder.link(t).chain)

    def _are_apart(self, cell, results) -> bool:
        """Return whether swapped tensors over parts of memory made inside have it to themselves. A replay makes that memory
        once, and they are views of it."""
        link = self._recorder.link
        parts = [t for t, _, _ in self.swapped.values() if link(t).cell is cell]
        return not (any(link(t).cell is cell for _, t in results) or overlap(parts))

    def _has_same_layout(self, t, other) -> bool:
        """Return whether two tensors have the same memory and layout."""
        link, its = self._recorder.link(t), self._recorder.link(other)
        return its.cell is link.cell and not its.chain and not link.chain and t._a.strides == other._a.strides

    def release(self):
        for _, _, before in self.swapped.values():
            before._storage.__dict__.pop("cell", None)
