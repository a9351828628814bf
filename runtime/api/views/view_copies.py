"""View functions whose results are copies (`view_copy`, `unbind_copy`, ...), and others of the same spirit."""

from functools import wraps

import numpy as np

from ....ir.errors import ArgumentError
from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ...core.tensor import Tensor, whole_of
from ...core.writes import overlaps
from ..register.layouts import require_strided
from ..register.register import FUNCTIONS, api, deliver
from .conversions import contiguous
from .join_split import split_with_sizes
from .reshaping import diagonal, expand, narrow, permute, select, squeeze, t, transpose, unfold, unsqueeze, view
from .storage_views import as_strided, flattened_storage
from .tensor_factories import dtype_or_default, empty_strided, require_device


def _slice(input, dim=0, start=None, end=None, step=1):
    """A slice along a dimension."""
    return input[(slice(None),) * canonical_dim(dim, input.ndim) + (slice(start, end, step),)]


def _copying(look):
    """A view function with results in memory of their own."""
    name = getattr(look, "__name__", "").strip("_") + "_copy"

    @wraps(look)
    def function(*args, out=None, **options):
        found = look(*args, **options)
        if isinstance(found, Tensor):
            return deliver(contiguous(ew.copy(found)), out, name)
        copies = tuple(contiguous(ew.copy(x)) for x in found)
        return copies if out is None else tuple(deliver(x, o, name) for x, o in zip(copies, out))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{look.__doc__} A copy."
    return function


def _alias(input):
    """The same tensor."""
    return input.view_as(input)


VIEWS = (_alias, as_strided, FUNCTIONS["detach"], diagonal, expand, narrow, permute, select, _slice, FUNCTIONS["split"],
         split_with_sizes, squeeze, t, transpose, FUNCTIONS["unbind"], unfold, unsqueeze, view, FUNCTIONS["view_as_complex"],
         FUNCTIONS["view_as_real"])

for _look in VIEWS:
    _function = _copying(_look)
    api(method=_look is narrow)(_function)


@api()
def unsafe_split_with_sizes(input, split_sizes, dim=0) -> tuple[Tensor, ...]:
    """split_with_sizes()"""
    return split_with_sizes(input, split_sizes, dim)


@api(checked=True)
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """input with src in place of a strided window over its memory; what is expanded is copied first."""
    input = ew.copy(input) if overlaps(input._a) else input
    shape, strides, first = input.shape, input.stride(), input.storage_offset()
    memory = input.new_zeros(flattened_storage(whole_of(input)).shape)
    as_strided(memory, shape, strides, first).copy_(input)
    as_strided(memory, size, stride, first if storage_offset is None else storage_offset).copy_(src)
    return as_strided(memory, shape, strides, first)


@api()
def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """The window over input's memory that has the sizes and strides of src."""
    return as_strided(input, src.shape, src.stride(), src.storage_offset())


@api(function=False)
def new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """An empty tensor with given strides, of this one's dtype unless said."""
    if layout is not None:
        require_strided("new_empty_strided", layout)
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


@api(method=False)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """An empty tensor whose dimensions lie in memory in the given order, the outermost first."""
    if layout is not None:
        require_strided("empty_permuted", layout)
    if sorted(physical_layout) != list(range(len(size))):
        raise ArgumentError(f"physical_layout must name each of {len(size)} dimensions once, got {tuple(physical_layout)}")
    stride, step = [0] * len(size), 1
    for d in reversed(physical_layout):
        stride[d] = step
        step *= max(1, size[d])
    return empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad)


@api(method=False)
def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False):
    """The numbers of a file, in its memory: writes reach the file (made long enough) if `shared`, else only the tensor."""
    if layout is not None:
        require_strided("from_file", layout)
    require_device(device)
    kind = dtype_or_default(dtype).np
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), size * kind.itemsize))
    mapped = np.memmap(filename, kind, "r+" if shared else "c", shape=(size,)) if size else np.empty(0, kind)
    return FUNCTIONS["from_numpy"](np.asarray(mapped))
