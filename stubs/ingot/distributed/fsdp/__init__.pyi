"""`ingot.distributed.fsdp`: modules with parameters, gradients and optimizer states sharded over ranks."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Tensor as _Tensor
from ingot import device as _device
from ingot.distributed import DeviceMesh as _DeviceMesh
from ingot.distributed.fsdp import api as api
from ingot.distributed.fsdp import fully_sharded_data_parallel as fully_sharded_data_parallel
from ingot.distributed.fsdp import sharded_grad_scaler as sharded_grad_scaler
from ingot.distributed.fsdp import wrap as wrap
from ingot.nn import Module as _Module
from ingot.nn import Parameter as _Parameter
import enum as _enum

class BackwardPrefetch(_enum.Enum):
    """Time of gathering parameters in backward; accepted without effect."""
    BACKWARD_PRE = 1
    BACKWARD_POST = 2

class CPUOffload:
    """Whether this rank's part of parameters and gradients is kept in CPU memory."""
    offload_params: _b.bool
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, offload_params: _b.bool = False) -> None: ...

class CPUOffloadPolicy(OffloadPolicy):
    """Policy that keeps this rank's parts of parameters and gradients in CPU memory. `pin_memory` is ignored: parts are
    copied one after the other, and pinned memory is for copies beside other work."""
    pin_memory: _b.bool
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, pin_memory: _b.bool = True) -> None: ...

class FSDPModule:
    """Module that was passed to `fully_shard`."""
    def reshard(self) -> None:
        """Drop whole parameters of this module."""
    def set_allocate_memory_from_process_group_for_comm(self, enable: _b.bool) -> None:
        """Do nothing: memory is that of tensors."""
    def set_force_sum_reduction_for_comms(self, enable: _b.bool) -> None:
        """Do nothing: averages are the same either way."""
    def set_gradient_divide_factor(self, factor: _b.float) -> None:
        """Set the divisor of summed gradients; the default is the number of ranks."""
    def set_is_last_backward(self, is_last_backward: _b.bool) -> None:
        """Do nothing: gradients are complete when backward returns."""
    def set_modules_to_backward_prefetch(self, modules: _t.Any) -> None:
        """Do nothing: parameters are gathered when needed."""
    def set_modules_to_forward_prefetch(self, modules: _t.Any) -> None:
        """Do nothing: parameters are gathered when needed."""
    def set_post_optim_event(self, event: _t.Any) -> None:
        """Do nothing: there is nothing to wait for."""
    def set_reduce_scatter_divide_factor(self, factor: _b.float) -> None:
        """Set the divisor of summed gradients; the default is the number of ranks."""
    def set_requires_all_reduce(self, requires_all_reduce: _b.bool, *, recurse: _b.bool = True) -> None:
        """Set whether gradients are averaged over replicas as well (with a mesh of two dims)."""
    def set_requires_gradient_sync(self, requires_gradient_sync: _b.bool, *, recurse: _b.bool = True) -> None:
        """Set whether gradients are averaged over ranks. Without, they stay this rank's, whole, until a backward with it."""
    def set_reshard_after_backward(self, reshard_after_backward: _b.bool, *, recurse: _b.bool = True) -> None:
        """Set whether whole parameters are dropped after backward."""
    def set_reshard_after_forward(self, reshard_after_forward: _b.bool, recurse: _b.bool = True) -> None:
        """Set whether whole parameters are dropped after forward."""
    def set_unshard_in_backward(self, unshard_in_backward: _b.bool) -> None:
        """Do nothing: parameters are gathered where gradients need them."""
    def unshard(self, async_op: _b.bool = False) -> UnshardHandle | None:
        """Gather whole parameters of this module until `reshard`."""

class FlatParameter(_Parameter):
    """This rank's part of the joined parameters of a unit."""

class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options for saving whole states."""
    rank0_only: _b.bool
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, offload_to_cpu: _b.bool = True, rank0_only: _b.bool = False) -> None: ...

class FullStateDictConfig(StateDictConfig):
    """Options for saving whole parameters."""
    rank0_only: _b.bool
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, offload_to_cpu: _b.bool = False, rank0_only: _b.bool = False) -> None: ...

class FullyShardedDataParallel(_Module):
    """Wrapper of `module` with one flat parameter, of which each rank keeps a part."""
    compute_device: _t.Any
    cpu_offload: _t.Any
    mixed_precision: _t.Any
    process_group: _t.Any
    sharding_strategy: _t.Any
    def __getattr__(self, name: _b.str) -> _t.Any: ...
    def __getitem__(self, key: _t.Any) -> _t.Any: ...
    def __init__(self, module: _t.Any, process_group: _t.Any = None, sharding_strategy: _t.Any = None,
                 cpu_offload: _t.Any = None, auto_wrap_policy: _t.Any = None, backward_prefetch: _t.Any = ...,
                 mixed_precision: _t.Any = None, ignored_modules: _t.Any = None, param_init_fn: _t.Any = None,
                 device_id: _t.Any = None, sync_module_states: _b.bool = False, forward_prefetch: _b.bool = False,
                 limit_all_gathers: _b.bool = True, use_orig_params: _b.bool = False, ignored_states: _t.Any = None,
                 device_mesh: _t.Any = None) -> None: ...
    def apply(self, fn: _t.Any) -> _t.Any:
        """Call fn on every module below with whole parameters; writes to them are kept."""
    def check_is_root(self) -> _b.bool:
        """Return whether this is the outermost wrapped module of the running forward, or of its last one."""
    def clip_grad_norm_(self, max_norm: _b.float, norm_type: _b.float = 2.0) -> _t.Any:
        """Scale gradients so that their norm over all ranks is at most `max_norm`; return that norm. Every rank calls it."""
    def extra_repr(self) -> _t.Any: ...
    @_b.staticmethod
    def flatten_sharded_optim_state_dict(sharded_optim_state_dict: _t.Any, model: _t.Any,
                                         optim: _t.Any) -> _b.dict[_t.Any, _t.Any]:
        """Return the argument of optim.load_state_dict() for this rank's part of a state."""
    def forward(self, *args: _t.Any, **kwargs: _t.Any) -> _Tensor:
        """Return the module's result."""
    @_b.staticmethod
    def fsdp_modules(module: _t.Any, root_only: _b.bool = False) -> _b.list[_t.Any]:
        """Return the wrapped modules in a module; with `root_only` those that are in no other."""
    @_b.staticmethod
    def full_optim_state_dict(model: _t.Any, optim: _t.Any, optim_input: _t.Any = None,
                              rank0_only: _b.bool = True, group: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
        """Return the whole state by names, on rank 0 or everywhere. `optim_input` is ignored: the optimizer knows its
        parameters."""
    @_b.staticmethod
    def get_state_dict_type(module: _t.Any) -> StateDictSettings:
        """Return the form of states of the wrapped modules in a module."""
    def load_state_dict(self, state_dict: _t.Any, strict: _b.bool = True, assign: _b.bool = False) -> _t.Any:
        """Load a state in the form of `state_dict_type`; every rank calls it, with the whole state in that form."""
    @_b.property
    def module(self) -> _t.Any:
        """The wrapped module."""
    def named_buffers(self, prefix: _b.str = '', recurse: _b.bool = True, remove_duplicate: _b.bool = True) -> _t.Any:
        """Yield (dotted name, buffer) by the names of the wrapped modules."""
    def named_parameters(self, prefix: _b.str = '', recurse: _b.bool = True, remove_duplicate: _b.bool = True) -> _t.Any:
        """Yield (dotted name, parameter) by the names of the wrapped modules."""
    def no_sync(self) -> _t.Any:
        """Keep gradients computed inside local to this rank, whole; the next backward outside averages the sums."""
    @_b.staticmethod
    def optim_state_dict(model: _t.Any, optim: _t.Any, optim_state_dict: _t.Any = None,
                         group: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
        """Return an optimizer's state by parameter names, in the form of `state_dict_type`. Every rank calls it."""
    @_b.staticmethod
    def optim_state_dict_to_load(model: _t.Any, optim: _t.Any, optim_state_dict: _t.Any,
                                 is_named_optimizer: _b.bool = False, load_directly: _b.bool = False,
                                 group: _t.Any = None) -> _t.Any:
        """Return the argument of optim.load_state_dict() for a state by names; with `load_directly` also load it. Every rank
        calls it."""
    def register_comm_hook(self, state: _t.Any, hook: _t.Any) -> _t.Any:
        """Raise, and say what to use instead."""
    @_b.staticmethod
    def rekey_optim_state_dict(optim_state_dict: _t.Any, optim_state_key_type: _t.Any,
                               model: _t.Any, optim_input: _t.Any = None, optim: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
        """Convert a whole state by names to one by numbers, or back, for a model without wrappers. `optim_input` is ignored:
        the optimizer knows its parameters."""
    @_b.staticmethod
    def scatter_full_optim_state_dict(full_optim_state_dict: _t.Any, model: _t.Any,
                                      optim_input: _t.Any = None, optim: _t.Any = None,
                                      group: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
        """Return the argument of optim.load_state_dict() for a whole state on rank 0. `optim_input` is ignored: the optimizer
        knows its parameters."""
    @_b.staticmethod
    def set_state_dict_type(module: _t.Any, state_dict_type: _t.Any, state_dict_config: _t.Any = None,
                            optim_state_dict_config: _t.Any = None) -> _t.Any:
        """Set the form of states of the wrapped modules in a module; return the settings before."""
    @_b.staticmethod
    def shard_full_optim_state_dict(full_optim_state_dict: _t.Any, model: _t.Any,
                                    optim_input: _t.Any = None, optim: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
        """Return the argument of optim.load_state_dict() for a whole state on every rank. `optim_input` is ignored: the
        optimizer knows its parameters."""
    @_b.staticmethod
    def sharded_optim_state_dict(model: _t.Any, optim: _t.Any, group: _t.Any = None) -> _b.dict[_t.Any, _t.Any]:
        """Return this rank's part of the state by names."""
    def state_dict(self, *args: _t.Any, destination: _t.Any = None, prefix: _b.str = '', keep_vars: _b.bool = False) -> _t.Any:
        """Return the state in the form of `state_dict_type`, by default whole values. Every rank calls it."""
    @_b.staticmethod
    def state_dict_type(module: _t.Any, state_dict_type: _t.Any, state_dict_config: _t.Any = None,
                        optim_state_dict_config: _t.Any = None) -> _t.Any:
        """Return a context in which states have a form."""
    @_b.staticmethod
    def summon_full_params(module: _t.Any, recurse: _b.bool = True, writeback: _b.bool = True,
                           rank0_only: _b.bool = False, offload_to_cpu: _b.bool = False, with_grads: _b.bool = False) -> _t.Any:
        """Return a context in which parameters are whole. Every rank enters it. With `writeback` writes are kept, each value
        from the rank that owns it, so all ranks must write the same."""

class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options for saving the parts of this process."""

class LocalStateDictConfig(StateDictConfig):
    """Options for saving the parts of this process."""

class MixedPrecision:
    """Dtypes of parameters in use, of gradient sums (None: that of the parameters), and of buffers. If a policy wraps
    modules, those of ignored classes are units of their own, in full precision."""
    buffer_dtype: _t.Any
    cast_forward_inputs: _b.bool
    cast_root_forward_inputs: _b.bool
    keep_low_precision_grads: _b.bool
    param_dtype: _t.Any
    reduce_dtype: _t.Any
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, param_dtype: _t.Any = None, reduce_dtype: _t.Any = None, buffer_dtype: _t.Any = None,
                 keep_low_precision_grads: _b.bool = False, cast_forward_inputs: _b.bool = False,
                 cast_root_forward_inputs: _b.bool = True) -> None: ...

class MixedPrecisionPolicy:
    """Dtypes of parameters in use, of gradient sums, and of results (None: unchanged); whether arguments are cast, too."""
    cast_forward_inputs: _b.bool
    output_dtype: _t.Any
    param_dtype: _t.Any
    reduce_dtype: _t.Any
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, param_dtype: _t.Any = None, reduce_dtype: _t.Any = None, output_dtype: _t.Any = None,
                 cast_forward_inputs: _b.bool = True) -> None: ...

class OffloadPolicy:
    """Policy that keeps parameters on their device."""
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self) -> None: ...

class OptimStateDictConfig:
    """Options for saving an optimizer's state."""
    offload_to_cpu: _b.bool
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, offload_to_cpu: _b.bool = True) -> None: ...

class OptimStateKeyType(_enum.Enum):
    """Keys of parameters in optimizer states."""
    PARAM_NAME = 1
    PARAM_ID = 2

class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options for saving parts."""
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, offload_to_cpu: _b.bool = True) -> None: ...

class ShardedStateDictConfig(StateDictConfig):
    """Options for saving parts."""
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, offload_to_cpu: _b.bool = False) -> None: ...

class ShardingStrategy(_enum.Enum):
    """Extent of sharding."""
    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4
    _HYBRID_SHARD_ZERO2 = 5

class StateDictConfig:
    """Options for saving parameters."""
    offload_to_cpu: _b.bool
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, offload_to_cpu: _b.bool = False) -> None: ...

class StateDictSettings:
    """Form of a module's state and of its optimizer's."""
    optim_state_dict_config: OptimStateDictConfig
    state_dict_config: StateDictConfig
    state_dict_type: StateDictType
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    __hash__: _t.Any
    def __init__(self, state_dict_type: StateDictType = ..., state_dict_config: StateDictConfig = ...,
                 optim_state_dict_config: OptimStateDictConfig = ...) -> None: ...

class StateDictType(_enum.Enum):
    """Form of state dicts: whole values by module names, this rank's flat parameters, or its part of each value."""
    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3

class UnshardHandle:
    """Handle of an unshard in progress."""
    def wait(self) -> None:
        """Return: whole parameters exist."""

def fully_shard(module: _t.Any, *, mesh: _DeviceMesh | None = None,
                reshard_after_forward: _b.bool | _b.int | None = None, shard_placement_fn: _t.Any = None,
                mp_policy: MixedPrecisionPolicy = ..., offload_policy: OffloadPolicy = ...,
                ignored_params: _t.Any = None) -> _t.Any:
    """Shard the parameters of a module (or of several together) over a mesh, and return it."""
def register_fsdp_forward_method(module: _t.Any, method_name: _b.str) -> None:
    """Gather whole parameters of a module while one of its methods runs, as during forward."""
