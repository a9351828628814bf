"""DTensors while a recorder listens: tensors that several processes share, recorded as this process's parts.

Operators run on tensors of the parts, and are recorded there (`runtime/distributed/tensor/sharded_dispatch.py`). The graph
value of a DTensor is that of its part. An input that is one has another input behind it, for the part.
"""

from ...runtime.core.tensor import Tensor, wrap
from .recording import Link, Source, is_shared, shared_layout


class SharedTensors:
    """The DTensors of a run."""

    def __init__(self, recorder):
        self._recorder = recorder

    def knows(self, t: Tensor) -> bool:
        """Return whether a tensor is one of this run."""
        link = t.__dict__.get("_traced")
        return link is not None and link.recorder is self._recorder

    def tie(self, t: Tensor) -> Link:
        """Give a DTensor what is known of its part, which is a tensor of this run."""
        r, part = self._recorder, t._a.backend.traced_part(t._a)
        link = r.link(part)
        if t._shared is None:
            t._shared = part._storage
        return r.links.tie(t, Link(r, link.cell, link.chain, link.value, link.version))

    def fresh(self, t: Tensor, value):
        """Give a DTensor a part of its own, which holds a graph value."""
        part = wrap(t._a.backend.local_of(t._a))
        self._recorder.fresh(part, value)
        t._a, t._shared = t._a.backend.over_traced_part(t._a, part), part._storage
        self.tie(t)

    def operands(self, args):
        """Return operands that are all known, and all DTensors if one of them is."""
        shared = [a for a in args if isinstance(a, Tensor) and is_shared(a)]
        for a in shared:
            self._recorder.link(a)
        if not shared or len(shared) == sum([isinstance(a, Tensor) for a in args]):
            return args
        return [self.beside(a, shared[0]) if isinstance(a, Tensor) and not is_shared(a) else a for a in args]

    def beside(self, t, shared):
        """Return a plain tensor as a replicated one, beside a DTensor."""
        self._recorder.pin_sizes(t)
        self._recorder.value_of(t)
        found = wrap(shared._a.backend.beside(t, shared._a))
        found._shared, found._node = t._storage, t._node
        self.tie(found)
        return found

    def capture(self, t: Tensor) -> Link:
        """Enter a DTensor that the function reached by itself, and its part, which has the graph value."""
        r, backend = self._recorder, t._a.backend
        part = backend.traced_part(t._a)
        if part is not None and self.knows(part):       # another tensor over a part that is known
            return self.tie(t)
        if t._base is not None or r.cell_of(t) is not None:
            r.refuse("it uses a view of a DTensor from outside", "make the view inside of the function")
        leaf = r.gradients.position_of_owner(t)
        return self._enter(t, Source("captured", t) if leaf is None else Source("grad", leaf))

    def argument(self, t: Tensor, number: int, name: str):
        """Enter a DTensor that is an argument, and its part."""
        r = self._recorder
        if self.knows(t):                   # it is an earlier argument, too
            r.inputs.sources.append(Source("argument", number))
            r.builder.input(name, t._a.backend.traced_part(t._a).aval)
        elif t._base is not None or r.cell_of(t) is not None:
            r.refuse("it takes a view of a DTensor as an argument", "make the view inside of the function")
        else:
            self._enter(t, Source("argument", number), name)

    def _enter(self, t: Tensor, source: Source, name="") -> Link:
        r, backend = self._recorder, t._a.backend
        inputs = r.inputs
        leaf, position = source.what if source.kind == "grad" else None, len(inputs.sources)
        part = wrap(backend.local_of(t._a))
        part._shared = t._storage
        inputs.sources.append(source)
        r.builder.input(name or f"{source.kind}{position}", part.aval)
        inputs.enter(part, Source("part", (position, backend.layout_of(t._a))))
        backend.trace_part(t._a, part)
        inputs.own[id(t)], inputs.twins[position] = position, t
        if leaf is None:
            r.layouts.answers[position, shared_layout] = shared_layout(t)
        inputs.set_history(position, t._node if leaf is None else None)
        r.links.tie_outside(t, Link(r, r.link(part).cell, (), None, -1))
        r.gradients.note_leaf(t)
        return r.link(t)
