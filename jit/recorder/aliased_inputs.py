"""Arguments that are different parts of one memory, of which one is written: they become views of an input for all of it.

As long as nobody writes each argument is an input of its own, wherever it lies. From the first write on the recording is good
for calls whose arguments lie in their memory as they do here.
"""

from typing import Any

from ...runtime.core.device_array import DeviceArray
from ..guards.memory_order import lay_of
from .recording import Link, Source, base_of


class JoinedMemory:
    """The part of a recorder that does so."""

    def join(self: Any, storage):
        """Some memory that came in as several arguments is about to be written: all that was read of it so far holds."""
        cells = [c for c in self.outside if c.root._storage is storage]
        roots = [c.root for c in cells]
        base = base_of(roots[0])
        if not all(self._may_join(c, base) for c in cells):
            raise self._overlap()
        positions = [c.source for c in cells]
        for position, root in zip(positions, roots):
            self.pin_sizes(root)
            self.lays[position, lay_of] = lay_of(root)
        self.outside = [c for c in self.outside if c not in cells]
        self.enter(base, Source("base", positions[0]), f"base{positions[0]}")
        if not any(root is base for root in roots):
            del base.__dict__["_traced"]        # who reaches it otherwise relies on what it is the memory of
        self.read_only.discard(id(storage))
        self._lead_to(storage.cell, {id(c): () if c.root is base else c.root._chain for c in cells})
        self.joined.update({id(root): position for position, root in zip(positions, roots)})
        self.joined_inputs.append(storage.cell.source)

    def _may_join(self: Any, cell, base) -> bool:
        """Whether all that a cell stands for is an argument that is a plain view of a base."""
        root = cell.root
        is_plain = root._node is None and base._node is None and root._a.__class__ is not DeviceArray
        return (is_plain and not cell.version and self.sources[cell.source].kind == "argument" and base_of(root) is base
                and base._storage is root._storage and id(root) not in self.rebound_to)

    def _lead_to(self: Any, whole, chains):
        """Lets all that is known of some cells, by id, be known of one by the chains that lead to them."""
        for t in [ref() for ref in self._linked]:
            link = None if t is None else t.__dict__.get("_traced")
            if link is not None and link.recorder is self and id(link.cell) in chains:
                made = Link(self, whole, (*chains[id(link.cell)], *link.chain), link.value)
                made.version, made.is_given = link.version, link.is_given
                t.__dict__["_traced"] = made
