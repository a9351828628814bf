"""Methods that change the shape, strides or memory of a tensor in place."""

import itertools
import math
from collections import deque
from typing import Any

import numpy as np

from ....ir.dim_order import inverse, order_of
from ....ir.errors import AutogradError, DeviceError, DTypeError, ShapeError
from ....ir.opdef.op import OPS
from ....ir.ops.core import shape as sh
from ....ir.ops.core.elementwise import copy
from ...autograd.grad_mode import enable_grad
from ...core.device_array import DeviceArray, address_of, zeros_on_device_of
from ...core.node import history_over
from ...core.storage import Storage
from ...core.tensor import Tensor, numel_of, shape_of, whole_of
from ...core.writes import chain_history, chain_of, inverse_chain, keep_gradient
from ...state.mode import tls
from ..register.lazy_methods import put_method
from ..register.memory_formats import format_of, order_of_format, preserve_format
from ..register.register import api
from .conversions import empty_strides
from .reshaping import fill_in, reshape, sizes_of, squeeze, t, transpose, unsqueeze


def become(x: Tensor, view: Tensor, name: str) -> Tensor:
    """Turn x into a view of itself, which is none afterwards. A root stays one, and leads to its older views through the way
    back, if the view has all elements; otherwise older views keep the memory as it was. May be repeated after an interrupt."""
    m = tls.m
    if m.grad and x._node is not None and x.is_leaf:
        raise AutogradError(f"{name}: a leaf tensor that requires grad cannot change its shape in place; do it under no_grad()")
    if m.recorder is not None:
        m.recorder.swaps.reshaping(x, name)
    if view._a is x._a:
        return x
    node = view._node if m.grad or not x.is_leaf else x._node
    changes: list = [(x, "_a", view._a), (x, "_node", node)]
    older = _views_of(x, view) if x._base is None and view._base is x else []
    back = inverse_chain(x.aval, chain_of(view)) if older else None
    if older and back is None:
        view._base = stand_in(x)
        if m.recorder is not None:
            m.recorder.swaps.stood_in(x, view._base)
    if view._base is not x:
        if x._base is None:
            x._storage.add_aliases((x,))
        changes += [(x, "_base", view._base), (x, "_path", view._path)]
    if m.recorder is not None:
        m.recorder.swaps.rebound(x, view, name)
    if back is not None:
        changes += [(t, "_path", _path_behind(back, t)) for t in older]
    changes += [(view, "_base", None), (view, "_path", None)]
    deque(itertools.starmap(setattr, changes), 0)       # all or nothing, as no interrupt comes within an instruction
    if x._retains and x._node is not None:
        keep_gradient(x)
    if back is not None and x._node is not None:
        for t in older:
            if t._node is not None:
                t._node = chain_history(x, chain_of(t))
                if t._retains:
                    keep_gradient(t)
    return x


def _views_of(root: Tensor, but: Tensor) -> list:
    """Return the live views of a root other than one."""
    live = {id(t): t for t in [ref() for ref in root._storage.aliases] if t is not None and t is not but and t._base is root}
    return [*live.values()]


def stand_in(x: Tensor) -> Tensor:
    """Return a tensor that replaces x as the root of the views of x."""
    root = Tensor.__new__(Tensor)
    root._a, root._node, root._storage, root._part_of = x._a, x._node, x._storage, x._part_of
    for ref in x._storage.aliases:
        view = ref()
        if view is not None and view._base is x:
            view._base = root
    return root


def _path_behind(chain: tuple, view: Tensor):
    """Return the path to a view behind a chain that leads to its base."""
    path: Any = None
    for name, items in (*chain, *view._chain):
        path = path, OPS[name], dict(items)
    return path


def _seen_with_history(fn, x, *args, **kwargs):
    """Return fn's view of a tensor with its history also under no_grad(), as the values are the same."""
    if tls.m.grad or x.is_leaf:
        return fn(x, *args, **kwargs)
    with enable_grad():
        return fn(x, *args, **kwargs)


def _restriding(fn):
    name = fn.__name__ + "_"

    def method(self, *args, **kwargs):
        return become(self, _seen_with_history(fn, self, *args, **kwargs), name)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"In-place version of {fn.__name__}()."
    put_method(name, method)


for _fn in (squeeze, unsqueeze, t, transpose):
    _restriding(_fn)
for _name in ("swapaxes_", "swapdims_"):
    put_method(_name, Tensor.transpose_)


def flattened_storage(root: Tensor) -> Tensor:
    """Return all elements of a tensor without base in memory order, as a view."""
    a = root._a
    if a.flags.c_contiguous:
        return reshape(root, -1)
    order = tuple(sorted(range(a.ndim), key=lambda d: -a.strides[d]))
    if not a.transpose(order).flags.c_contiguous:
        raise ShapeError(f"the memory behind this tensor (shape {list(a.shape)}, strides {a.strides} in bytes) has gaps, so it "
                         "cannot be addressed element by element; use contiguous() first")
    return reshape(sh.permute(root, dims=order), -1)


def own_offset(x: Tensor) -> int:
    """Return the number of elements before x's first in its memory."""
    whole = whole_of(x)
    if tls.m.recorder is not None:
        tls.m.recorder.layouts.offset_read(x, whole is x)
    return 0 if whole is x else (address_of(x._a) - address_of(whole._a)) // x._a.itemsize


@api(function=False)
def storage_offset(self) -> int:
    """Return the number of elements in the storage before this tensor's first."""
    return own_offset(self)


@api(checked=True)
def as_strided(input, size, stride, storage_offset=None):
    """Return any strided window over the memory of a tensor."""
    offset = own_offset(input) if storage_offset is None else storage_offset
    shape, strides = sizes_of((size,)), sizes_of((stride,))
    if tls.m.sizes is not None:
        _ = strides == empty_strides(shape)     # record it: contiguous() is the tensor itself only for a row-major window
    root: Any = input if input._base is None else input._base
    if root._part_of is not None:
        root, offset = _seen_from(root, shape, strides, offset, input.dtype.itemsize)
    flat = flattened_storage(root)
    flat = flat if flat.dtype is input.dtype else flat.view(input.dtype)
    return sh.as_strided(flat, shape=shape, strides=strides, offset=offset)


def _seen_from(root: Tensor, shape, strides, offset, itemsize):
    """Return the base of a window and its offset there: `root` if the window lies in it, else the memory that contains
    `root`."""
    start = own_offset(root) * root.dtype.itemsize // itemsize
    stop = start + numel_of(root) * root.dtype.itemsize // itemsize
    end = offset + sum([(n - 1) * s for n, s in zip(shape, strides)])
    if root._a.flags.c_contiguous and start <= offset and end < stop:
        return root, offset - start
    if root._node is not None:
        raise AutogradError(f"as_strided: a window from element {offset} on leaves the part of the memory that this tensor has "
                            f"(elements {start} to {stop - 1}), which its history cannot tell of; detach() it")
    whole = root._part_of.detach()
    if whole._storage is not root._storage:
        if tls.m.recorder is not None:
            tls.m.recorder.refuse("it looks past the part of the memory that a tensor has", "do that outside of the function")
        whole._storage = root._storage      # its version counts writes to this window
    return whole, offset


@api(checked=True)
def as_strided_(input, size, stride, storage_offset=None):
    """Turn this tensor into a strided window over its memory."""
    return become(input, _seen_with_history(as_strided, input, size, stride, storage_offset), "as_strided_")


@api(function=False)
def resize_(self, *sizes, memory_format=None):
    """Change the shape, over the same memory from this tensor's first element on, or over more of it. New elements are zeros.
    They lie in the order of a memory format, or row by row."""
    shape = fill_in(sizes_of(sizes), numel_of(self), "resize_")
    if self._node is not None:
        raise AutogradError("resize_: a tensor that requires grad cannot be resized; use reshape()")
    order = None if memory_format is None else order_of_format(format_of(memory_format), shape)
    return self if shape == shape_of(self) and memory_format is None else _resized(self, shape, order, True)


def _resize_over(self, shape):
    """Resize a tensor that is overwritten as a whole next, so elements cut off or new need no values."""
    if self._node is not None:
        raise AutogradError("resize_: a tensor that requires grad cannot be resized; use reshape()")
    _resized(self, shape, None, False)


put_method("_resize_over", _resize_over)


def _resized(self: Tensor, shape: tuple, order: tuple | None, keeps_rest: bool):
    n = math.prod(shape)
    laid = _in_memory_order(self)
    fits = n <= numel_of(self) and laid._a.flags.c_contiguous
    del laid            # the root keeps its memory only if nothing else refers to it
    if fits:
        return _shortened(self, n, shape, order, keeps_rest)
    is_known = not keeps_rest and self._base is None
    usable = min(n, numel_of(self)) if is_known else _room(self)
    if n <= usable and not is_known:
        return become(self, _in_order(sh.slice_(_from_here_on(self), dim=0, start=0, step=1, stop=n), shape, order), "resize_")
    there = reshape(_in_memory_order(self), -1) if is_known else _from_here_on(self)
    there = sh.slice_(there, dim=0, start=0, step=1, stop=usable)
    if tls.m.recorder is not None:
        memory_shape = shape if order is None else tuple([shape[d] for d in order])
        if not usable:
            made = sh.full(self, shape=memory_shape, value=0, dtype=self.dtype)
        else:
            more = sh.full(self, shape=(n - usable,), value=0, dtype=self.dtype)
            made = copy(reshape(sh.cat(there, more, dim=0), memory_shape))
        return set_(self, made if order is None else sh.permute(made, dims=inverse(order)))
    grown = zeros_on_device_of(self._a, (n,) if order else shape)
    grown.reshape(-1)[:usable] = there._a
    _rebind(self, grown)
    return become(self, _in_order(self, shape, order), "resize_") if order else self


def _shortened(x: Tensor, n: int, shape: tuple, order: tuple | None, keeps_rest: bool):
    """Shrink x to its first n elements; if the rest is kept, it returns when x grows."""
    keeps_rest = keeps_rest and x._base is None and x._part_of is None and n < numel_of(x)
    whole = x.detach() if keeps_rest else None
    become(x, _in_order(sh.slice_(reshape(_in_memory_order(x), -1), dim=0, start=0, step=1, stop=n), shape, order), "resize_")
    if whole is not None and x._base is None:
        x._part_of = whole
    return x


def _from_here_on(x: Tensor) -> Tensor:
    """Return all elements of x's memory from its first on, as a view with one dimension."""
    return as_strided(x if x._base is None or x._base._node is None else x.detach(), (_room(x),), (1,), own_offset(x))


def _room(x: Tensor):
    """Return the number of elements in x's memory from its first on."""
    whole = whole_of(x)
    return numel_of(whole) * whole.dtype.itemsize // x.dtype.itemsize - own_offset(x)


def _in_order(flat: Tensor, shape: tuple, order: tuple | None) -> Tensor:
    """Return consecutive elements in a shape whose dims follow each other in memory in an order."""
    if order is None:
        return reshape(flat, shape)
    return sh.permute(reshape(flat, tuple([shape[d] for d in order])), dims=inverse(order))


def _in_memory_order(x: Tensor):
    """Return a view with the dims in memory order."""
    order = order_of(x._a)
    return x if order is None else sh.permute(x, dims=order)


def _rebind(x: Tensor, a) -> Tensor:
    fresh = Tensor.__new__(Tensor)
    fresh._a, fresh._node, fresh._storage = a, None, Storage()
    if tls.m.recorder is not None:
        tls.m.recorder.created(fresh)
    return set_(x, fresh)


@api(function=False)
def resize_as_(self, the_template, memory_format=None):
    """Resize to another tensor's shape; with `preserve_format` also to its order of dims."""
    shape, order = shape_of(the_template), order_of(the_template._a)
    if memory_format is None or format_of(memory_format) is not preserve_format or order is None:
        return resize_(self, shape, memory_format=None if memory_format is preserve_format else memory_format)
    resize_(self, (numel_of(the_template),))
    return become(self, _in_order(self, shape, order), "resize_as_")


def window_of(t: Tensor) -> tuple:
    """Return what `set_()` takes of a tensor."""
    return t._a, t._storage, t._base, t._path, t._part_of


def take_window(x: Tensor, window: tuple):
    """Do `x.set_(...)`: older views of x keep its old memory."""
    root = stand_in(x) if x._base is None else None
    x._node = history_over(x._node, x._a, window[0])
    x._a, x._storage, x._base, x._path, x._part_of = window
    if x._base is x:
        x._base = root
    if x._base is not None:
        x._storage.add_aliases((x,))


@api(function=False)
def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Make this tensor a window on another tensor's memory or a storage; on none without a source. The window is the whole
    memory, or starts at an offset and has these sizes and strides (row-major by default)."""
    if source is None:
        return _rebind(self, np.zeros(0, self._a.dtype))
    if hasattr(source, "elements"):
        source = source.elements(getattr(source, "dtype", self.dtype))
    if not isinstance(source, Tensor):
        raise DTypeError(f"set_ takes a tensor or a storage, got {type(source).__name__}")
    if size is not None:
        shape = sizes_of((size,))
        source = as_strided(source.detach(), shape, empty_strides(shape) if stride is None else stride, storage_offset)
    if source._a.dtype != self._a.dtype:
        raise DTypeError(f"set_: the source is {source.dtype.name} and this tensor {self.dtype.name}; they must agree")
    if self._node is not None and tls.m.grad:
        raise AutogradError("set_: a tensor that requires grad cannot change its memory; do it under no_grad()")
    if tls.m.recorder is not None:
        tls.m.recorder.swaps.reshaping(self, "set_")
    take_window(self, window_of(source))
    if tls.m.recorder is not None:
        tls.m.recorder.swaps.rebound(self, source, "set_")
    return self


@api(function=False)
def record_stream(self, stream):
    """Keep the memory of this tensor from reuse until work in a stream is done."""
    if self._a.__class__ is not DeviceArray:
        raise DeviceError(f"record_stream is for tensors on a device, this one is on {self.device}")
    self._a.memory.used_on(stream.cuda_stream)
