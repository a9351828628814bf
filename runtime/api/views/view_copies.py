"""View functions with copied results (`view_copy`, `unbind_copy`, ...), and writes to views as new tensors."""

from functools import wraps

from ....ir.opdef.aval import canonical_dim
from ....ir.ops.core import elementwise as ew
from ...core.tensor import Tensor, whole_of
from ...core.writes import overlaps
from ..register.register import FUNCTIONS, api, deliver
from .conversions import contiguous
from .join_split import split_with_sizes
from .reshaping import diagonal, expand, narrow, permute, select, squeeze, t, transpose, unfold, unsqueeze, view
from .storage_views import as_strided, flattened_storage


def _slice(input, dim=0, start=None, end=None, step=1):
    """Return a slice along a dimension."""
    return input[(slice(None),) * canonical_dim(dim, input.ndim) + (slice(start, end, step),)]


def _copying(look):
    """Return a view function whose results have their own memory."""
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
    """Return the same tensor."""
    return input.view_as(input)


VIEWS = (_alias, as_strided, FUNCTIONS["detach"], diagonal, expand, narrow, permute, select, _slice, FUNCTIONS["split"],
         split_with_sizes, squeeze, t, transpose, FUNCTIONS["unbind"], unfold, unsqueeze, view, FUNCTIONS["view_as_complex"],
         FUNCTIONS["view_as_real"])

for _look in VIEWS:
    _function = _copying(_look)
    api(method=_look is narrow)(_function)


@api()
def unsafe_split_with_sizes(input, split_sizes, dim=0) -> tuple[Tensor, ...]:
    """Same as split_with_sizes()."""
    return split_with_sizes(input, split_sizes, dim)


@api(checked=True)
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """Return a copy with src in a strided window over its memory; an expanded input is copied first."""
    input = ew.copy(input) if overlaps(input._a) else input
    shape, strides, first = input.shape, input.stride(), input.storage_offset()
    memory = input.new_zeros(flattened_storage(whole_of(input)).shape)
    as_strided(memory, shape, strides, first).copy_(input)
    as_strided(memory, size, stride, first if storage_offset is None else storage_offset).copy_(src)
    return as_strided(memory, shape, strides, first)


@api()
def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """Return the window over input's memory with the sizes and strides of src. `dim`, `start`, `end` and `step` are ignored:
    sizes, strides and offset of src say it all."""
    return as_strided(input, src.shape, src.stride(), src.storage_offset())
