"""Indexing `x[...]` and its assignment: keys as views, masks and index tensors."""

from collections.abc import Iterator

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, DimError, DTypeError, ShapeError
from ....ir.interrupts import is_of_call, raise_interrupt
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import reduce as rd
from ....ir.ops.core import shape as sh
from ....ir.ops.index import indexing as ix
from ....ir.symbols.substitute import slice_bounds
from ...core.creation import as_array_tensor
from ...core.device_array import DeviceArray
from ...core.dispatch import as_view, look, looks
from ...core.inplace import SMALL, computed_into, is_small, write_over
from ...core.placement import indices_on_device_of, on_device_of
from ...core.tensor import Tensor, numel_of, shape_of, wrap
from ...core.writes import is_plain, stands_for_number, write, wrote_plainly
from ...state.messages import warn
from ...state.mode import is_reentry, tls
from ..register.register import store
from ..register.torch_function import ask_operand, asks
from ..register.type_promotion import to_dtype
from .tensor_factories import created, known, tensor

_WHOLE = slice(None)
_ndarray = np.ndarray


def count_of(mask) -> int:
    """Return the number of nonzero elements, as a number that Python has read."""
    if tls.m.recorder is None and mask._a.__class__ is not DeviceArray:
        return int(np.count_nonzero(mask._a))
    hits = ew.cast(ew.ne(mask, 0), dtype=dt.int64)
    return rd.sum_(hits, dim=tuple(range(mask.ndim)), keepdim=False).item()


def positions_of(mask) -> tuple:
    """Return the positions of a mask's true elements, one index tensor for each dimension."""
    return ix.nonzero.call(mask, count=count_of(mask))


# Reading a key.


def _bound(i):
    """Return the bound of a slice as a number that Python has read."""
    return i.item() if isinstance(i, Tensor) and i._a.size == 1 and i.dtype.is_integer else i


def _int_view(x, dim, i):
    n = shape_of(x)[dim]
    if not -n <= i < n:
        raise DimError(f"index {i} is out of range for dimension {dim} with size {n}")
    return look(sh.select, x, {"dim": dim, "index": i + n if i < 0 else i})


def _slice_view(x, dim, s):
    n = shape_of(x)[dim]
    if isinstance(s.start, Tensor) or isinstance(s.stop, Tensor):
        s = slice(_bound(s.start), _bound(s.stop), s.step)
    step = 1 if s.step is None else s.step.__index__()
    if step <= 0:
        raise ArgumentError(f"slice step must be positive, got {step}; use flip() for the other direction")
    start, stop, step = slice_bounds(s, n)
    return look(sh.slice_, x, {"dim": dim, "start": min(start, n), "step": step, "stop": max(start, stop)})


def _unsqueezed(x, dim):
    shape = shape_of(x)
    return look(sh.reshape, x, {"shape": shape[:dim] + (1,) + shape[dim:]})


def _is_bool(k) -> bool:
    return isinstance(k, (bool, np.bool_)) or (isinstance(k, Tensor) and k._a.dtype.kind == "b")


def _index_tensor(k):
    """Return a list, array or tensor of a key as a tensor of integers or bools."""
    k = known(k)
    if tls.m.recorder is not None and type(k) is list and any(map(stands_for_number, k)):
        k = tensor(k)
    t = k if isinstance(k, Tensor) else created(as_array_tensor(k if isinstance(k, np.ndarray) else np.asarray(_plain(k))))
    if not isinstance(k, Tensor) and t.dtype.is_inexact and numel_of(t) == 0:
        t = ew.cast(t, dtype=dt.int64)
    if t.dtype is dt.uint8:
        t = ew.ne(t, 0)
    if t.dtype.is_inexact:
        raise DimError(f"tensors used as indices must be integers or bools, got {t.aval}")
    return t


def _plain(k):
    """Return a list of a key with its tensors read as numbers."""
    return [_plain(v) if isinstance(v, (list, tuple)) else v.tolist() if isinstance(v, Tensor) else v for v in k]


_ARRAYS = (list, tuple, range, np.ndarray)
_SHORT = 32     # lists with this many entries or more are one index


def _width(k) -> int:
    """Return how many dimensions one part of a key takes."""
    if k is None or k is Ellipsis or isinstance(k, bool):
        return 0
    return k.ndim if isinstance(k, Tensor) and k.dtype is dt.bool_ else 1


def _is_plain(k) -> bool:
    """Return whether a part of a key is an int, a slice or an integer tensor, which all take one dimension."""
    what = k.__class__
    return what is int or what is slice or (what is Tensor and k._a.dtype.kind == "i")


def _parts(x, key) -> list:
    """Return the parts of a key with its Ellipsis spelled out as whole dimensions."""
    if len(key) <= x._a.ndim and all([_is_plain(k) for k in key]):  # noqa: C419  (quicker than a generator)
        return list(key)
    parts = [_index_tensor(k) if isinstance(k, _ARRAYS) or getattr(k, "dtype", None) is dt.uint8 else k for k in key]
    used = sum(map(_width, parts))
    if used > x.ndim:
        raise DimError(f"too many indices: {used} for a tensor of {x.ndim} dimensions (shape {list(x.shape)})")
    at = [i for i, k in enumerate(parts) if k is Ellipsis]
    if len(at) > 1:
        raise DimError("an index can have only one ellipsis (...)")
    if at:
        parts[at[0]:at[0] + 1] = [_WHOLE] * (x.ndim - used)
    return parts


def _is_parts(key) -> bool:
    """Return whether a key has a part for each dimension: a tuple, or, as in PyTorch, a short list that holds not only
    numbers."""
    if type(key) is not list or len(key) >= _SHORT:
        return type(key) is tuple
    if any(k is None or k is Ellipsis or type(k) is slice for k in key):
        return True
    if not any(isinstance(k, (Tensor, *_ARRAYS)) for k in key):
        return False
    warn("a list of lists or tensors is read as a tuple of indices, as in PyTorch: write x[a, b] for x[[a, b]], or "
         "x[tensor([a, b])] if it is to be one index")
    return True


def resolve(x, key):
    """Return the view of x that a key's ints, slices and Nones make, and the index tensors (or Nones) still to apply."""
    parts = _parts(x, key if _is_parts(key) else (key,))
    indices, dim = [], 0
    for k in parts:
        if k is None:
            x = _unsqueezed(x, dim)
            indices.append(None)
        elif type(k) is slice:
            if k != _WHOLE:
                x = _slice_view(x, dim, k)
            indices.append(None)
        elif k.__class__ is int:
            x = _int_view(x, dim, k)
            continue
        elif _is_bool(k):
            x, found = _mask_part(x, dim, k)
            indices.extend(found)
            dim += len(found) - 1
        elif isinstance(k, Tensor) and (k.ndim or k.dtype.is_inexact or (
                tls.m.batched is not None and k._a.__class__ is DeviceArray)):      # it may differ between samples of a vmap
            indices.append(_index_tensor(k))
        else:
            x = _int_view(x, dim, _as_int(k))
            continue
        dim += 1
    while indices and indices[-1] is None:
        indices.pop()
    return x, indices_on_device_of(indices, x)


def _as_int(k) -> int:
    if k.__class__ is int:
        return k
    try:
        return k.__index__() + 0        # (which may be a bool)
    except AttributeError as error:
        if not is_of_call(error):
            raise
        raise DimError("only integers, slices, None, Ellipsis, and tensors, arrays or lists of integers or bools can be "
                       f"indices, got {type(k).__name__}{f' {k!r}' if isinstance(k, (float, str)) else ''}") from None


def _mask_part(x, dim, mask):
    """Return x and the index tensors for a bool (tensor); one without dimensions adds a dimension to x."""
    if not isinstance(mask, Tensor):
        mask = created(as_array_tensor(np.asarray(mask)))
    if not mask.ndim:
        return _unsqueezed(x, dim), positions_of(sh.reshape(mask, shape=(1,)))
    shape = shape_of(x)[dim:dim + mask.ndim]
    if shape_of(mask) != shape:
        raise DimError(f"the shape of the mask {list(mask.shape)} does not match the indexed shape {list(shape)} (of a tensor "
                       f"of shape {list(x.shape)}, from dimension {dim})")
    if mask.ndim > 1 and x._a.flags.c_contiguous:    # one index vector over the merged dimensions, still a view
        n = numel_of(mask)
        x = sh.reshape(x, shape=shape_of(x)[:dim] + (n,) + shape_of(x)[dim + mask.ndim:])
        mask = sh.reshape(mask, shape=(n,))
    return x, positions_of(mask)


# Reading.


def _quick_view(x, key):
    """Return x[key] in one step for plain ints, slices, Nones and Ellipsis; None for other keys. No history and no recorder may
    need the single steps."""
    a, m, path, dim, dots = x._a, tls.m, x._path, 0, False
    shape = a.shape
    if m.special or (m.grad and x._node is not None) or a.__class__ is not _ndarray:
        return None
    for i, k in enumerate(key):
        if k is None:
            shape = (*shape[:dim], 1, *shape[dim:])
            path = path, sh.reshape, {"shape": shape}
            dim += 1
            continue
        if k is Ellipsis:
            taken = len([part for part in key[i + 1:] if part is not None])
            if dots or len(shape) - taken < dim:
                return None
            dots, dim = True, len(shape) - taken
            continue
        if dim >= len(shape):
            return None
        n = shape[dim]
        if k.__class__ is int:
            if not -n <= k < n:
                return None
            path = path, sh.select, {"dim": dim, "index": k if k >= 0 else k + n}
            shape = shape[:dim] + shape[dim + 1:]
            continue
        if k.__class__ is not slice or not (k.step is None or (k.step.__class__ is int and k.step > 0)):
            return None
        if k != _WHOLE:
            start, stop, step = k.indices(n)
            path = path, sh.slice_, {"dim": dim, "start": start, "step": step, "stop": stop if stop > start else start}
            shape = (*shape[:dim], len(range(start, stop, step)), *shape[dim + 1:])
        dim += 1
    return None if path is x._path else as_view(x, a[key if dots else (*key, ...)], path)


def _basic_view(x, key):
    """Return x[key] for plain ints, slices and at most one Ellipsis; None for other keys."""
    used, dots = 0, 0
    for k in key:
        if type(k) is int or type(k) is slice:
            used += 1
        elif k is Ellipsis:
            dots += 1
        else:
            return None
    if dots > 1 or used > x._a.ndim:
        return None
    dim, left = 0, used
    for k in key:
        if k is Ellipsis:
            dim = x._a.ndim - left
            continue
        left -= 1
        if type(k) is int:
            x = _int_view(x, dim, k)
            continue
        if k != _WHOLE:
            x = _slice_view(x, dim, k)
        dim += 1
    return x


def _plain_indices(a, key) -> list | None:
    """Return the index tensors of a key that holds only these and whole dimensions (None); None for other keys."""
    found: list = []
    for k in key if len(key) <= a.ndim else ():
        if k.__class__ is Tensor and k._a.dtype.kind == "i" and k._a.ndim and k._a.__class__ is a.__class__:
            found.append(k)
        elif k.__class__ is slice and k == _WHOLE:
            found.append(None)
        else:
            return None
    while found and found[-1] is None:
        found.pop()
    return found


def _is_quick_mask(x, mask) -> bool:
    """Return whether NumPy alone may read x by a mask: x is small, nothing records, and values come in row-major order."""
    a, b, m = x._a, mask._a, tls.m
    return (b.dtype.kind == "b" and b.__class__ is _ndarray and a.__class__ is _ndarray and 0 < b.ndim <= a.ndim
            and not m.special and (x._node is None or not m.grad) and a.size <= SMALL and a.flags.c_contiguous
            and a.shape[:b.ndim] == b.shape)


def getitem(self, key):
    """Return x[key]: a view for ints, slices, None and Ellipsis; a copy once masks or index tensors take part."""
    kind = type(key)
    if kind is int:
        a, m = self._a, tls.m
        if a.__class__ is _ndarray and a.ndim and -(n := a.shape[0]) <= key < n and not m.special and (
                self._node is None or not m.grad):
            return as_view(self, a[key, ...], (self._path, sh.select, {"dim": 0, "index": key if key >= 0 else key + n}))
        shape = shape_of(self)
        if shape and -shape[0] <= key < shape[0]:
            return look(sh.select, self, {"dim": 0, "index": key if key >= 0 else key + shape[0]})
        raise DimError(f"index {key} is out of range for dimension 0 with size {shape[0]}" if shape else
                       "a 0-d tensor cannot be indexed by a number; use item()")
    if kind is slice and self._a.ndim:
        a, m = self._a, tls.m
        if key.step is not None or a.__class__ is not _ndarray or m.special or (m.grad and self._node is not None):
            return _slice_view(self, 0, key)
        start, stop, _ = key.indices(a.shape[0])
        stop = stop if stop > start else start
        return as_view(self, a[start:stop], (self._path, sh.slice_, {"dim": 0, "start": start, "step": 1, "stop": stop}))
    if key is None:
        return _unsqueezed(self, 0)
    if kind is Tensor and key._a.dtype.kind == "i" and key._a.ndim and self._a.ndim and key._a.__class__ is self._a.__class__:
        return ix.index.call(self, key)
    if kind is Tensor and _is_quick_mask(self, key):
        return wrap(self._a[key._a])
    if kind is tuple:
        view = _quick_view(self, key)
        if view is None:
            indices = _plain_indices(self._a, key)
            if indices:
                return ix.index.call(self, *indices)
            view = _basic_view(self, key)
        if view is not None and view is not self:
            return view
    elif kind is not Tensor and not isinstance(key, Tensor) and asks(key):
        return ask_operand("__getitem__", self, key)
    view, indices = resolve(self, key)
    if indices:
        return ix.index.call(view, *indices)
    return sh.reshape(view, shape=shape_of(view)) if view is self else view


# Writing.


def setitem(self, key, value) -> None:
    """Write x[key] = value, broadcasting and converting the value."""
    if _set_plainly(self, key, value):
        return
    if _is_mask_of(self, key) and _is_single(value):
        filled = ew.where.call(key, _single(value, self.dtype), self)
        write(self, filled, "__setitem__")
        return
    view, indices = resolve(self, key)
    if not isinstance(value, Tensor) and not (isinstance(value, (bool, int, float, complex)) and not indices):
        value = on_device_of(created(as_array_tensor(value, self.dtype)), view)
    if indices:
        given = indices, value, False, "__setitem__"
        written = put(view, *given) if is_small(view._a) else computed_into(view, (ix.index_put,), put, given, {})
        store(view, written, "__setitem__")
    else:
        write(view, _fitting(value, view) if isinstance(value, Tensor) else value, "__setitem__", foreign=True)


def _set_plainly(x, key, value, is_again=False) -> bool:
    """Write x[key] = value by NumPy alone, and return whether that was possible. `is_again` lets errors through.

    The key is a mask of x, or ints, slices and index tensors. The value is a number or has x's dtype. Only x's memory and
    version may change. Values for a mask must be few and outside of x's memory, since NumPy does not check overlaps there.
    """
    m, a = tls.m, x._a
    if not is_plain(x, m):
        return False
    if isinstance(value, Tensor):
        v = value._a
        if v.dtype is not a.dtype or v.__class__ is not _ndarray or (m.grad and value._node is not None):
            return False
    elif (value.__class__ is float or value.__class__ is int) and a.dtype.isbuiltin == 1:
        v = value
    else:
        return False
    try:
        if v is value:
            v = dt.fitted(v, x.dtype, "__setitem__")
        if _is_mask_of(x, key):
            if key._a.__class__ is not _ndarray:
                return False
            if not _is_single(value):
                if v.ndim != 1 or a.size >= SMALL or value._storage is x._storage:
                    return False
                m.run(a.__setitem__, key._a, v)
            elif a.size < SMALL or not write_over(m.run, ew.where, a, (key._a, v, a), {}):
                m.run(np.copyto, a, v, casting="unsafe", where=key._a)
        else:
            at = _plain_key(key)
            if at is None:
                return False
            m.run(a.__setitem__, at, v)
    except (IndexError, ValueError) as error:       # the general path raises the error
        if is_again:
            raise
        raise_interrupt(error, _set_plainly, wrap(a.copy()), key, value, True)
        return False
    except RuntimeError as error:
        if not is_reentry(error):
            raise
        return False
    wrote_plainly(x, "__setitem__")
    return True


def _plain_key(key):
    """Return a key of ints, rising slices and int64 tensors for NumPy; None for other keys."""
    parts = []
    for k in key if key.__class__ is tuple else (key,):
        if k.__class__ is int or k is Ellipsis or (k.__class__ is slice and k.step is None):
            parts.append(k)
        elif isinstance(k, Tensor) and k._a.__class__ is _ndarray and k._a.ndim and k._a.dtype.char in "lq":
            parts.append(k._a)
        else:
            return None
    return tuple(parts)


def _is_mask_of(x, key) -> bool:
    return isinstance(key, Tensor) and key._a.dtype.kind == "b" and shape_of(key) == shape_of(x) and key.ndim > 0


def _is_single(value) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, Tensor) and value.ndim == 0)


def _single(value, dtype):
    return to_dtype(value, dtype) if isinstance(value, Tensor) else dt.fitted(value, dtype, "__setitem__")


def _fitting(value, view):
    """Return a value with surplus leading dimensions of size 1 dropped, as assignment allows."""
    shape, target = shape_of(value), shape_of(view)
    surplus = len(shape) - len(target)
    if surplus > 0 and all(n == 1 for n in shape[:surplus]):
        return sh.reshape(value, shape=shape[surplus:])
    return value


def put(x, indices, value, accumulate, name):
    """Return x with a (broadcast, converted) value written at index tensors."""
    shape = ix.indexed_shape(name, x.aval, [None if i is None else i.aval for i in indices])
    value = to_dtype(value if value._a.ndim else on_device_of(value, x), x.dtype)
    surplus = value.ndim - len(shape)
    if surplus > 0 and all(n == 1 for n in shape_of(value)[:surplus]):
        value = sh.reshape(value, shape=shape_of(value)[surplus:])
    if shape_of(value) != tuple(shape):
        try:
            value = sh.expand(value, shape=tuple(shape))
        except ShapeError:
            raise ShapeError(f"{name}: a value of shape {list(value.shape)} does not broadcast to the indexed shape "
                             f"{list(shape)}") from None
    return ix.index_put.call(x, value, *indices, accumulate=accumulate)


# Iteration.


def iterate(self) -> Iterator[Tensor]:
    """Iterate over the entries along the first dimension."""
    if not self.ndim:
        raise DTypeError("iteration over a 0-d tensor")
    return iter(looks(sh.select, self, [{"dim": 0, "index": i} for i in range(len(self))]))


def contains(self, element) -> bool:
    """Return whether some element equals `element`."""
    if not isinstance(element, (Tensor, bool, int, float, complex)):
        raise DTypeError(f"`in` takes a number or a tensor on its left, got {type(element).__name__}")
    return bool(rd.any_(self == element, dim=tuple(range(self.ndim)), keepdim=False))


def reversed_(self):
    """Return the entries along the first dimension in reverse order."""
    return sh.flip(self, dims=(0,)) if self.ndim else self


Tensor.__getitem__ = getitem
Tensor.__setitem__ = setitem
Tensor.__iter__ = iterate
Tensor.__contains__ = contains
Tensor.__reversed__ = reversed_
