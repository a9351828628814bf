"""Outputs of a recording: results, updates and gradients, as a `Recording`."""

from dataclasses import replace
from typing import Any

from ...ir.dim_order import order_of
from ...runtime.core.composite_tensors import PARTS
from ...runtime.core.device_array import DeviceArray
from ..errors.errors import TraceError
from ..guards.memory_order import overlapping
from ..side_effects.made_leaves import Attributes, MadeLeaf, number_of
from .aliased_outputs import share_memory
from .backward import backward_of, is_freed
from .recording import Gradient, Output, Recording, base_of


class RecordedEnd:
    """The part of a recorder that says so."""

    def finish(self: Any, result_tensors) -> Recording:
        """The recording, once the function has returned."""
        self.check_lent()
        r = Recording(self.builder, self.sources, self.cuts, hosts=self.hosts, shared=self.shared, scope=self.scope,
                      devices=self.devices, orders=self.orders, kinds=self.kinds, joined=self.joined_inputs)
        result_tensors = [*result_tensors]
        r.lays = [(position, ask, lay) for (position, ask), lay in self.lays.items()]
        r.outputs = [self.output(t, result_tensors) for t in result_tensors]        # gradients of leaves are added meanwhile
        r.rebinds = self.rebinds(result_tensors)
        for cell in self.outside:
            is_last = cell.version and (id(cell.root) in self.rebound_to or cell.root._storage.cell is cell)
            if is_last and self.sources[cell.source].kind in ("argument", "base", "captured", "grad"):
                if self._has_grown(cell):
                    raise TraceError("this function cannot be traced: it writes in place to a tensor from outside, whose "
                                     "gradient then goes through what it did; return the new value, or write under no_grad()")
                r.updates.append((cell.source, cell.value))
        r.shown = self.shown
        written = {position for position, _ in r.updates}
        if overlapping(self.as_they_came([c for c in self.outside if c.source in written]), self.as_they_came(self.outside)):
            raise self._overlap()
        r.clashes = self.clashes(r.updates)
        read = {s.what for s in self.sources if s.kind == "grad"}
        r.cleared = [p for p in self.cleared or () if p is not None and p not in read]
        self.guard_hooks()
        for s in self.leaves.values():
            if s.position is None:
                continue
            if s.was_read:
                r.leaves.append((s.position, s.kind))
            if s.was_set or not s.is_as_before():
                r.grads.append((s.position, Gradient.of(self, s.gradient, result_tensors)))
        r.turns, r.retained = self.turns(), sorted(self.retained)
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

    def _has_grown(self: Any, cell) -> bool:
        """Whether memory from outside got another history than it came with."""
        node = cell.root._node
        if self.sources[cell.source].kind == "grad" or node is self.edges.get(cell.source):
            return False
        return cell.source not in self.turned or not cell.root.is_leaf

    def _given_gradients(self: Any, r) -> dict:
        """{position of an input: the dense gradient that it has from now on}."""
        given = {position for position, g in r.grads if g is not None and g.make is None}
        return {s.position: s.gradient for s in self.leaves.values() if s.position in given}

    @staticmethod
    def _with_gradients(result_tensors, outputs, position_of):
        """The outputs, of which those that leaves have as gradients from now on are these very tensors."""
        return [replace(o, gradient_of=position_of.get(id(t))) if o.source is None and not o.requires_grad else o
                for t, o in zip(result_tensors, outputs)]

    def output(self: Any, t, results) -> Output:
        """What a tensor is that is handed out; to `results`, all of these, the gradient of one that is a leaf is added."""
        link = self.link(t)
        value = self.value_of(t)
        if id(t) in self.rebound_to:
            return Output(value, self.rebound_to[id(t)][1], (), True, t.requires_grad)
        output = self.memory_of(t, link, value)
        if output.same:
            return output
        kept = None if output.source is not None or t.is_leaf else number_of(t._kept_grad, results)
        attributes = None if link.is_given else Attributes.of(t, results, self)
        return replace(output, leaf=MadeLeaf.of(t, results), kept=kept, attributes=attributes, retains=t._retains)

    def memory_of(self: Any, t, link, value):
        root = link.cell.root
        if id(t) in self.joined:
            return Output(value, self.joined[id(t)], (), True, t.requires_grad)
        if root is not None and self.sources[link.cell.source].kind in ("argument", "base", "captured", "grad"):
            return Output(value, link.cell.source, link.chain, t is root, t.requires_grad,
                          detached=base_of(t) is not base_of(root), is_data=base_of(t)._is_data)
        device = t.device if t._a.__class__ is DeviceArray else None
        return Output(value, None, (), False, t.requires_grad, t.requires_grad and is_freed(t._node), device,
                      order=order_of(t._a), locked=device is None and not (link.chain or t._a.flags.writeable))

    def release(self: Any):
        """Unties the tensors of the run from this recorder."""
        self.defers = False
        self.settle_schedules()
        for ref in self._linked:
            t = ref()
            if t is None:
                continue
            self.touched.add(id(t))
            link = t.__dict__.get("_traced")
            if link is not None and link.recorder is self:
                del t.__dict__["_traced"]
            if type(t) not in PARTS and self.cell_of(t) is not None:
                del t._storage.cell
            t.__dict__.pop("_gradient_of", None)
        for _, _, before in self.rebound_to.values():
            before._storage.__dict__.pop("cell", None)
        self._linked = []
