"""`fully_shard`: modules whose parameters become DTensors, whole only while they are used.

The module object stays, and its class becomes a subclass that is also a `FSDPModule`. Its parameters, except those of inner
modules sharded before, are gathered and reduced together (`parameter_group.py`).
"""

import threading
from typing import Any

from ....ir.errors import ArgumentError
from ...core.device import Device
from ...core.node import new_number
from ...core.tensor import Tensor
from ...nn.base.container import ModuleDict, ModuleList
from ...nn.base.module import Module
from ...nn.parallel.reducer import tensors_in
from ...pytree.pytree import tree_map
from ...state.mode import tls
from ..collectives.device_mesh import DeviceMesh, init_device_mesh
from ..groups.world import get_world_size
from ..tensor import DTensor, Shard
from .gradient_reduction import AwaitedBackward, Origin, current_backward
from .parameter_group import Entry, ParameterGroup
from .saved_parameters import let_go
from .settings import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy

__all__ = ["FSDPModule", "UnshardHandle", "fully_shard", "register_fsdp_forward_method"]

_running = threading.local()        # the outermost module whose forward a thread runs
_classes: dict[type, type] = {}     # by class of a module: its FSDPModule subclass


class UnshardHandle:
    """Handle of an unshard in progress."""

    def wait(self) -> None:
        """Return: whole parameters exist."""


class _State:
    """State of a module from `fully_shard`."""

    def __init__(self, modules, group, reshards, policy):
        self.modules, self.group, self.policy = modules, group, policy
        self.reshards = reshards            # after forward; None: unless it is the outermost module

    def before(self, module, args, kwargs):
        """Prepare forward: gather whole values, cast arguments to the compute dtype."""
        is_root = getattr(_running, "root", None) is None
        if is_root:
            _running.root = module
            _begin(module)
        module.__dict__["_since"] = (*module.__dict__.get("_since", ()), (new_number(), is_root))
        self.group.unshard()
        dtype = self.policy.param_dtype
        if dtype is None or not self.policy.cast_forward_inputs:
            return args, kwargs
        return tree_map(lambda t: t.to(dtype) if isinstance(t, Tensor) and t.dtype.is_floating_point else t, (args, kwargs))

    def after(self, module, outputs):
        """Finish forward, also after an error: drop whole values, and gather them again when gradients need them."""
        *rest, (since, is_root) = module.__dict__.pop("_since")
        if rest:
            module.__dict__["_since"] = tuple(rest)
        if is_root:
            _running.root = None
        try:
            return self._after_forward(module, outputs, since, is_root)
        finally:
            if is_root:
                _end(module)

    def _after_forward(self, module, outputs, since, is_root):
        """Return the module's outputs, with hooks for backward."""
        dtype = self.policy.output_dtype
        if dtype is not None:
            outputs = tree_map(lambda t: t.to(dtype) if isinstance(t, Tensor) and t.dtype.is_floating_point else t, outputs)
        group = self.group
        if not group.entries:
            return outputs
        if tls.m.backward is not None:          # a checkpoint recomputes what backward uses next
            current_backward(group)
            return outputs
        tensors = tensors_in(outputs)
        is_last = module is self.modules[-1]
        if not (tls.m.grad and any(t._node is not None for t in tensors)):
            if is_last and not group.stays_whole:
                group.reshard()
            return outputs
        self._gather_on_demand(group, tensors, since, is_root, is_last)
        return outputs

    def _gather_on_demand(self, group, tensors, since, is_root, is_last):
        stamp = group.stamp

        def fetch():
            current_backward(group)
            return group.unshard_again(stamp)

        awaited = AwaitedBackward()

        def prepare(_):
            awaited.begins()
            fetch()

        for t in tensors:
            if t._node is not None:
                t.register_hook(prepare)
        if self.reshards if self.reshards is not None else not is_root:
            let_go(tensors, since, group.whole, fetch)
            if is_last and not group.stays_whole:
                group.reshard()
        if is_last and not group.stays_whole:
            group.hide()


def _begin(module):
    """Start the outermost forward: drop values left by others."""
    if tls.m.backward is not None:
        return
    for m in module.modules():
        if isinstance(m, FSDPModule) and (state := _state_of(m)) is not None:
            state.group.reset()
            if not state.group.stays_whole:
                state.group.reshard()


def _end(module):
    """End the outermost forward: put the optimizers' parameters back into modules, and drop whole values still there."""
    if tls.m.backward is not None:
        return
    for m in module.modules():
        if isinstance(m, FSDPModule) and (state := _state_of(m)) is not None and not state.group.stays_whole:
            if state.group.is_shown and m is not module and state.reshards is not False:
                state.group.reshard()
            state.group.hide()


def _state_of(module) -> Any:
    return module.__dict__.get("_fully_sharded")


class FSDPModule:
    """Module that was passed to `fully_shard`."""

    def _groups(self, recurse=True) -> list:
        """Return the sharded parameters of this module, and of those inside."""
        states = [_state_of(m) for m in (self.modules() if recurse else [self])]        # type: ignore[attr-defined]
        return list(dict.fromkeys([s.group for s in states if s is not None]))

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather whole parameters of this module until `reshard`."""
        for group in self._groups(recurse=False):
            group.unshard()
            group.stays_whole, group.unsharded = True, Origin()
        return UnshardHandle() if async_op else None

    def reshard(self) -> None:
        """Drop whole parameters of this module."""
        for group in self._groups(recurse=False):
            group.stays_whole = False
            group.reshard()

    def set_requires_gradient_sync(self, requires_gradient_sync: bool, *, recurse: bool = True) -> None:
        """Set whether gradients are averaged over ranks. Without, they stay this rank's, whole, until a backward with it."""
        for group in self._groups(recurse):
            group.syncs = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Set whether gradients are averaged over replicas as well (with a mesh of two dims)."""
        for group in self._groups(recurse):
            group.reduces_all = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Set whether whole parameters are dropped after forward."""
        for m in self.modules() if recurse else [self]:         # type: ignore[attr-defined]
            if (state := _state_of(m)) is not None:
                state.reshards = reshard_after_forward

    def set_reshard_after_backward(self, reshard_after_backward: bool, *, recurse: bool = True) -> None:
        """Set whether whole parameters are dropped after backward."""
        for group in self._groups(recurse):
            group.reshards_after_backward = reshard_after_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """Set the divisor of summed gradients; the default is the number of ranks."""
        for group in self._groups(recurse=False):
            group.divisor = factor

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    # Settings of when and where parameters are gathered, without effect.

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Do nothing: gradients are complete when backward returns."""

    def set_modules_to_forward_prefetch(self, modules) -> None:
        """Do nothing: parameters are gathered when needed."""

    def set_modules_to_backward_prefetch(self, modules) -> None:
        """Do nothing: parameters are gathered when needed."""

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Do nothing: parameters are gathered where gradients need them."""

    def set_post_optim_event(self, event) -> None:
        """Do nothing: there is nothing to wait for."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Do nothing: averages are the same either way."""

    def set_allocate_memory_from_process_group_for_comm(self, enable: bool) -> None:
        """Do nothing: memory is that of tensors."""

    def __deepcopy__(self, memo):
        raise ArgumentError(f"{type(self).__name__} is not copied: its parts belong to what other processes have. Make another "
                            "module, give it to fully_shard, and load this one's state_dict()")

    def __reduce_ex__(self, protocol):
        raise ArgumentError(f"{type(self).__name__} is not pickled: save its state_dict()")

    def _apply(self, fn, recurse=True):
        """Replace this rank's shards of parameters, and buffers, by fn of them."""
        for group in self._groups():
            group.stays_whole = False
            group.reshard()
        super()._apply(fn, recurse)                     # type: ignore[misc]
        for group in self._groups():
            group.update_leaves()
        return self


def fully_shard(module, *, mesh: DeviceMesh | None = None, reshard_after_forward: bool | int | None = None,
                shard_placement_fn=None, mp_policy: MixedPrecisionPolicy = MixedPrecisionPolicy(),
                offload_policy: OffloadPolicy = OffloadPolicy(), ignored_params=None) -> Any:
    """Shard the parameters of a module (or of several together) over a mesh, and return it.

    Gradients are averaged; whole values exist while forward and backward need them. A mesh of two dims has replicas along the
    first. Parameters are split along dim 0, unless `shard_placement_fn` returns another `Shard`. Call it on inner modules
    first.
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for m in modules:
        if isinstance(m, FSDPModule):
            raise ArgumentError(f"fully_shard: this {type(m).__name__} was given to it before")
        if not isinstance(m, Module) or isinstance(m, (ModuleList, ModuleDict)):
            raise ArgumentError(f"fully_shard takes modules that are called, got {type(m).__name__}")
    if reshard_after_forward is not None and not isinstance(reshard_after_forward, bool):
        raise ArgumentError("fully_shard frees whole values after forward (True) or keeps them (False); it makes no shards on "
                            f"fewer ranks, got reshard_after_forward={reshard_after_forward!r}")
    mesh = mesh or init_device_mesh("cpu", (get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ArgumentError(f"fully_shard takes a mesh of one dim, or of two with replicas along the first, got {mesh}")
    entries = _entries(modules, mesh, shard_placement_fn, {id(p) for p in ignored_params or ()})
    device = next((e.leaf.device for e in entries if not e.leaf.is_meta), Device(mesh.device_type))
    group = ParameterGroup(entries, mesh, mp_policy, isinstance(offload_policy, CPUOffloadPolicy), device)
    state = _State(modules, group, reshard_after_forward, mp_policy)
    for m in modules:
        m.__dict__["_fully_sharded"] = state
        m.register_forward_pre_hook(state.before, prepend=True, with_kwargs=True)
        m.register_forward_hook(lambda m, args, outputs: state.after(m, outputs), always_call=True)
        m.register_state_dict_pre_hook(lambda m, *_: m.reshard())
        m.register_load_state_dict_pre_hook(lambda m, *_: m.reshard())
        m.__class__ = _class_of(type(m))
    return module


def _class_of(cls) -> type:
    """Return the FSDPModule subclass of a module class."""
    if cls not in _classes:
        _classes[cls] = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {"__module__": cls.__module__})
    return _classes[cls]


def _entries(modules, mesh, shard_placement_fn, ignored) -> list:
    """Return the parameters of modules that are not sharded yet."""
    parameters: dict = {}
    for prefix, owner in _own_modules(modules):
        for name, p in owner._parameters.items():
            if p is None or id(p) in ignored:
                continue
            if isinstance(p, DTensor) and getattr(p, "_is_fully_sharded", False):
                raise ArgumentError(f"the parameter {prefix}{name} is shared with a module that was given to fully_shard "
                                    "before; give it the modules that share a parameter together")
            parameters.setdefault(id(p), (p, prefix + name, []))[2].append((owner, name))
    entries = []
    for p, name, slots in parameters.values():
        wanted = shard_placement_fn(p) if shard_placement_fn is not None else None
        dim = 0 if wanted is None else wanted.dim
        if wanted is not None and not isinstance(wanted, Shard):
            raise ArgumentError(f"shard_placement_fn gives Shard(dim) or None, got {wanted!r}")
        entry = Entry(name, slots, p, mesh, dim % max(1, p.ndim))
        entries.append(entry)
    return entries


def _own_modules(modules) -> Any:
    """Yield (prefix of parameter names, module) of all modules that belong to some, each once."""
    seen: set = set()
    for module in modules:
        stack = [("", module)]
        while stack:
            prefix, m = stack.pop(0)
            if m in seen or (isinstance(m, FSDPModule) and m is not module):
                continue
            seen.add(m)
            yield prefix, m
            stack += [(f"{prefix}{name}.", child) for name, child in m.named_children()]


def register_fsdp_forward_method(module, method_name: str) -> None:
    """Gather whole parameters of a module while one of its methods runs, as during forward."""
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ArgumentError(f"{type(module).__name__} has no method {method_name}")
    method, state = getattr(module, method_name), _state_of(module)

    def called(*args, **kwargs):
        outputs: Any = None
        try:
            args, kwargs = state.before(module, args, kwargs)
            outputs = method(*args, **kwargs)
        finally:
            outputs = state.after(module, outputs)
        return outputs

    module.__dict__[method_name] = called


