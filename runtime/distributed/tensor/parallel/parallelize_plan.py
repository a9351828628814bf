"""Parallelisation plans: styles for modules by name."""

from fnmatch import fnmatch

from .....ir.errors import ArgumentError, DTypeError
from ....autograd.saved_tensor_hooks import saved_tensors_hooks
from ....state.messages import warn
from ..dtensor import DTensor
from ..placements import Replicate, Shard
from ..sharded_layout import current_mesh
from .parallel_styles import ParallelStyle

__all__ = ["input_reshard", "parallelize_module"]


def parallelize_module(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0):
    """Shard a module over a mesh of one dim: by one style, or by one for each name of a module inside (`*` for any name).
    Parameters are those of the first process. With `src_data_rank=None` each process takes its part of its own."""
    mesh = device_mesh or current_mesh()
    if mesh.ndim != 1:
        raise ArgumentError(f"parallelize_module takes a mesh of one dim, got {mesh}; mesh['tp'] is a dim of it")
    if parallelize_plan is None:
        warn("parallelize_module without a parallelize_plan does nothing")
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise DTypeError("parallelize_plan is a ParallelStyle or a dict of them by names, got "
                         f"{type(parallelize_plan).__name__}")
    for path, style in parallelize_plan.items():
        named = _named(module, path)
        if not named:
            warn(f"parallelize_module: no module is called {path!r}")
        for part in named:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def _named(module, path) -> list:
    """Return the modules that a name with `*` matches."""
    found = [module]
    for token in path.split(".") if path else []:
        found = [child for m in found for name, child in m.named_children() if fnmatch(name, token)]
    return found


def input_reshard(module, tp_device_mesh, input_reshard_dim=None):
    """Save a module's activations in parts along a dim of the mesh, and gather them when needed. This applies to plain tensors
    that are equal in all processes."""
    if input_reshard_dim is None:
        return module
    forward = module.forward

    def pack(x):
        if isinstance(x, DTensor) or x.ndim <= input_reshard_dim or x.shape[input_reshard_dim] % tp_device_mesh.size():
            return x
        whole = DTensor.from_local(x.detach(), tp_device_mesh, [Replicate()])
        return whole.redistribute(placements=[Shard(input_reshard_dim)])

    def unpack(x):
        return x.full_tensor() if isinstance(x, DTensor) and x.device_mesh == tp_device_mesh else x

    def with_sharded_values(*args, **kwargs):
        with saved_tensors_hooks(pack, unpack):
            return forward(*args, **kwargs)

    module.forward = with_sharded_values
    return module
