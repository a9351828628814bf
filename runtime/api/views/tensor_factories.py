"""Tensor factories: from data, filled, and like another tensor. Those that count are in `ranges.py`.

Constants are dispatched like any operator, so a recorder sees them; `created` tells it of tensors made from Python data.
"""

from array import array
from itertools import groupby

import numpy as np

from ....ir import dtype as dt
from ....ir.dim_order import inverse
from ....ir.errors import ArgumentError, DTypeError, ShapeError
from ....ir.interrupts import raise_interrupt
from ....ir.lazy import lazy
from ....ir.opdef.aval import integers
from ....ir.opdef.param_checks import check_sizes
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.symbols.symbolic import SymFloat, SymInt
from ...core.creation import array_of, bare
from ...core.device import CPU, META, as_device, require
from ...core.dispatch import kernel_of
from ...core.placement import mark_on, pinned, put
from ...core.tensor import Tensor, shape_of, wrap
from ...core.writes import operand, stands_for_number
from ...state.mode import Defaults, tls
from ..register.layouts import all_alike, require_strided, strided
from ..register.memory_formats import contiguous_format, format_of, order_of_format, requested_order
from ..register.register import FUNCTIONS, api, deliver
from ..register.type_promotion import number_dtype
from .reshaping import sizes_of

tensor_protocols = lazy(__package__, "...interop.tensor_protocols")


def require_device(device):
    """Raise unless `device` is None or names one that can hold tensors."""
    if device is not None:
        require(device)


def dtype_or_default(dtype) -> dt.DType:
    """Return the given dtype, or the default one."""
    return Defaults.dtype if dtype is None else dt.as_dtype(dtype)


def created(t: Tensor) -> Tensor:
    """Tell the recorder of a tensor made from Python data."""
    m = tls.m
    if m.recorder is not None:
        m.recorder.created(t)
    return t


def known(data):
    """Return data as the recorder knows it: an array or list that is an argument of the recorded function is a tensor there."""
    recorder = tls.m.recorder
    if recorder is None or type(data) not in (np.ndarray, list, tuple):
        return data
    found = recorder.argument_array(data)
    return found if found is data or type(data) is np.ndarray else ew.copy.call(found)


def finish(t: Tensor, out, requires_grad: bool, name: str, device=None, pin_memory: bool = False) -> Tensor:
    """Return a new tensor with the caller's options."""
    if device is not None or Defaults.device != "cpu":
        t = put(t, device if out is None else out.device)
    if out is not None:
        return deliver(t, out, name)
    if pin_memory:
        t = _pinned(t)
    return t.requires_grad_() if requires_grad else t


def _pinned(t):
    """Return a new tensor in page-locked memory, which recordings ignore."""
    return t if tls.m.recorder is not None else pinned(t)


def filled(like, shape, value, dtype) -> Tensor:
    """Return a constant on the device of `like` (None for the default device)."""
    for n in shape:
        if n < 0:
            raise ShapeError(f"sizes must not be negative, got {list(shape)}")
    value = dt.fitted(operand(value, dtype), dtype, "full")
    if isinstance(value, Tensor):
        return ew.mul(sh.full.call(like, shape=tuple(shape), value=1, dtype=dtype), value)
    if (type(value) is SymFloat and dtype.is_floating_point) or (       # an operand may change from call to call
            type(value) is SymInt and (dtype.is_floating_point or dtype is dt.int64)):
        kind = dtype if dtype is dt.float32 or dtype is dt.int64 else dt.float64
        made = ew.mul(sh.full.call(like, shape=tuple(shape), value=1, dtype=kind), value)
        return made if kind is dtype else ew.cast.call(made, dtype=dtype)
    return sh.full.call(like, shape=tuple(shape), value=value, dtype=dtype)


def mark_for(device):
    """Return a tensor on `device` beside which a new one is made there directly, or None. None stands for the host, and for an
    accelerator while something records, as the recorder must see the move."""
    if device is None and Defaults.device == "cpu":
        return None
    device = as_device(device)
    if device.type == CPU.type:
        return None
    if device.type == META.type:
        return put(filled(None, (), 0, dt.bool_), META)
    return None if tls.m.recorder is not None else mark_on(device)


def counted(n: int, dtype=dt.int64, mark=None) -> Tensor:
    """Return 0, 1, ... n-1."""
    return sh.iota.call(mark, shape=(n,), dim=0, dtype=dtype)


def _counted_array(n: int, dtype=dt.int64) -> np.ndarray:
    if n < 0:
        check_sizes((n,))
    return np.arange(n, dtype=dtype.np)


def of_counts(fn, *facts, mark=None) -> Tensor:
    """Return fn(count, *facts), where count(n, dtype) gives 0 to n - 1. It computes on arrays where nothing records, which
    takes half the time. `mark` is a tensor beside which it computes."""
    m = tls.m
    if mark is None:
        return fn(counted, *facts) if m.special else wrap(m.quietly(fn, _counted_array, *facts))
    return fn(lambda n, dtype=dt.int64: counted(n, dtype, mark), *facts)


def on_arrays(fn, t, *facts):
    """Return fn(count, t, *facts), tensors of the same device as `t`, by what tensors and arrays have in common. It computes on
    arrays of the host where nothing records, as `of_counts` does."""
    m = tls.m
    if m.special or t._a.__class__ is not np.ndarray:
        return fn(lambda n, dtype=dt.int64: put(counted(n, dtype), t.device), t, *facts)
    found = m.quietly(fn, _counted_array, t._a, *facts)
    return tuple(map(wrap, found)) if type(found) is tuple else wrap(np.asarray(found))


# From data.


class Memory:
    """Memory for tensors of any dtype."""

    def elements(self, dtype) -> Tensor:
        """Return the whole memory as a vector."""
        raise NotImplementedError

    def read_dtype(self, dtype) -> dt.DType:
        """Return the dtype of a tensor made of it, if `dtype` (or None) was requested."""
        raise NotImplementedError


@api(method=False)
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """Return a copy of data as a tensor: nested sequences, numbers, arrays or tensors."""
    require_device(device)
    data = known(data)
    if isinstance(data, Tensor):
        t = ew.copy.call(data.detach())
        t = t if dtype is None else ew.cast.call(t, dtype=dt.as_dtype(dtype))
    elif isinstance(data, Memory):
        t = ew.copy.call(data.elements(data.read_dtype(dtype)))
    else:
        t = _of_data(data, dtype)
    return finish(t, None, requires_grad, "tensor", t.device if device is None and isinstance(data, Tensor) else device,
                  pin_memory)


def _of_data(data, dtype) -> Tensor:
    """Return a tensor of numbers, nested sequences or arrays; numbers may change from call to call."""
    if type(data) is SymFloat:
        return filled(None, (), data, dtype_or_default(dtype))
    if stands_for_number(data):
        return filled(None, (), data, number_dtype(data) if dtype is None else dt.as_dtype(dtype))
    if tls.m.recorder is not None and isinstance(data, (list, tuple)):
        shape, numbers = _flat(data)
        if any(map(stands_for_number, numbers)) and {x.__class__ for x in numbers} <= {int, float}:
            return _of_numbers(numbers, shape, dtype)
    return created(wrap(array_of(data, dtype)))


def _flat(data) -> tuple:
    """Return (shape, elements) of nested sequences; no elements if their lengths differ."""
    shape, level = [len(data)], list(data)
    while level and all(isinstance(x, (list, tuple)) for x in level):
        lengths = set(map(len, level))
        if len(lengths) > 1:
            return (), []
        shape.append(lengths.pop())
        level = [y for x in level for y in x]
    return tuple(shape), level


def _of_numbers(numbers, shape, dtype) -> Tensor:
    """Return a tensor of numbers, some of which may change from call to call."""
    is_float = any(x.__class__ is float for x in numbers)
    d = dt.as_dtype(dtype) if dtype is not None else Defaults.dtype if is_float else dt.int64
    runs = [(changes, list(run)) for changes, run in groupby(numbers, stands_for_number)]
    parts = [part for changes, run in runs for part in (
        [filled(None, (1,), x, d) for x in run] if changes else [created(wrap(array_of(run, d)))])]
    return sh.reshape(sh.cat(*parts, dim=0), shape=shape)


@api(method=False)
def as_tensor(data, dtype=None, device=None):
    """Return data as a tensor, without a copy if it is one already or an aligned array of the right dtype."""
    require_device(device)
    data = known(data)
    if isinstance(data, Tensor):
        t = data if dtype is None or data.dtype is dt.as_dtype(dtype) else ew.cast.call(data, dtype=dt.as_dtype(dtype))
        return t if device is None else put(t, device)
    if isinstance(data, np.ndarray) and data.dtype in dt.BY_NP and (dtype is None or data.dtype == dt.as_dtype(dtype).np):
        return put(_lent(data) if data.flags.aligned else created(wrap(data.copy())), device)
    if isinstance(data, Memory):
        return put(data.elements(data.read_dtype(dtype)), device)
    if hasattr(data, "__cuda_array_interface__"):
        t = tensor_protocols.from_cuda_array(data)
        return put(t if dtype is None else t.to(dtype), t.device if device is None else device)
    return put(_of_data(data, dtype), device)


def _lent(a):
    """Return a tensor over memory that others see."""
    t = created(wrap(bare(a)))
    t._storage.lend()
    return t


@api(method=False)
def asarray(obj, *, dtype=None, device=None, copy=None, requires_grad=None):
    """Return an object as a tensor; `copy` True always copies, False never, None where needed. `requires_grad` False gives a
    tensor without history, None the history of the object."""
    if type(obj).__name__ == "PyCapsule":
        obj = FUNCTIONS["from_dlpack"](obj)
    elif isinstance(obj, (bytes, bytearray)) or (dtype is not None and isinstance(obj, (memoryview, array))):
        obj = _of_buffer(obj, dtype_or_default(dtype))
    if copy:
        t = tensor(obj.detach() if isinstance(obj, Tensor) else obj, dtype=dtype, device=device)
    else:
        t = as_tensor(obj, dtype, device)
        if copy is False and not _shares(t, obj):
            raise ArgumentError(f"asarray(copy=False): this {type(obj).__name__} cannot become a tensor without a copy")
    if requires_grad is None or requires_grad == t.requires_grad:
        return t
    return t.requires_grad_() if requires_grad else t.detach()


def _of_buffer(buffer, dtype) -> np.ndarray:
    """Return the bytes of an object as elements of a dtype."""
    if memoryview(buffer).nbytes % dtype.itemsize:
        raise ArgumentError(f"asarray: {memoryview(buffer).nbytes} bytes are no whole number of elements of {dtype.name}")
    return np.frombuffer(buffer, dtype.np)


def _shares(t, obj) -> bool:
    source = obj._a if isinstance(obj, Tensor) else obj
    return isinstance(source, np.ndarray) and (source.size == 0 or np.may_share_memory(source, t._a))


@api(method=False)
def from_numpy(ndarray):
    """Return a tensor over the memory of a numpy array."""
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(f"from_numpy takes a numpy array, got {type(ndarray).__name__}; use as_tensor() for other data")
    dt.from_numpy(ndarray.dtype)
    if not ndarray.dtype.isnative:
        raise DTypeError(f"from_numpy takes arrays in native byte order, got {ndarray.dtype.name}; convert with .astype()")
    t = known(ndarray)
    return t if isinstance(t, Tensor) else _lent(tensor_protocols.aligned(ndarray, "from_numpy"))


@api(method=False)
def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """Return a tensor over the memory of an object with the buffer protocol."""
    kind = dt.as_dtype(dtype).np
    try:
        a = np.frombuffer(buffer, kind, count, offset)
    except ValueError as e:
        raise_interrupt(e, np.frombuffer, buffer, kind, count, offset)
        raise ArgumentError(f"frombuffer(dtype={dt.as_dtype(dtype)}, count={count}, offset={offset}): {e}") from None
    t = _lent(tensor_protocols.aligned(a, "frombuffer"))
    return t.requires_grad_() if requires_grad else t


# Constants.


def _constant(sizes, size, value, dtype, device, out, requires_grad, pin_memory, layout=None):
    require_device(device)
    shape = sizes_of(sizes if size is None else (size,))
    if layout is not None and layout != strided:
        return all_alike(shape, value, layout, dtype_for(dtype, out), device, requires_grad)
    return finish(filled(mark_for(device), shape, value, dtype_for(dtype, out)), out, requires_grad, "out=", device, pin_memory)


@api(method=False)
def zeros(*sizes, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a tensor of zeros."""
    return _constant(sizes, size, 0, dtype, device, out, requires_grad, pin_memory, layout)


@api(method=False)
def ones(*sizes, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a tensor of ones."""
    return _constant(sizes, size, 1, dtype, device, out, requires_grad, pin_memory, layout)


@api(method=False)
def empty(*sizes, size=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
          memory_format=None):
    """Return a tensor without defined values (ingot writes zeros)."""
    shape = sizes_of(sizes if size is None else (size,))
    order = None if memory_format is None else order_of_format(format_of(memory_format), shape)
    if order is None:
        return _constant((), shape, 0, dtype, device, out, requires_grad, pin_memory, layout)
    t = _constant((), [shape[d] for d in order], 0, dtype, device, None, False, pin_memory)
    return finish(_in_dim_order(t, inverse(order)), out, requires_grad, "empty", device)


@api(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return an empty tensor with given strides."""
    require_strided("empty_strided", layout)
    require_device(device)
    if len(size) != len(stride):
        raise ShapeError(f"empty_strided takes as many strides as sizes, got {list(size)} and {tuple(stride)}")
    reach = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
    flat = filled(mark_for(device), (reach,), 0, dtype_or_default(dtype))
    t = sh.as_strided(flat, shape=tuple(size), strides=tuple(stride), offset=0)
    return finish(t, None, requires_grad, "empty_strided", device, pin_memory)


def dtype_for(dtype, out) -> dt.DType:
    """Return the given dtype, else that of `out`, else the default one."""
    return out.dtype if dtype is None and out is not None else dtype_or_default(dtype)


def number_of(x):
    """Return the value of a tensor or NumPy number of one element; other numbers as they are."""
    return x.item() if isinstance(x, (Tensor, np.generic)) else x


@api(method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a tensor of one value; the default dtype follows the kind of the value."""
    require_strided("full", layout)
    require_device(device)
    value = number_of(fill_value)
    if dtype is None:
        dtype = number_dtype(value) if out is None else out.dtype
    made_there = filled(mark_for(device), sizes_of((size,)), value, dt.as_dtype(dtype))
    return finish(made_there, out, requires_grad, "full", device, pin_memory)


@api(method=False)
def scalar_tensor(s, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a 0-d tensor of the default dtype."""
    require_strided("scalar_tensor", layout)
    require_device(device)
    t = filled(mark_for(device), (), number_of(s), dtype_or_default(dtype))
    return finish(t, None, requires_grad, "scalar_tensor", device, pin_memory)


@api(method=False)
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return a matrix with ones on the diagonal, zeros elsewhere."""
    require_strided("eye", layout)
    require_device(device)
    n, m = integers((n, n if m is None else m), "sizes of eye()")
    if n < 0 or m < 0:
        raise ShapeError(f"eye: sizes must not be negative, got {n} and {m}")
    d = dtype_for(dtype, out)
    run, mark = tls.m, mark_for(device)
    plain = mark is None and not run.special
    ones = wrap(run.quietly(_diagonal_array, n, m, d)) if plain else of_counts(_diagonal, n, m, d, mark=mark)
    return finish(ones, out, requires_grad, "eye", device, pin_memory)


def _diagonal(count, n, m, d):
    return ew.cast.call(count(n)[:, None] == count(m)[None], dtype=d)


def _diagonal_array(n, m, d):
    a = kernel_of(sh.full)(None, shape=(n, m), value=0, dtype=d)
    a.reshape(-1)[: min(n, m) * m : m + 1] = 1
    return a


# Like another tensor.


def _like(input, shape, value, dtype, device, requires_grad, pin_memory, layout, memory_format=contiguous_format):
    require_device(device)
    if layout is not None and layout != strided:
        return all_alike(shape, value, layout, dtype or input.dtype, device or input.device, requires_grad)
    order = requested_order(input, format_of(memory_format))
    if order is not None:
        shape = tuple([shape[d] for d in order])
    there = input if device is None or as_device(device).type == input.device.type else None
    t = filled(there, shape, value, input.dtype if dtype is None else dt.as_dtype(dtype))
    t = t if device is None else put(t, device)
    t = _pinned(t) if pin_memory else t
    t = t if order is None else _in_dim_order(t, inverse(order))
    return t.requires_grad_() if requires_grad else t


def _in_dim_order(t, order):
    """Return a new tensor with its dims in another order, which is no view. Only a recorder learns how it lies in memory."""
    return sh.permute(t, dims=order).detach() if tls.m.special else wrap(t._a.transpose(order))


@api(method=False, checked=True)
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Return zeros with the shape and dtype of another tensor."""
    return _like(input, shape_of(input), 0, dtype, device, requires_grad, pin_memory, layout, memory_format)


@api(method=False, checked=True)
def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Return ones with the shape and dtype of another tensor."""
    return _like(input, shape_of(input), 1, dtype, device, requires_grad, pin_memory, layout, memory_format)


@api(method=False, checked=True)
def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, pin_memory=False):
    """Return a tensor without defined values, with the shape and dtype of another."""
    return _like(input, shape_of(input), 0, dtype, device, requires_grad, pin_memory, layout, memory_format)


@api(method=False, checked=True)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None,
              pin_memory=False):
    """Return a tensor of one value with the shape and dtype of another."""
    return _like(input, shape_of(input), number_of(fill_value), dtype, device, requires_grad, pin_memory, layout, memory_format)


@api(function=False)
def new_zeros(self, *sizes, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Return zeros with this tensor's dtype."""
    return _like(self, sizes_of(sizes if size is None else (size,)), 0, dtype, device, requires_grad, pin_memory, layout)


@api(function=False)
def new_ones(self, *sizes, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Return ones with this tensor's dtype."""
    return _like(self, sizes_of(sizes if size is None else (size,)), 1, dtype, device, requires_grad, pin_memory, layout)


@api(function=False)
def new_empty(self, *sizes, size=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Return a tensor without defined values, with this tensor's dtype."""
    return _like(self, sizes_of(sizes if size is None else (size,)), 0, dtype, device, requires_grad, pin_memory, layout)


@api(function=False)
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Return a tensor of one value with this tensor's dtype."""
    return _like(self, sizes_of((size,)), number_of(fill_value), dtype, device, requires_grad, pin_memory, layout)


@api(function=False)
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """Return a copy of data with this tensor's dtype."""
    require_strided("new_tensor", layout)
    return tensor(data, dtype=self.dtype if dtype is None else dtype, device=self.device if device is None else device,
                  requires_grad=requires_grad, pin_memory=pin_memory)


@api(function=False)
def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return an empty tensor with given strides; its default dtype is this tensor's."""
    require_strided("new_empty_strided", layout)
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad,
                         pin_memory=pin_memory)


@api(method=False)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Return an empty tensor with a given order of dims in memory, outermost first."""
    require_strided("empty_permuted", layout)
    if sorted(physical_layout) != list(range(len(size))):
        raise ArgumentError(f"physical_layout must name each of {len(size)} dimensions once, got {tuple(physical_layout)}")
    stride, step = [0] * len(size), 1
    for d in reversed(physical_layout):
        stride[d] = step
        step *= max(1, size[d])
    return empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


@api(method=False)
def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False):
    """Map a file of numbers as a tensor. If `shared`, writes reach the file, which grows to the size. Otherwise they change
    only the tensor."""
    require_strided("from_file", layout)
    require_device(device)
    if pin_memory:
        raise ArgumentError("from_file: memory that shows a file cannot be pinned; call pin_memory() for a pinned copy")
    kind = dtype_or_default(dtype).np
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), size * kind.itemsize))
    mapped = np.memmap(filename, kind, "r+" if shared else "c", shape=(size,)) if size else np.empty(0, kind)
    return FUNCTIONS["from_numpy"](np.asarray(mapped))
