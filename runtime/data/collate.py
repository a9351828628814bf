"""Collation: one batch from a list of samples."""

import collections.abc
import re
from typing import Any

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import DTypeError, ShapeError
from ..api.register.register import FUNCTIONS
from ..api.views.tensor_factories import created
from ..core.creation import array_of, as_array_tensor
from ..core.tensor import Tensor, wrap
from ..cpu.memory import alloc
from ..state.mode import tls

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

_TEXT_ARRAY = re.compile(r"[SaUO]")


class Memory:
    """Allocator of collated arrays: a worker sets `empty` to memory that it shares with its parent."""

    empty: Any = staticmethod(alloc.empty)


def default_convert(data):
    """Convert arrays and NumPy numbers to tensors, also in mappings and sequences; other values stay."""
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        if _TEXT_ARRAY.search(data.dtype.str):
            return data
        return as_array_tensor(np.asarray(data)) if tls.m.recorder is None else FUNCTIONS["as_tensor"](data)
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        return _in_type_of(data, {k: default_convert(v) for k, v in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(v) for v in data))
    if isinstance(data, tuple):
        return [default_convert(v) for v in data]
    if isinstance(data, collections.abc.Sequence):
        return _in_type_of(data, [default_convert(v) for v in data])
    return data


def _in_type_of(sample, values):
    """Return a dict or list in the type of a sample, if that type can be built from it."""
    try:
        return type(sample)(values)
    except TypeError:
        return values


def collate(batch, *, collate_fn_map=None):
    """Return one batch of a list of samples: by the map's function for their type, recursively in containers."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        fn = collate_fn_map.get(kind) or next((f for t, f in collate_fn_map.items() if isinstance(first, t)), None)
        if fn is not None:
            return fn(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        return _in_type_of(first, {k: collate([d[k] for d in batch], collate_fn_map=collate_fn_map) for k in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(part, collate_fn_map=collate_fn_map) for part in _columns(batch)))
    if isinstance(first, collections.abc.Sequence):
        parts = [collate(part, collate_fn_map=collate_fn_map) for part in _columns(batch)]
        return parts if isinstance(first, tuple) else _in_type_of(first, parts)
    raise DTypeError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}")


def _columns(batch) -> list:
    """Return the first entries of all samples, the second ones, and so on."""
    try:
        return list(zip(*batch, strict=True))
    except ValueError:
        lengths = sorted({len(sample) for sample in batch})
        raise ShapeError(f"each element in list of batch should be of equal size; samples have {lengths} entries") from None


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stack tensors, straight into the batch's memory unless they have a history or a dispatching class."""
    m = tls.m
    if (m.recorder is not None or any(type(t) is not Tensor for t in batch) or not batch[0].is_cpu
            or (m.grad and any(t._node is not None for t in batch))):
        return FUNCTIONS["stack"](list(batch))
    return _stacked([t._a for t in batch])


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Stack arrays of numbers."""
    if _TEXT_ARRAY.search(batch[0].dtype.str):
        raise DTypeError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found an array "
                         f"of {batch[0].dtype.name}")
    dt.from_numpy(batch[0].dtype)
    return _stacked(batch)


def _stacked(arrays) -> Tensor:
    first = arrays[0]
    for i, a in enumerate(arrays):
        if a.shape != first.shape:
            raise ShapeError(f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 and "
                             f"{list(a.shape)} at entry {i}; pass a collate_fn that pads, or samples of one size")
    kind = first.dtype if all(a.dtype == first.dtype for a in arrays) else np.result_type(*arrays)
    if tls.m.recorder is not None:
        return FUNCTIONS["stack"]([FUNCTIONS["as_tensor"](a).to(dt.from_numpy(kind)) for a in arrays])
    out = Memory.empty((len(arrays), *first.shape), dt.from_numpy(kind).np)
    return wrap(np.stack(arrays, out=out, casting="unsafe"))


def collate_int_fn(batch, *, collate_fn_map=None):
    """Return ints and bools as a tensor."""
    return created(wrap(array_of(list(batch))))


def collate_float_fn(batch, *, collate_fn_map=None):
    """Return floats as a tensor of float64."""
    return created(wrap(np.array(batch, np.float64)))


def collate_str_fn(batch, *, collate_fn_map=None):
    """Return texts as they are."""
    return batch


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """Return NumPy's numbers as a tensor of their dtype."""
    return created(wrap(np.array(batch, dt.from_numpy(batch[0].dtype).np)))

default_collate_fn_map = {Tensor: collate_tensor_fn, np.ndarray: collate_numpy_array_fn,
                          (np.bool_, np.number): collate_numpy_scalar_fn, float: collate_float_fn, int: collate_int_fn,
                          str: collate_str_fn, bytes: collate_str_fn}


def default_collate(batch):
    """Return one batch of a list of samples: tensors and arrays are stacked, numbers become a tensor, containers keep their
    form."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
