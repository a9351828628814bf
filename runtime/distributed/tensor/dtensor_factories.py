"""Factories of sharded tensors, and modules with sharded parameters."""

import inspect
from typing import Any

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, AutogradError, DTypeError
from ...api.register.register import FUNCTIONS
from ...autograd.grad_mode import no_grad
from ...core.tensor import shape_of, wrap
from ...nn.base.module import Module
from ...nn.base.parameter import Buffer, Parameter
from ...state.mode import Defaults
from .dtensor import DTensor, over
from .mesh_array import refuse_in_traces
from .placements import Partial, Replicate
from .redistribute import on_device_of, redistributed
from .redistribute import part as part_of
from .sharded_layout import checked, current_mesh, nesting, part_sizes, place_in

__all__ = ["distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn", "zeros"]


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0) -> DTensor:
    """Return a tensor (all of it) sharded over a mesh, with the values of the first process. With `src_data_rank=None` each
    process takes its part of its own values, without communication. Gradients go to the result, which is a leaf."""
    refuse_in_traces("it distributes a tensor as a DTensor (distribute_tensor)")
    mesh = device_mesh or current_mesh()
    placements = checked(placements, mesh, tensor.ndim, "distribute_tensor")
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh or tensor.placements != placements:
            raise ArgumentError(f"distribute_tensor: the tensor is a DTensor already, on {tensor.device_mesh} as "
                                f"{tensor.placements}; call redistribute")
        return tensor
    if not tensor.is_leaf:
        raise AutogradError("distribute_tensor takes leaf tensors; for one with a history use DTensor.from_local and "
                            "redistribute")
    return sharded(tensor, mesh, placements, src_data_rank).requires_grad_(tensor.requires_grad)


def sharded(tensor, mesh, placements, source=0) -> Any:
    """Return a tensor without history, of which each process keeps its part."""
    shape = tuple(shape_of(tensor))
    if mesh.get_coordinate() is None:
        return over(tensor.detach().new_empty(place_in(shape, mesh, placements)[0]), shape, mesh, placements)
    a = tensor.detach()._a
    if source is None:
        local = redistributed(a, shape, mesh, (Replicate(),) * mesh.ndim, placements)
        return over(wrap(local if local is not a else a), shape, mesh, placements)
    return over(wrap(on_device_of(_scattered(a, mesh, placements, source), a)), shape, mesh, placements)


def _scattered(a, mesh, placements, source):
    """Return this process's part of the first process's array."""
    first, parted = a, nesting(placements, mesh.shape)
    order = {i: (dim, at) for dim, dims in parted.items() for at, i in enumerate(dims)}
    for i in sorted(range(mesh.ndim), key=lambda i: order.get(i, (0, 0))[1]):
        group, what = mesh.get_group(i), f"distribute_tensor of {list(a.shape)} {a.dtype.name} along dim {i} of the mesh"
        if i in order:
            first = _parts_of_first(group, first, order[i][0], mesh.shape[i], what, source)
        else:
            received: list = []
            channel = group.channel_of(first)
            group.run(lambda channel=channel, a=channel.operand(first), received=received, what=what: received.append(
                channel.broadcast(a, source, what)), False, channel)
            first = received[0]
            if isinstance(placements[i], Partial):
                first = redistributed(first, first.shape, mesh, (Replicate(),) * mesh.ndim,
                              tuple([p if j == i else Replicate() for j, p in enumerate(placements)]))
    return first.copy() if first is a else first


def _parts_of_first(group, a, dim, count, what, source):
    """Return this process's part along a dim of the array of a group's first process."""
    channel = group.channel_of(a)
    a, sizes, received = channel.operand(a), part_sizes(a.shape[dim], count), []
    begins = [sum(sizes[:r]) for r in range(count)]
    parts = [part_of(a, dim, b, b + n) for b, n in zip(begins, sizes)]
    group.run(lambda: received.append(channel.scatter(parts, source, what, parts[group.rank()])), False, channel)
    return received[0].copy()


# Modules.


def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None) -> Module:
    """Make the parameters and buffers of a module DTensors.

    partition_fn(name, module, mesh) does so for each module inside; the rest is replicated. input_fn(module, inputs, mesh)
    converts the inputs of forward, output_fn(module, outputs, mesh) its outputs.
    """
    mesh = device_mesh or current_mesh()
    if getattr(module, "_is_distributed", False):
        raise ArgumentError("distribute_module: this module was given to it before")
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        replicate_rest(part, mesh)
    if input_fn is not None:
        takes = len(inspect.signature(input_fn).parameters)
        module.register_forward_pre_hook(
            (lambda m, inputs: input_fn(m, inputs, mesh)) if takes == 3 else (lambda m, inputs: input_fn(inputs, mesh)))
    if output_fn is not None:
        takes = len(inspect.signature(output_fn).parameters)
        module.register_forward_hook(
            (lambda m, inputs, out: output_fn(m, out, mesh)) if takes == 3 else (lambda m, inputs, out: output_fn(out, mesh)))
    module._is_distributed = True
    return module


def replicate_rest(module, mesh, source=0):
    """Replicate the plain parameters and buffers of a module in all processes of a mesh."""
    whole = [Replicate()] * mesh.ndim
    for name, p in list(module._parameters.items()):
        if p is not None and not isinstance(p, DTensor):
            module.register_parameter(name, as_parameter(p, mesh, whole, source))
    for name, b in list(module._buffers.items()):
        if b is not None and not isinstance(b, DTensor):
            buffer = sharded(b, mesh, checked(whole, mesh, b.ndim, "distribute_module"), source)
            module._buffers[name] = Buffer(buffer) if isinstance(b, Buffer) else buffer


def as_parameter(p, mesh, placements, source=0) -> Parameter:
    """Return a sharded parameter."""
    placements = checked(placements, mesh, p.ndim, "a parameter")
    return Parameter(sharded(p, mesh, placements, source), requires_grad=p.requires_grad)


# Factories.


def _sizes(size) -> tuple:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def _filled(size, value, dtype, layout, requires_grad, device_mesh, placements):
    mesh, shape = device_mesh or current_mesh(), _sizes(size)
    if layout not in (None, "strided", FUNCTIONS.get("strided")):
        raise DTypeError(f"DTensors are strided, got layout={layout!r}")
    placements = checked(placements, mesh, len(shape), "a new DTensor")
    local = FUNCTIONS["full"](place_in(shape, mesh, placements)[0], value, dtype=dtype, device=mesh.device_type)
    for i, p in enumerate(placements):
        if isinstance(p, Partial) and p.reduce_op == "sum" and mesh.get_local_rank(i):
            local = local * 0
    return over(local, shape, mesh, placements).requires_grad_(requires_grad)


def _float(dtype):
    return Defaults.dtype if dtype is None else dt.as_dtype(dtype)


def zeros(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """Return sharded zeros."""
    return _filled(size, 0, _float(dtype), layout, requires_grad, device_mesh, placements)


def ones(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """Return sharded ones."""
    return _filled(size, 1, _float(dtype), layout, requires_grad, device_mesh, placements)


def empty(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """Return a sharded tensor without defined values (ingot writes zeros)."""
    return zeros(*size, dtype=dtype, layout=layout, requires_grad=requires_grad, device_mesh=device_mesh, placements=placements)


def full(size, fill_value, *, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """Return a sharded tensor of one number."""
    return _filled((size,), fill_value, dtype, layout, requires_grad, device_mesh, placements)


def _drawn(size, name, dtype, layout, requires_grad, device_mesh, placements):
    result = empty(*size, dtype=dtype, layout=layout, device_mesh=device_mesh, placements=placements)
    with no_grad():
        getattr(result, name)()
    return result.requires_grad_(requires_grad)


def rand(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """Return sharded uniform numbers in [0, 1), the same as one process would draw."""
    return _drawn(size, "uniform_", dtype, layout, requires_grad, device_mesh, placements)


def randn(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None) -> DTensor:
    """Return sharded normal numbers, the same as one process would draw."""
    return _drawn(size, "normal_", dtype, layout, requires_grad, device_mesh, placements)


