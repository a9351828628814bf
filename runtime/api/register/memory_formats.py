"""Memory formats: orders of dims in memory, under PyTorch's names."""

from ....ir.dim_order import inverse, order_of
from ....ir.errors import ArgumentError, DTypeError
from ....ir.ops.core import shape as sh
from ....ir.package_name import in_full
from ....ir.suggestions import unknown_choice
from .register import FUNCTIONS


class MemoryFormat:
    """Order of dims in memory, for batches of images."""

    def __init__(self, name: str, order: tuple | None = None):
        self.name = name
        self.order = order   # dims from the slowest to the fastest, for formats that fix them

    def __repr__(self):
        return in_full(self.name)

    def __reduce__(self):
        return format_of, (self.name,)


contiguous_format = MemoryFormat("contiguous_format")
preserve_format = MemoryFormat("preserve_format")
channels_last = MemoryFormat("channels_last", (0, 2, 3, 1))
channels_last_3d = MemoryFormat("channels_last_3d", (0, 2, 3, 4, 1))
FORMATS = {f.name: f for f in (contiguous_format, preserve_format, channels_last, channels_last_3d)}
FUNCTIONS.update(FORMATS, memory_format=MemoryFormat, legacy_contiguous_format=contiguous_format)


def format_of(memory_format) -> MemoryFormat:
    """Return the memory format that an argument names."""
    if isinstance(memory_format, MemoryFormat):
        return memory_format
    if memory_format is None:
        return preserve_format
    try:
        return FORMATS[str(memory_format).rpartition(".")[2]]
    except KeyError:
        raise unknown_choice("memory_format", memory_format, FORMATS) from None


def requested_order(x, memory_format: MemoryFormat) -> tuple | None:
    """Return the order of dims (`ir/dim_order.py`) for a tensor like x in a format; `preserve_format` takes the order of x."""
    if memory_format is preserve_format:
        return order_of(x._a)
    return None if memory_format.order is None else order_of_format(memory_format, x.shape)


def order_of_format(memory_format: MemoryFormat, shape) -> tuple | None:
    """Return the order of dims of a format for a shape."""
    order = memory_format.order
    if memory_format is preserve_format:
        raise ArgumentError("preserve_format keeps the order of a tensor that is there; name another format for a new one")
    if order is not None and len(shape) != len(order):
        raise DTypeError(f"{memory_format.name} is for tensors of {len(order)} dimensions, got shape {list(shape)}")
    return order


def in_dim_order(x, order: tuple | None):
    """Return a copy of x with the given order of dims."""
    if order is None:
        return sh.contiguous(x)
    return sh.permute(sh.contiguous(sh.permute(x, dims=order)), dims=inverse(order))
