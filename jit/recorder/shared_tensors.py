"""DTensors while a recorder listens: tensors that several processes share, recorded as this process's parts.

Operators run on tensors of the parts, and are recorded there (`runtime/distributed/tensor/sharded_dispatch.py`). The graph
value of a DTensor is that of its part. An input that is one has another input behind it, for the part.
"""

from ...runtime.core.device_array import DeviceArray
from ...runtime.core.node import Leaf
from ...runtime.core.tensor import Tensor, wrap
from ..guards.memory_order import history_of_base, layout_of
from ..guards.state_guards import MemoryGuard
from .inputs import overlap_error
from .recording import Link, Source, base_of, is_shared, shared_layout, shared_layout_of_base


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
        """Enter a DTensor that the function reached by itself, and its part, which has the graph value. A view comes in through
        the root of its memory."""
        r = self._recorder
        if self._is_over_known_part(t):
            return self.tie(t)
        self._check_part(t, "it uses")
        leaf, known = r.gradients.position_of_owner(t), r.cell_of(t)
        root = r.inputs.root_of(t) if leaf is None else t
        if root is not t:
            return self._capture_view(t, root)
        if known is not None:
            if known.version or known.source is None:
                raise overlap_error()
            owner = r.inputs.sources[self._owner_of(known)[0]]
            if owner.kind == "argument":
                r.inputs.shared.append((owner.what, t))
        return self._enter(t, Source("captured", t) if leaf is None else Source("grad", leaf))

    def _capture_view(self, t, root) -> Link:
        r, inputs = self._recorder, self._recorder.inputs
        r.link(root)
        view = self._view_of(root, t)
        link = r.link(view)
        if t._node is not None and r.differentiates:
            inputs.enter_own(t, link.cell, link.chain, view._a.backend.traced_part(view._a).aval)
        r.links.tie_outside(t, Link(r, link.cell, link.chain, None, -1))
        t._a.backend.trace_part(t._a, view._a.backend.traced_part(view._a))
        r.guards.append(MemoryGuard.of(t, root))
        return r.link(t)

    def _view_of(self, root, t) -> Tensor:
        """Return the view of a known tensor that another one is from outside, made again by the recorder."""
        view = root._a.backend.viewed(root, t._chain)
        if view._a.backend.layout_of(view._a) != t._a.backend.layout_of(t._a):
            raise overlap_error()
        return view

    def argument(self, t: Tensor, number: int, name: str):
        """Enter a DTensor that is an argument, and its part."""
        r, inputs = self._recorder, self._recorder.inputs
        if not self._is_over_known_part(t):
            self._check_part(t, "it takes")
            self._enter(t, Source("argument", number), name)
            return
        part = t._a.backend.traced_part(t._a)       # that of an earlier argument
        if self.knows(t):
            inputs.sources.append(Source("argument", number))
            r.builder.input(name, part.aval)
        else:
            link = r.link(part)
            inputs.enter_own(t, link.cell, link.chain, part.aval, Source("argument", number))

    def join(self, cells) -> tuple:
        """Enter the base of the DTensors whose parts are in some cells. Return the chains from its part to theirs, by id of the
        cell, and the positions of the DTensors."""
        r, inputs = self._recorder, self._recorder.inputs
        owners = [self._owner_of(c) for c in cells]
        base = base_of(owners[0][1])
        if not all(self._may_join(position, t, base, c, cells) for (position, t), c in zip(owners, cells)):
            raise overlap_error()
        for position, t in owners:
            for query in (layout_of, history_of_base, shared_layout_of_base):
                r.layouts.answers[position, query] = query(t)
        inputs.cells = [c for c in inputs.cells if c not in cells]
        own = inputs.own.get(id(base))
        self._enter(base, Source("base", owners[0][0]), f"base{owners[0][0]}")
        chains = {id(c): () if t is base else r.link(self._view_of(base, t)).chain for c, (_, t) in zip(cells, owners)}
        if own is None:
            del base.__dict__["_traced"]        # code that reaches the base otherwise relies on what it is the memory of
            base._a.backend.trace_part(base._a, None)
        else:
            inputs.own[id(base)] = own
        return chains, [position for position, _ in owners]

    def _may_join(self, position, t, base, cell, cells) -> bool:
        """Return whether all that a cell stands for is an argument whose part is a plain view of that of `base`."""
        inputs = self._recorder.inputs
        is_plain = (t is base or type(t._node) is not Leaf) and cell.root._a.__class__ is not DeviceArray
        return (is_plain and not cell.version and inputs.sources[position].kind == "argument" and base_of(t) is base
                and base._storage is t._storage and base._a.backend.is_own_part(base._a))

    def _owner_of(self, cell) -> tuple:
        """Return (position, tensor) of the input whose part a cell holds."""
        inputs = self._recorder.inputs
        position = inputs.sources[cell.source].what[0]
        return position, inputs.twins[position]

    def _is_over_known_part(self, t) -> bool:
        part = t._a.backend.traced_part(t._a)
        return part is not None and self.knows(part)

    def _check_part(self, t, what):
        """Refuse a view whose part is no part of its base's part: it would be sent again after each write to the base."""
        if not t._a.backend.is_own_part(t._a):
            self._recorder.refuse(f"{what} a view of a DTensor that lies in another layout than its base",
                                  "make the view inside of the function, or use a clone() of it")

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
        if leaf is None and source.kind != "base":
            r.layouts.answers[position, shared_layout] = shared_layout(t)
        inputs.set_history(position, t._node if leaf is None else None)
        r.links.tie_outside(t, Link(r, r.link(part).cell, (), None, -1))
        r.gradients.note_leaf(t)
        return r.link(t)
