"""FullyShardedDataParallel: a module whose parameters, gradients and optimizer states are sharded over ranks.

`clip_gradients` implements its gradient clipping.
"""

import contextlib
import math
import threading
from functools import partial
from itertools import chain
from typing import Any

from ....ir.errors import ArgumentError, AutogradError
from ...api.math.reductions import vector_norm
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.node import new_number
from ...core.placement import as_device
from ...core.tensor import Tensor
from ...nn.parallel.reducer import tensors_in
from ...pytree.pytree import tree_map
from ...state.mode import tls
from ..collectives.collectives import all_reduce, copy_from
from ..engines.reduce_op import ReduceOp
from ..groups.process_group import ProcessGroup
from ..groups.world import is_initialized, member_of
from .flat_parameter import Groups, Unit, units_below, wants_gradients
from .gradient_reduction import AwaitedBackward, GradientReducer, current_backward
from .module_state import ModuleStates
from .optimizer_state import OptimizerStates
from .saved_parameters import let_go
from .settings import BackwardPrefetch, CPUOffload, MixedPrecision, ShardingStrategy
from .summon_full_params import summoned
from .wrap_policies import PREFIX, Around, clean, ignored_tensors, modules_of_unit, wrap_inside

__all__ = ["FullyShardedDataParallel"]

_HYBRID = (ShardingStrategy.HYBRID_SHARD, ShardingStrategy._HYBRID_SHARD_ZERO2)
_KEEPS_WHOLE = (ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy._HYBRID_SHARD_ZERO2, ShardingStrategy.NO_SHARD)
_running = threading.local()        # the unit whose forward was the first that a thread runs


def _groups_for(strategy, process_group, device_mesh) -> Groups:
    """Return the groups over which a unit is sharded, and gradients are averaged."""
    if strategy in _HYBRID:
        if device_mesh is not None and device_mesh.ndim == 2:
            return Groups(device_mesh.get_group(1), device_mesh.get_group(0))
        if isinstance(process_group, (tuple, list)) and len(process_group) == 2:
            return Groups(*process_group)
        raise ArgumentError(f"{strategy.name} needs the layout of ranks: a device_mesh with two dimensions (gradients are "
                            "averaged along the first, parameters sharded along the second), or as process_group the "
                            "groups for sharding and for averaging")
    if device_mesh is not None:
        process_group = device_mesh.get_group()
    if process_group is not None and not isinstance(process_group, ProcessGroup):
        raise ArgumentError(f"{strategy.name} takes one process_group, got {process_group!r}")
    group = member_of(process_group, "FullyShardedDataParallel")
    if group is None:
        raise ArgumentError("FullyShardedDataParallel needs a group that this rank is in")
    return Groups(None, group) if strategy is ShardingStrategy.NO_SHARD else Groups(group, None)


def _materialize(module, ignored_modules, param_init_fn, device):
    """Initialise modules on the meta device."""
    for m in modules_of_unit(module):
        own = [t for t in (*m._parameters.values(), *m._buffers.values()) if t is not None]
        if m in ignored_modules or not any(t.is_meta for t in own):
            continue
        if param_init_fn is not None:
            param_init_fn(m)
        elif hasattr(m, "reset_parameters"):
            m.to_empty(device=device or "cpu", recurse=False)
            m.reset_parameters()
        else:
            raise ArgumentError(f"{type(m).__name__} has values on the meta device and no reset_parameters(); pass "
                                "param_init_fn, a function that gives a module its values")


def _dtypes_of(unit) -> dict:
    return dict(vars(unit.mixed_precision))


class FullyShardedDataParallel(ModuleStates, OptimizerStates, Around):
    """Wrapper of `module` with one flat parameter, of which each rank keeps a part.

    Inner modules chosen by `auto_wrap_policy` are units of their own. Whole values are gathered before forward, and again
    before gradients are computed (the outermost unit keeps them in between). Gradients are averaged over ranks, each of which
    gets its part. Create optimizers from the parameters of the wrapped module.
    """

    _inside = PREFIX[:-1]

    def __init__(self, module, process_group=None, sharding_strategy=None, cpu_offload=None, auto_wrap_policy=None,
                 backward_prefetch=BackwardPrefetch.BACKWARD_PRE, mixed_precision=None, ignored_modules=None,
                 param_init_fn=None, device_id=None, sync_module_states=False, forward_prefetch=False,
                 limit_all_gathers=True, use_orig_params=False, ignored_states=None, device_mesh=None):
        super().__init__()
        if not is_initialized():
            raise ArgumentError("FullyShardedDataParallel needs a process group; call distributed.init_process_group() first")
        if isinstance(module, FullyShardedDataParallel):
            raise ArgumentError("the module is wrapped already")
        strategy = sharding_strategy or ShardingStrategy.FULL_SHARD
        groups = _groups_for(strategy, process_group, device_mesh)
        skipped, ignored = ignored_tensors(ignored_modules or (), ignored_states or ())
        self.mixed_precision, self.cpu_offload = mixed_precision or MixedPrecision(), cpu_offload or CPUOffload()
        if self.mixed_precision.keep_low_precision_grads:
            raise ArgumentError("keep_low_precision_grads: gradients have the dtype of their parameters; leave it False")
        if auto_wrap_policy is not None:
            if units_below(module):
                raise ArgumentError("a policy wraps modules of which none is wrapped yet; wrap those inside by hand, or leave "
                                    "all to the policy")
            options = {"process_group": process_group, "sharding_strategy": strategy, "cpu_offload": cpu_offload,
                       "backward_prefetch": backward_prefetch, "mixed_precision": mixed_precision,
                       "param_init_fn": param_init_fn, "device_id": device_id, "sync_module_states": sync_module_states,
                       "forward_prefetch": forward_prefetch, "limit_all_gathers": limit_all_gathers,
                       "use_orig_params": use_orig_params, "device_mesh": device_mesh, "ignored_modules": ignored_modules,
                       "ignored_states": ignored_states}
            full = mixed_precision and tuple(mixed_precision._module_classes_to_ignore)
            wrap_inside(module, auto_wrap_policy, FullyShardedDataParallel, skipped, ignored, options, full or ())
        self.sharding_strategy, self.process_group = strategy, groups.shards or groups.replicas
        self._casts_around = False
        self._buffer_dtypes: Any = None
        self._place(module, groups, ignored, skipped, param_init_fn, device_id, sync_module_states)
        self._unit = Unit(module, ignored, groups, self.compute_device, use_orig_params, self.cpu_offload.offload_params)
        self._reducer = GradientReducer(self._unit, self.mixed_precision.reduce_dtype)
        self._ignored = ignored
        self._fsdp_wrapped_module = module
        if self._unit.entries and not use_orig_params:
            self.register_parameter("_flat_param", self._unit.params[0])

    def _place(self, module, groups, ignored, skipped, param_init_fn, device_id, sync_module_states):
        """Put all values on the compute device, and make them equal on all ranks if requested."""
        _materialize(module, skipped, param_init_fn, device_id)
        own = [t for m in modules_of_unit(module) for t in chain(m._parameters.values(), m._buffers.values())
               if t is not None and id(t) not in ignored]
        if device_id is not None:
            self.compute_device = as_device(device_id if not isinstance(device_id, int) else f"cuda:{device_id}")
            for m in modules_of_unit(module):
                if m not in skipped:
                    m._apply(lambda t: t.to(self.compute_device), recurse=False)
        else:
            self.compute_device = own[0].device if own else as_device("cpu")
        if sync_module_states and own:
            for group in filter(None, groups):
                copy_from(group, 0, own, "FullyShardedDataParallel")

    @property
    def module(self):
        """The wrapped module."""
        return self._fsdp_wrapped_module

    def extra_repr(self):
        return self.sharding_strategy.name

    # Names.

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (dotted name, parameter) by the names of the wrapped modules."""
        for name, p in super().named_parameters(prefix, recurse, remove_duplicate):
            yield clean(name), p

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """Yield (dotted name, buffer) by the names of the wrapped modules."""
        for name, b in super().named_buffers(prefix, recurse, remove_duplicate):
            yield clean(name), b

    def apply(self, fn):
        """Call fn on every module below with whole parameters; writes to them are kept."""
        if self._unit.is_summoned:
            return super().apply(fn)
        with summoned(self, recurse=False):
            return super().apply(fn)

    def _apply(self, fn, recurse=True):
        """Replace this rank's parts of parameters and buffers by fn of them."""
        for unit in [m._unit for m in units_below(self)]:
            unit.reshard()
        super()._apply(fn, recurse)
        for unit in [m._unit for m in units_below(self)]:
            unit.update_leaves()
        return self

    @staticmethod
    def fsdp_modules(module, root_only=False) -> list:
        """Return the wrapped modules in a module; with `root_only` those that are in no other."""
        units = units_below(module)
        if root_only:
            inner = {m for unit in units for m in unit.modules() if m is not unit}
            units = [m for m in units if m not in inner]
        return units

    def check_is_root(self) -> bool:
        """Return whether this is the outermost wrapped module of the running forward, or of its last one."""
        return bool(self.__dict__.get("_was_root", False))

    # Forward.

    def forward(self, *args, **kwargs):
        """Return the module's result."""
        is_root = getattr(_running, "root", None) is None
        if tls.m.recorder is not None and self._unit.is_summoned:
            tls.m.recorder.refuse("it is called within summon_full_params()", "call it outside of that")
        if is_root:
            _running.root = self
            self._begin()
        try:
            self._was_root = is_root
            args, kwargs = self._cast_arguments(args, kwargs, is_root)
            since = new_number()
            if not self._unit.is_summoned:
                self._unit.unshard(self._precision().param_dtype)
            outputs = self._fsdp_wrapped_module(*args, **kwargs)
            return self._after_forward(outputs, since, is_root)
        except Exception:
            self._unit.hide()
            raise
        finally:
            if is_root:
                _running.root = None

    def _begin(self):
        """Start the outermost forward: drop values left by others."""
        if tls.m.backward is not None:
            return                          # recomputation of a part of forward
        for inner in units_below(self):
            if inner._unit.is_summoned:
                if tls.m.grad:
                    raise AutogradError("forward within summon_full_params() would compute gradients that are not sharded; "
                                        "use no_grad() there, or call it outside")
                continue
            inner._unit.reshard()
            inner._reducer.reset()
            inner._cast_buffers()

    def _precision(self) -> MixedPrecision:
        """Return the dtypes to use; recorded calls hold for these alone, which code may change in place."""
        if tls.m.recorder is not None:
            tls.m.recorder.asked("mixed_precision", partial(_dtypes_of, self))
        return self.mixed_precision

    def _cast_buffers(self):
        """Cast buffers to their dtype, once."""
        wanted = self._precision().buffer_dtype
        if wanted is None or self._buffer_dtypes is not None:
            return
        self._buffer_dtypes = {}
        if tls.m.recorder is not None:
            tls.m.recorder.only_once("FullyShardedDataParallel casts buffers")
        for m in modules_of_unit(self.module):
            for name, b in m._buffers.items():
                if b is not None and b.dtype.is_floating_point and id(b) not in self._ignored:
                    self._buffer_dtypes[m, name] = b.dtype
                    m._buffers[name] = b.to(wanted)

    def _cast_arguments(self, args, kwargs, is_root):
        """Return arguments on the compute device, in the compute dtype."""
        precision, dtype = self._precision(), None
        if precision.cast_root_forward_inputs if is_root else precision.cast_forward_inputs:
            dtype = precision.param_dtype
        if self._casts_around and self._unit.entries:
            floats = [t.dtype for t in tensors_in((args, kwargs)) if t.dtype.is_floating_point]
            self._outer_dtype = floats[0] if floats else None
            dtype = self._unit.leaves[0].dtype

        def cast(t):
            if not isinstance(t, Tensor):
                return t
            t = t.to(self.compute_device) if is_root else t
            return t.to(dtype) if dtype is not None and t.dtype.is_floating_point else t

        return tree_map(cast, (args, kwargs))

    def _after_forward(self, outputs, since, is_root):
        """Finish forward: drop whole parameters, and gather them again when gradients need them."""
        unit = self._unit
        if self._casts_around and self.__dict__.get("_outer_dtype") is not None:
            outputs = tree_map(lambda t: t.to(self._outer_dtype) if isinstance(t, Tensor) and t.dtype.is_floating_point else t,
                               outputs)
        if not unit.entries or unit.is_summoned:
            return outputs
        if tls.m.backward is not None:          # a checkpoint recomputes what backward uses next
            current_backward(self._reducer)
            return outputs
        tensors = tensors_in(outputs)
        if not wants_gradients(tensors):
            unit.reshard()
            return outputs
        stamp, dtype, reducer = unit.stamp, self._precision().param_dtype, self._reducer

        def fetch():
            current_backward(reducer)
            return unit.unshard_again(stamp, dtype)

        awaited = AwaitedBackward()

        def prepare(_):
            awaited.begins()
            fetch()

        for t in tensors:
            if t._node is not None:
                t.register_hook(prepare)
        if self.sharding_strategy not in _KEEPS_WHOLE and unit.count > 1 and not is_root:
            let_go(tensors, since, unit.whole, fetch)
            unit.reshard()
        unit.hide()
        return outputs

    # Gradients.

    @contextlib.contextmanager
    def no_sync(self):
        """Keep gradients computed inside local to this rank, whole; the next backward outside averages the sums."""
        inner = [m._reducer for m in units_below(self)]
        before = [reducer.syncs for reducer in inner]
        for reducer in inner:
            reducer.syncs = False
        try:
            yield
        finally:
            for reducer, syncs in zip(inner, before):
                reducer.syncs = syncs

    def clip_grad_norm_(self, max_norm, norm_type=2.0):
        """Scale gradients so that their norm over all ranks is at most `max_norm`; return that norm. Every rank calls it.
        `nn.utils.clip_grad_norm_` would take this rank's part for all."""
        with no_grad():
            return clip_gradients(self, float(max_norm), float(norm_type))

    def register_comm_hook(self, state, hook):
        """Raise, and say what to use instead."""
        raise ArgumentError("FullyShardedDataParallel averages gradients itself; hooks for them are those of "
                            "nn.parallel.DistributedDataParallel")

    @staticmethod
    def summon_full_params(module, recurse=True, writeback=True, rank0_only=False, offload_to_cpu=False, with_grads=False):
        """Return a context in which parameters are whole. Every rank enters it. With `writeback` writes are kept, each value
        from the rank that owns it, so all ranks must write the same."""
        return summoned(module, recurse, writeback, rank0_only, offload_to_cpu, with_grads)


def _norm(grads, norm_type, like):
    """Return the norm of gradients of this rank, in float32 or their own wider dtype."""
    wide = FUNCTIONS["zeros"]((), dtype=like.dtype, device=like.device)
    wide = wide if wide.dtype.itemsize >= 4 else wide.float()
    if not grads:
        return wide
    norms = [vector_norm(g.to(wide.dtype).to(wide.device), norm_type) for g in grads]
    return vector_norm(FUNCTIONS["stack"](norms), norm_type)


def clip_gradients(sharded, max_norm: float, norm_type: float):
    """Implement `FullyShardedDataParallel.clip_grad_norm_`."""
    units = [m for m in units_below(sharded) if m._unit.entries]
    if any(m._reducer.has_stored for m in units):
        raise AutogradError("clip_grad_norm_: the gradients of a backward within no_sync() wait for those of other ranks; go "
                            "backward outside of it first")
    managed = {id(p) for m in units for p in m._unit.params}
    parts = [p.grad for m in units if m._unit.count > 1 for p in m._unit.params if p.grad is not None]
    whole = [p.grad for m in units if m._unit.count == 1 for p in m._unit.params if p.grad is not None]
    whole += [p.grad for p in sharded.parameters() if id(p) not in managed and p.grad is not None]
    like = next(iter(sharded.parameters()))
    total, apart = _norm(parts, norm_type, like), _norm(whole, norm_type, like)
    group = next((m._unit.groups.shards for m in units if m._unit.count > 1), None)
    if math.isinf(norm_type):
        if group is not None:
            all_reduce(total, ReduceOp.MAX, group)
        total = FUNCTIONS["maximum"](total, apart)
    else:
        total = total ** norm_type
        if group is not None:
            all_reduce(total, ReduceOp.SUM, group)
        total = (total + apart ** norm_type) ** (1.0 / norm_type)
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for g in [*parts, *whole]:
        g.mul_(factor.to(g.device).to(g.dtype))
    return total.to(like.dtype)
