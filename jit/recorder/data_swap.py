"""`t.data = new`, `t.set_(new)`, `t.t_()` and the like while a recorder listens: from then on `t` lies over other memory, or in
another way over its own, and does so after every call."""

from dataclasses import replace
from typing import Any

from ...ir.graph.graph import Value
from ...runtime.core.tensor import Tensor, wrap
from ..errors.errors import TraceError
from ..guards.memory_order import memory_order
from .aliased_outputs import overlap
from .recording import Link


class Rebinding:
    """The part of a recorder that hears of it."""

    def rebinding(self: Any, t, value):
        """`t.data = value` is about to happen: `t` will lie over the memory of `value`."""
        link, new = self.link(t), self.link(value)
        self.value_of(value)
        position = link.cell.source
        if id(t) not in self.rebound_to and position is not None:
            if link.cell.root is not t:
                self.refuse("it sets .data of a tensor that is a view, or lies over the memory of another one that it uses",
                            "write in place with t.copy_(value) under no_grad(), or set it to a clone")
            self._note_kind(t, position)
        has_history = t._node is not None or value._node is not None
        if has_history and id(t) in self.rebound_to and (t._a.shape != value._a.shape or t._a.dtype != value._a.dtype
                                         or memory_order(t._a) != memory_order(value._a)):
            self.refuse(f"it sets .data of a tensor of {t._a.dtype}{list(t._a.shape)} to one of {value._a.dtype}"
                        f"{list(value._a.shape)}, or in another order in memory", "keep its kind")
        self._tie_like(t, new, link.is_given)

    def _note_kind(self: Any, t, position):
        self.note_leaf(t)
        self.rebound_to[id(t)] = t, position, _over(t)
        self.kinds[position] = t._a.shape, t._a.dtype, memory_order(t._a)

    def reshaping(self: Any, t, name: str):
        """`t.squeeze_()`, `t.set_()` and the like are about to happen: `t` will have other sizes, strides or memory."""
        link = self.link(t)
        if not link.is_given or id(t) in self.rebound_to:
            return
        if link.cell.root is not t or link.cell.source is None:
            self.refuse(f"{name} changes the shape or the memory of a tensor that is a view, or lies over that of another one "
                        "that it uses", f"use the result of {name.rstrip('_')}(), or do it outside")
        if t._node is not None:
            self.refuse(f"{name} changes the shape or the memory of a tensor from outside that requires grad",
                        f"use the result of {name.rstrip('_')}(), or do it outside")
        self._note_kind(t, link.cell.source)

    def rebound(self: Any, t, value, name: str):
        """`t` lies over the memory of `value` from now on, with its sizes and strides."""
        new = value.__dict__.get("_traced")
        if new is None or new.recorder is not self:
            self.refuse(f"{name} gives a tensor other memory", "make a new tensor")
        self._tie_like(t, new, self.link(t).is_given)

    def _tie_like(self: Any, t, new, is_given):
        made = Link(self, new.cell, new.chain, new.value)
        made.version, made.is_given = new.version, is_given
        self.tie(t, made)

    def rebinds(self: Any, result_tensors):
        """(position, what it is in the end) of the tensors from outside whose `.data` was set."""
        results = [(i, t) for i, t in enumerate(result_tensors) if id(t) not in self.rebound_to]
        owners = [id(self.link(t).cell) for t in (*[t for _, t in results], *[t for t, _, _ in self.rebound_to.values()])]
        found = []
        for t, position, _ in self.rebound_to.values():
            cell = self.link(t).cell
            output = replace(self.memory_of(t, self.link(t), self.value_of(t)), same=False, requires_grad=False, freed=False)
            if output.source is None and owners.count(id(cell)) > 1 and not self._are_apart(cell, results):
                over = [i for i, r in results if r._node is None and self._lie_alike(t, r)]
                if owners.count(id(cell)) > 2 or not over:
                    raise TraceError("this function cannot be traced: it sets .data of a tensor to memory that another tensor "
                                     "or result of it lies over, too; set it to a clone, or return one")
                output = replace(output, memory_of=over[0])
            found.append((position, output))
        return found

    def as_they_came(self: Any, cells) -> list:
        """The tensors behind these, over the memory that they had when the call began; without those whose `.data` was set
        before that was read."""
        lost = {id(t): (position, before) for t, position, before in self.rebound_to.values()}
        read = self._displaced()
        return [c.root if id(c.root) not in lost else lost[id(c.root)][1] for c in cells
                if id(c.root) not in lost or lost[id(c.root)][0] in read]

    def clashes(self: Any, updates) -> list:
        """(position, position) of tensors that are read in memory which they lose, and of those that are written: at later
        calls these must not lie over each other."""
        return [(r, w) for r in self._displaced() for w, _ in updates if r != w]

    def _displaced(self: Any) -> list:
        """The positions of inputs that are read in memory which they lose."""
        read = {x for n in self.builder.nodes for x in n.inputs if type(x) is Value} if self.rebound_to else ()
        return [position for _, position, _ in self.rebound_to.values() if self.builder.inputs[position] in read]

    def _are_apart(self: Any, cell, results) -> bool:
        """Whether tensors that lie over parts of memory made inside have it for themselves: nobody tells that from memory of
        their own."""
        parts = [t for t, _, _ in self.rebound_to.values() if self.link(t).cell is cell]
        return not (any(self.link(t).cell is cell for _, t in results) or overlap(parts))

    def _lie_alike(self: Any, t, other) -> bool:
        """Whether two tensors lie over the same memory in the same way."""
        link, its = self.link(t), self.link(other)
        return its.cell is link.cell and not its.chain and not link.chain and t._a.strides == other._a.strides


def _over(t) -> Tensor:
    """A tensor over the memory that another one has, and loses."""
    before = wrap(t._a)
    before._storage = t._storage
    return before
