"""Split and join of nested containers of tensors over devices."""

from ....ir.errors import ArgumentError
from ...core.tensor import Tensor
from . import comm

__all__ = ["gather", "scatter", "scatter_kwargs"]


def is_namedtuple(obj) -> bool:
    """Return whether an object is a named tuple."""
    return isinstance(obj, tuple) and hasattr(obj, "_fields")


def _scatter_tree(value, devices, dim) -> list:
    """Return one structure per device: tensors are split, other values repeated."""
    if isinstance(value, Tensor):
        return list(comm.scatter(value, devices, dim=dim))
    if is_namedtuple(value) and value:
        return [type(value)(*parts) for parts in zip(*(_scatter_tree(v, devices, dim) for v in value))]
    if isinstance(value, (tuple, list)) and value:
        return [type(value)(parts) for parts in zip(*(_scatter_tree(v, devices, dim) for v in value))]
    if isinstance(value, dict) and value:
        parts = zip(*(_scatter_tree(v, devices, dim) for v in value.values()))
        return [type(value)(zip(value, part)) for part in parts]
    return [value] * len(devices)


def scatter(inputs, target_gpus, dim=0):
    """Split the tensors in `inputs` along a dimension, one piece per device, or fewer for few rows."""
    return _scatter_tree(inputs, target_gpus, dim)


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0) -> tuple:
    """Split positional and keyword arguments per device, padded to equal counts."""
    rows = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    rows += [() for _ in range(len(named) - len(rows))]
    named += [{} for _ in range(len(rows) - len(named))]
    return tuple(rows), tuple(named)


def gather(outputs, target_device, dim=0):
    """Join the results of all devices on one of them."""
    first = outputs[0]
    if isinstance(first, Tensor):
        return comm.gather(outputs, dim, target_device)
    if first is None:
        return None
    if isinstance(first, dict):
        if any(o.keys() != first.keys() for o in outputs):
            raise ArgumentError(f"gather: the dicts of the devices differ in their keys: {[list(o) for o in outputs]}")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in first)
    if not isinstance(first, (tuple, list)):
        raise ArgumentError(f"gather joins tensors in tuples, lists and dicts, got {type(first).__name__}; return a tensor")
    if len({len(o) for o in outputs}) != 1:
        raise ArgumentError(f"gather: the devices gave {[len(o) for o in outputs]} results")
    parts = [gather(list(column), target_device, dim) for column in zip(*outputs)]
    return type(first)(*parts) if is_namedtuple(first) else type(first)(parts)
