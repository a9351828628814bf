"""Copies and conversions, and questions about a tensor's memory."""

from itertools import pairwise
from typing import Any

from ....ir import dtype as dt
from ....ir.dim_order import agreed
from ....ir.errors import DimError, DTypeError, ShapeError
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core import shape as sh
from ....ir.ops.index.assign import assign_view
from ....ir.package_name import in_full
from ...core.creation import as_array_tensor
from ...core.device import EVERYWHERE, Device
from ...core.device_array import address_of, place_of, shown_address
from ...core.placement import is_page_locked, move_to, pinned
from ...core.tensor import Tensor, numel_of, shape_of
from ...core.writes import is_plain, write, wrote_plainly
from ...state.mode import Defaults, tls
from ..register.layouts import strided
from ..register.memory_formats import MemoryFormat, contiguous_format, format_of, in_dim_order, preserve_format, requested_order
from ..register.register import api
from .tensor_factories import created, filled


@api(function=False, checked=False)
def is_contiguous(self, memory_format=contiguous_format) -> bool:
    """Return whether the elements lie in memory in row-major order (or in the given format)."""
    if tls.m.sizes is not None:
        _has_ones(self)         # a condition of the recording
    if memory_format is contiguous_format:
        return self._a.flags.c_contiguous
    a, order = self._a, format_of(memory_format).order
    if order is None:
        return a.flags.c_contiguous
    return a.ndim == len(order) and a.transpose(order).flags.c_contiguous


@api(function=False, checked=False)
def contiguous(self, memory_format=contiguous_format):
    """Return this tensor if its memory is in row-major order (or in the given format), else a copy that is."""
    return self if is_contiguous(self, memory_format) else _in_format(self, memory_format)


@api(checked=False)
def clone(input, *, memory_format=preserve_format):
    """Return a copy in new memory."""
    return ew.copy(input) if format_of(memory_format) is preserve_format else _in_format(input, memory_format)


def _in_format(x, memory_format):
    return in_dim_order(x, requested_order(x, format_of(memory_format)))


@api(function=False)
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=preserve_format):
    """Convert this tensor to another dtype or device: to(dtype), to(device, dtype) or to(other)."""
    for position, x in enumerate(args):
        if isinstance(x, Tensor):
            dtype, device = x.dtype, x.device
        elif isinstance(x, bool):
            non_blocking, copy = (x, copy) if bool not in map(type, args[:position]) else (non_blocking, x)
        elif x is None or isinstance(x, (str, int)) or isinstance(getattr(x, "type", None), str):
            device = x
        else:
            dtype = x
    here = self
    if device is not None:
        device = device if isinstance(device, (str, int, Device)) else str(device)
        here = move_to(self, device, not non_blocking)
    target = self.dtype if dtype is None else dt.as_dtype(dtype)
    if target is not self.dtype:
        result = ew.cast(here, dtype=target)
    elif copy and here is self:
        result = ew.copy(self)
    else:
        result = here
    if memory_format is preserve_format:
        return result
    wanted = format_of(memory_format)
    return result if wanted is preserve_format or is_contiguous(result, wanted) else _in_format(result, wanted)


_LEGACY = {"Float": dt.float32, "Double": dt.float64, "Half": dt.float16, "BFloat16": dt.bfloat16, "Long": dt.int64,
           "Int": dt.int32, "Short": dt.int16, "Char": dt.int8, "Byte": dt.uint8, "Bool": dt.bool_,
           "ComplexFloat": dt.complex64, "ComplexDouble": dt.complex128}
_LEGACY_NAMES = {d: f"{name}Tensor" for name, d in _LEGACY.items()}


@api(function=False, name="type")
def type_(self, dtype=None, non_blocking=False) -> Any:
    """Return the name of this tensor's type, or convert the tensor to a dtype or to the type of such a name."""
    if dtype is None:
        name = _LEGACY_NAMES.get(self.dtype, self.dtype.name)
        return in_full(f"cuda.{name}" if self.is_cuda else name)
    device = getattr(dtype, "tensor_device", None)
    if dtype is Tensor:
        dtype = Defaults.dtype
    if isinstance(dtype, str) and dtype.endswith("Tensor"):
        path, _, name = dtype.rpartition(".")
        device, dtype = "cuda" if path.endswith(".cuda") else "cpu", _LEGACY.get(name.removesuffix("Tensor"), dtype)
    return to(self, device, getattr(dtype, "tensor_dtype", dtype), non_blocking=non_blocking)


@api(function=False)
def type_as(self, other):
    """Convert this tensor to the dtype and device of another one."""
    return to(self, other)


def _converter(d):
    def convert(self, memory_format=preserve_format):
        return to(self, d, memory_format=memory_format)

    convert.__doc__ = f"Convert this tensor to {d.name}."
    return convert


for _name, _dtype in (("float", dt.float32), ("double", dt.float64), ("half", dt.float16), ("bfloat16", dt.bfloat16),
                      ("long", dt.int64), ("int", dt.int32), ("short", dt.int16), ("char", dt.int8), ("byte", dt.uint8),
                      ("bool", dt.bool_), ("cfloat", dt.complex64), ("cdouble", dt.complex128)):
    _fn = _converter(_dtype)
    _fn.__name__ = _fn.__qualname__ = _name
    api(function=False, checked=False)(_fn)


@api(function=False)
def cpu(self, memory_format=preserve_format):
    """Copy this tensor to host memory, if it is not there."""
    return to(self, "cpu", memory_format=memory_format)


@api(function=False)
def cuda(self, device=None, non_blocking=False, memory_format=preserve_format):
    """Copy this tensor to a CUDA device, if it is not there."""
    return to(self, "cuda" if device is None else device, non_blocking=non_blocking, memory_format=memory_format)


@api(function=False)
def pin_memory(self, device=None):
    """Copy this tensor to page-locked memory, so that transfers to an accelerator are asynchronous. Without one return it.
    `device` is ignored: pinned memory serves every accelerator."""
    return pinned(self)


@api(function=False)
def is_pinned(self, device=None) -> bool:
    """Return whether the memory is page-locked. `device` is ignored: pinned memory serves every accelerator."""
    return is_page_locked(self)


# Writing.


@api(function=False)
def copy_(self, src, non_blocking=False):
    """Write another tensor or a number into this one, broadcasting and converting it."""
    src = src if isinstance(src, Tensor) else created(as_array_tensor(src))
    if non_blocking and self.device.type not in EVERYWHERE:
        src = move_to(src, self.device, wait=False)
    return write(self, src, "copy_", foreign=True)


def _check_one_value(name: str, value):
    if isinstance(value, Tensor) and value.ndim:
        raise DTypeError(f"{name} takes a number or a 0-d tensor, got a tensor of shape {list(value.shape)}")


@api(function=False)
def fill_(self, value):
    """Write one value to all elements."""
    _check_one_value("fill_", value)
    return write(self, value, "fill_", foreign=True)


@api(method=False)
def fill(input, value):
    """Return a copy with one value in all elements."""
    _check_one_value("fill", value)
    if not isinstance(value, Tensor):
        value = filled(input, (), value, input.dtype)
    return assign_view(input, sh.expand(to(value, input.dtype), shape=shape_of(input)), chain=())


@api(function=False)
def zero_(self):
    """Write zeros to all elements."""
    if not is_plain(self, tls.m):
        return write(self, 0, "zero_")
    self._a.fill(0)
    wrote_plainly(self, "zero_")
    return self


# Memory and size.


@api(function=False, checked=False)
def size(self, dim=None) -> Any:
    """Return the shape, or the size of one dimension."""
    if dim is None:
        return self.shape
    if not self._a.ndim:
        raise DimError(f"size: dim {dim} of a 0-d tensor, which has no dimensions")
    return shape_of(self)[canonical_dim(dim, self._a.ndim)]


def empty_strides(shape) -> tuple:
    """Return row-major strides of a tensor without elements, where NumPy has zeros."""
    steps = [1]
    for n in reversed(shape[1:]):
        steps.append(steps[-1] * (n if n != 0 else 1))
    return tuple(reversed(steps))[:len(shape)]


def _has_ones(t) -> bool:
    """Return whether dims of a tensor with symbolic sizes have one element: their strides are of no account to its order. Such
    dims, and parts that are whole extents, become conditions of a recording."""
    recorder = tls.m.recorder
    if recorder is not None:
        recorder.layouts.extents_read(t)
    ones = [bool(n == 1) for n in shape_of(t)]      # all are asked, so that each is a condition
    return any(ones)


@api(function=False, checked=False)
def stride(self, dim=None) -> Any:
    """Return the number of elements between neighbours along each dimension (or one)."""
    a = self._a
    if tls.m.sizes is not None and not _has_ones(self) and a.flags.c_contiguous:
        steps = empty_strides(shape_of(self))
    else:
        tuple(map(int, shape_of(self)))       # strides depend on the sizes: record symbolic ones
        if tls.m.recorder is not None:
            tls.m.recorder.layouts.strides_read(self)
        steps = tuple([s // a.itemsize for s in a.strides]) if a.size else empty_strides(a.shape)
    if 0 in steps:
        steps = _over_new_dims(a.shape, steps)
    return steps if dim is None else steps[canonical_dim(dim, self._a.ndim)]


@api(function=False)
def dim_order(self, ambiguity_check=False) -> tuple[int, ...]:
    """Return the dims from the slowest to the fastest in memory. With `ambiguity_check` (True, or a list of memory formats)
    raise if several orders fit, unless the tensor has exactly one of the formats."""
    sizes, steps = self.shape, self.stride()
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, MemoryFormat) for f in formats):
        raise DTypeError(f"dim_order: ambiguity_check is a bool or a list of memory formats, got {ambiguity_check!r}")
    has_several = 1 in sizes or any(a == b for a, b in pairwise(steps))
    if ambiguity_check is not False and has_several and sum([self.is_contiguous(memory_format=f) for f in formats]) != 1:
        raise ShapeError(f"dim_order: a tensor of shape {list(sizes)} and strides {steps} has more than one order, of which "
                         "the memory formats given do not name one")
    return agreed(sizes, [steps]) or tuple(range(len(sizes)))


def _over_new_dims(sizes, steps):
    """Return strides in which dims of size 1 whose step NumPy gives as 0 (`x[None]`) step over all later dims."""
    found: list = []
    behind = 1
    for n, step in zip(reversed(sizes), reversed(steps)):
        found.insert(0, step or (behind if n == 1 else 0))
        behind = n * found[0]
    return tuple(found)


def _refuse_address(what):
    """Raise under a recorder: the address differs in the next call of a traced function."""
    if tls.m.recorder is not None:
        tls.m.recorder.refuse(f"it reads {what}, which may differ from call to call", "do that outside of the function")


@api(function=False)
def data_ptr(self) -> int:
    """Return the address of the first element."""
    _refuse_address("the address of a tensor")
    return shown_address(self._a) if numel_of(self) else 0


@api(function=False, names=("ndimension",))
def dim(self) -> int:
    """Return the number of dimensions."""
    return self._a.ndim


@api(function=False)
def element_size(self) -> int:
    """Return the bytes of one element."""
    return self._a.itemsize


@api(names=("nelement",))
def numel(input) -> int:
    """Return the number of elements."""
    return numel_of(input)


def _publish_dtype_query(name, what):
    def fn(input) -> bool:
        return getattr(input.dtype, name)

    fn.__doc__ = f"Return whether the dtype {what}."
    api(name=name, checked=False)(fn)


_publish_dtype_query("is_floating_point", "is a floating point dtype")
_publish_dtype_query("is_complex", "is a complex dtype")
_publish_dtype_query("is_signed", "has negative values")


@api()
def is_nonzero(input) -> bool:
    """Return whether the one element is not zero."""
    if numel_of(input) != 1:
        raise ShapeError(f"is_nonzero takes a tensor of one element, got shape {list(input.shape)}")
    return input.item() != 0


@api(function=False)
def is_set_to(self, tensor) -> bool:
    """Return whether both tensors are the same window on the same memory."""
    a, b = self._a, tensor._a
    return address_of(a) == address_of(b) and place_of(a) == place_of(b) and a.shape == b.shape and a.strides == b.strides


@api(function=False, checked=True)
def is_same_size(self, other) -> bool:
    """Return whether both tensors have the same shape."""
    return shape_of(self) == shape_of(other)


@api(method=False)
def is_tensor(obj) -> bool:
    """Return whether an object is a tensor."""
    return isinstance(obj, Tensor)


def _all_bytes(self) -> int:
    """Return the bytes of all elements."""
    return self._a.nbytes


for _name, _bytes in (("itemsize", element_size), ("nbytes", _all_bytes)):
    setattr(Tensor, _name, property(_bytes, doc=_bytes.__doc__))
Tensor.is_sparse = Tensor.is_sparse_csr = False
Tensor.is_quantized = False
Tensor.is_mkldnn = False
Tensor.is_nested = False
Tensor.layout = strided


@api(function=False)
def _is_view(self) -> bool:
    """Return whether the tensor is a view of another one."""
    if tls.m.recorder is not None:
        tls.m.recorder.layouts.asked(self, _has_base)
    return _has_base(self)


def _has_base(t) -> bool:
    return t._base is not None
