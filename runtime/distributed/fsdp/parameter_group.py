"""Parameter groups of `fully_shard`: each parameter is a DTensor, whole while its module runs.

All ranks' parts are gathered at once into new memory. Leaves over it are the module's parameters for that time. Their
gradients are averaged and reduced at once (`gradient_reduction.BackwardPass` says when).
"""

from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ....ir.errors import ArgumentError, AutogradError, DTypeError
from ...autograd.engine import run_post_accumulate
from ...autograd.grad_mode import no_grad
from ...core.placement import on_device_of
from ...core.tensor import Tensor, wrap
from ...nn.base.parameter import Parameter
from ...state.mode import tls
from ...state.switches import OwnSetting
from ..collectives.traceable import done_in_order, in_background
from ..engines.reduce_op import ReduceOp
from ..groups.world import the_group
from ..tensor import DTensor, Replicate, Shard, _StridedShard
from ..tensor.dtensor import local_of, over
from ..tensor.redistribute import cut
from ..tensor.sharded_layout import bounds, nesting, part_sizes
from .gathered_parameters import GatheredEntry, GatheredParameters, Slot, next_number
from .gradient_reduction import Origin, check_gradient, current_backward, settle_gradients


class PartLayout(NamedTuple):
    """Whole shape of a parameter, the dim along which it is cut, and the sizes of the ranks' parts."""

    shape: tuple
    dim: int
    sizes: list

    @property
    def size(self) -> int:
        return prod(self.shape)

    def part_shape(self, rank) -> tuple:
        return (*self.shape[:self.dim], self.sizes[rank], *self.shape[self.dim + 1:])

    def cut(self, a) -> list:
        """Split values in an array into the parts of all ranks."""
        return cut(a, self.dim, self.sizes)


class Entry(GatheredEntry):
    """One parameter: `param` is for optimizers, `leaf` for the module's computation. `whole` makes a tensor with the leaf's
    layout from this rank's values. If another mesh shards the parameter too, these are a part as well."""

    def __init__(self, name, slots, p, mesh, dim):
        self.name, self.slots = name, slots        # slots: (module, attribute) pairs
        self.tensor_parallel = (p.device_mesh, p.placements, tuple(p._a.shape)) if isinstance(p, DTensor) else None
        local = local_of(p) if self.tensor_parallel else p.detach()
        self.shape = tuple(local.shape)
        if not local.ndim:
            raise ArgumentError(f"fully_shard: the parameter {name} has no dims to be cut along; give it one, or put it in "
                                "ignored_params")
        self.mesh, self.placements = _placements_of(p, mesh, dim)
        self.count, self.at = mesh.shape[-1], mesh.get_local_rank(mesh.ndim - 1)
        self.layout = PartLayout(self.shape, dim, part_sizes(self.shape[dim], self.count))
        with no_grad():
            first, last = bounds(self.shape[dim], self.count, self.at)
            part = local.narrow(dim, first, last - first).clone()
        self.global_shape = self.tensor_parallel[2] if self.tensor_parallel else self.shape
        self.param: Any = Parameter(self.shared(part), requires_grad=p.requires_grad)
        super().__init__(Parameter(self.whole(local), requires_grad=p.requires_grad))
        for t in (self.param, self.leaf):
            t.__dict__.update({k: v for k, v in p.__dict__.items() if k[0] != "_"})
        vars(self.param)["_is_fully_sharded"] = True
        self.start = self.stop = 0

    def shared(self, part) -> Any:
        """Return a tensor with the parameter's layout, from this rank's part."""
        return over(part, self.global_shape, self.mesh, self.placements)

    def whole(self, local) -> Any:
        """Return a tensor with the leaf's layout."""
        if self.tensor_parallel is None:
            return local
        mesh, placements, shape = self.tensor_parallel
        return over(local, shape, mesh, placements)

    def refresh(self):
        """Take over a parameter that replaced this one in a module."""
        for module, name in self.slots:
            now = module._parameters.get(name)
            if now is not None and now is not self.leaf and now is not self.param:
                is_alike = isinstance(now, DTensor) and now.placements == self.placements
                if not is_alike or tuple(now._a.shape) != self.global_shape:
                    raise ArgumentError(f"{self.name} was replaced by a value of another layout than {list(self.placements)} "
                                        f"on {self.mesh}; distribute such values with distribute_tensor first")
                self.param = now
                for other, called in self.slots:
                    if other._parameters.get(called) is not self.leaf:
                        other._parameters[called] = now


def _placements_of(p, mesh, dim) -> tuple:
    """Return (mesh, placements) of the sharded parameter."""
    layout: tuple = (*[Replicate()] * (mesh.ndim - 1), Shard(dim))
    if not isinstance(p, DTensor):
        return mesh, layout
    inner, root = p.device_mesh, mesh._get_root_mesh()
    names = (*(mesh.mesh_dim_names or ()), *(inner.mesh_dim_names or ()))
    if (root is not inner._get_root_mesh() and root != inner._get_root_mesh()) or len(names) != mesh.ndim + inner.ndim:
        raise ArgumentError(f"fully_shard over {mesh} of a parameter on {inner}: both must be named parts of one "
                            "mesh, as mesh['dp'] and mesh['tp']")
    parts = 1
    for i in nesting(p.placements, inner.shape).get(dim, []):
        parts *= inner.shape[i]
    if parts > 1:
        layout = (*layout[:-1], _StridedShard(dim, split_factor=parts))
    return root[names], (*layout, *p.placements)


class ParameterGroup(GatheredParameters):
    """Parameters of one call of `fully_shard`, except those of modules sharded before."""

    stays_whole = OwnSetting("unshard()", False)
    syncs = OwnSetting("set_requires_gradient_sync()", True)
    reduces_all = OwnSetting("set_requires_all_reduce()", True)
    divisor = OwnSetting("set_gradient_divide_factor()", None)
    reshards_after_backward = OwnSetting("set_reshard_after_backward()", True)
    has_stored = OwnSetting("gradients that wait for a backward with synchronisation,", False)
    has_unreplicated = OwnSetting("gradients that wait for a backward with an all-reduce,", False)

    params = property(lambda self: [e.param for e in self.entries])

    def __init__(self, entries, mesh, policy, offload, device):
        slots = [Slot(module, name, i) for i, e in enumerate(entries) for module, name in e.slots]
        super().__init__(entries, slots, device, offload)
        self.mesh, self.policy = mesh, policy
        self.shards = mesh.get_group(mesh.ndim - 1)
        self.replicas = mesh.get_group(0) if mesh.ndim > 1 else None
        self.stored: Any = None         # unsent gradients of this rank, and the run that keeps them
        self.unsharded: Any = None      # the run in which the user called unshard()
        self.unreplicated: Any = None   # (numbers, parts of gradients that are not averaged over replicas yet, that run)
        kinds = {e.param.dtype for e in entries}
        if len(kinds) > 1:
            raise DTypeError(f"fully_shard takes parameters of one dtype together, got {sorted(map(str, kinds))}; call it on "
                             "the modules of each by themselves")
        self.dtype = next(iter(kinds), None)
        self.size = 0
        for e in entries:
            e.start, self.size = self.size, self.size + int(np.prod(e.shape))
            e.stop = self.size
            e.on_gradient(lambda _, e=e: self.arrived(e))
        self.label = f"parameters {next_number(self.shards)} of fully_shard ({entries[0].name if entries else ''})"
        if offload:
            for e in entries:
                e.param = Parameter(e.shared(local_of(e.param).cpu()), requires_grad=e.param.requires_grad)
        self.is_shown = True
        self.hide()
        self._empty()

    # Whole values.

    def unshard(self, *dtype):
        """Gather whole values into the modules."""
        if not self.entries:
            return
        if tls.m.recorder is not None:
            self._check_trace(tls.m.recorder)
        if self.whole is not None and self.is_overwritten(self.stamp):
            self._empty()
        if self.whole is None:
            settle_gradients()
            for e in self.entries:
                e.refresh()
            with no_grad():
                self.whole = self._gathered()
            self.stamp = self.versions()
            self._fill()
        else:
            self._fill_others()
        self._show()

    def _check_trace(self, recorder):
        """Refuse traces that would use whole values of an earlier call, or leave them to a later one."""
        if not self.reshards_after_backward:
            recorder.refuse("it keeps whole parameters after backward (set_reshard_after_backward)", "let it free them")
        if self.stays_whole and not self.unsharded.is_now():
            recorder.refuse("it uses parameters that are whole since an earlier call (unshard)", "call reshard() before it")

    def _gathered(self) -> Tensor:
        """Return all values, joined."""
        dtype = self.policy.param_dtype or self.dtype
        parts = [local_of(e.param).to(dtype) for e in self.entries]
        if any(p.is_meta for p in parts):
            raise ArgumentError("fully_shard: parameters are on the meta device; call to_empty() and give them values first")
        note, group, layouts, size = self._note(dtype), the_group(self.shards), [e.layout for e in self.entries], self.size

        def gather(*parts):
            channel = group.channel_of(*[p._a for p in parts])
            mine = [channel.operand(p._a) for p in parts]
            whole = channel.empty((size,), mine[0].dtype)
            ends = [*accumulate([layout.size for layout in layouts])]
            places = [layout.cut(a.reshape(layout.shape)) for layout, a in zip(layouts, channel.cut(whole, ends[:-1]))]
            group.run(lambda: channel.all_gather_coalesced(mine, note, [*zip(*places)]), False, channel)
            return [wrap(whole)]

        gather.enters_streams = group.is_on_devices(*[p._a for p in parts])         # type: ignore[attr-defined]
        return done_in_order(gather, parts, (note,))[0].to(self.device)

    def _note(self, dtype) -> str:
        return f"parameters of {self.label}, {self.size} {dtype.np.name}"

    def _hide_slot(self, slot):
        slot.module._parameters[slot.name] = self.entries[slot.number].param

    def _refuse_write(self, name):
        raise AutogradError(f"{name} was written in whole values, which are there for a time only; write the parameter itself, "
                            "a DTensor, when they are not (after reshard())")

    def update_leaves(self):
        """Update leaves after parameters were converted or moved."""
        for e in self.entries:
            e.refresh()
            part = local_of(e.param)
            self.device = self.device if self.offload or part.is_meta else part.device
            self.dtype = e.param.dtype
            e.empty(part.dtype)

    # Gradients: the methods that a `BackwardPass` calls.

    def arrived(self, entry):
        """Handle the arrival of one parameter's gradient."""
        backward = current_backward(self)
        check_gradient(entry.leaf)
        if all(e.leaf.grad is not None for e in self.entries if e.leaf.requires_grad):
            self.reduce(backward)

    def end(self, backward):
        """End backward for these parameters."""
        if any(e.leaf.grad is not None for e in self.entries):
            self.reduce(backward)

    def close(self):
        """Drop whole values, unless the user called unshard()."""
        if self.stays_whole:
            return
        if self.reshards_after_backward:
            self.reshard()
        else:
            self.hide()

    def reduce(self, backward):
        """Send this rank's gradients, or store them until a synchronised backward."""
        with no_grad():
            grads = self._take_gradients()
            if not self.syncs:
                self.stored, self.has_stored = (grads, Origin()), True
            else:
                backward.send(self, lambda: self._start(grads))
        self.close()

    def _take_gradients(self) -> list:
        """Return the gradients of all leaves as this rank's values, with stored ones added; None for missing ones."""
        gradients, stored = [], [None] * len(self.entries)
        if self.has_stored:
            stored, origin = self.stored
            origin.check()
            self.stored, self.has_stored = None, False
        for e, before in zip(self.entries, stored):
            g, e.leaf.grad = e.leaf.grad, None
            if g is not None and g.is_sparse:
                g = g.to_dense()
            if g is not None and e.tensor_parallel is not None:
                g = local_of(g.redistribute(placements=e.tensor_parallel[1]))
            gradients.append(g if before is None else before if g is None else before + g)
        return gradients

    def _start(self, grads):
        """Start averaging asynchronously; return a function that waits for this rank's parts."""
        numbers = [i for i, g in enumerate(grads) if g is not None]
        dtype = self.policy.reduce_dtype or self.policy.param_dtype or self.dtype
        values, layouts = [grads[i].to(dtype) for i in numbers], [self.entries[i].layout for i in numbers]
        note, group, replicas = f"gradients {numbers} of {self.label}, {dtype}", the_group(self.shards), self.replicas
        divisor, over_all = self.divisor, self.reduces_all
        how = ReduceOp.AVG if divisor is None else ReduceOp.SUM
        unreplicated = self._unreplicated(numbers)

        def start(*arrays):
            channel, found = group.channel_of(*arrays), []
            arrays, more = arrays[:len(layouts)], arrays[len(layouts):]
            pieces = [*zip(*[layout.cut(channel.operand(a)) for layout, a in zip(layouts, arrays)])]
            shapes = [a.shape for a in pieces[group.rank()]]
            # (The parameters are still whole: those of the next module will fit where these are.)
            room = channel.empty((sum(map(prod, shapes)),), arrays[0].dtype)

            def average():
                mine = channel.parted(channel.reduce_scatter_coalesced(pieces, how, note, room), shapes)
                pieces.clear()      # (a thread holds this function for a while after its end)
                if more:
                    mine = [np.add(a, b) for a, b in zip(mine, more)]
                if replicas is not None and over_all:
                    row = channel.joined(mine)
                    row = replicas.inside(row, lambda channel: channel.all_reduce(row, how, note))
                    mine = channel.parted(row, shapes)
                found.extend(mine if divisor is None else [np.divide(a, a.dtype.type(divisor)) for a in mine])

            return group.run(average, True, channel), lambda: found

        is_on_devices = group.is_on_devices(*[t._a for t in values])
        finish = in_background(start, [*values, *unreplicated], (note,), is_on_devices)

        def result():
            parts = finish()
            if replicas is not None and not over_all:
                self.unreplicated, self.has_unreplicated = (numbers, parts, Origin()), True
                return None
            return numbers, parts

        return result

    def _unreplicated(self, numbers) -> list:
        """Return this rank's parts of gradients that are not averaged over replicas yet, and forget them."""
        if not self.has_unreplicated:
            return []
        known, parts, origin = self.unreplicated
        origin.check()
        self.unreplicated, self.has_unreplicated = None, False
        if known != numbers:
            raise AutogradError("gradients without an all-reduce were those of other parameters than those that are averaged "
                                "now")
        return parts

    def put(self, result):
        """Add this rank's parts of the averages to its gradients."""
        if result is None:
            return
        with no_grad():
            for i, part in zip(*result):
                e = self.entries[i]
                part = on_device_of(part, local_of(e.param)).to(e.param.dtype)
                if e.param.grad is None:
                    e.param.grad = e.shared(part.detach())
                else:
                    local_of(e.param.grad).add_(part)
                if e.param._node is not None:
                    run_post_accumulate(e.param._node)

    def reset(self):
        """Forget a failed backward."""
        for e in self.entries:
            e.forget_gradient()
