"""Tensor methods about memory that other processes can map."""

from ...ir.errors import DeviceError
from ...ir.lazy import lazy
from ..api.register.register import api
from ..core.device_array import DeviceArray

shared_tensors = lazy(__package__, ".shared_tensors")


@api(function=False)
def is_shared(self) -> bool:
    """Whether the memory is one that other processes can map."""
    return shared_tensors.is_shared(self)


@api(function=False)
def record_stream(self, stream):
    """Says that work in a stream uses the memory, which is then not taken for other things before that work is done."""
    if self._a.__class__ is not DeviceArray:
        raise DeviceError(f"record_stream is for tensors on a device, this one is on {self.device}")
    self._a.memory.used_on(stream.cuda_stream)


@api(function=False)
def share_memory_(self):
    """Moves the memory of this tensor, and of every tensor that shares it, to where other processes can map it."""
    return shared_tensors.share_memory_(self)
