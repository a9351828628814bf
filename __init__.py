"""ingot: eager tensors with automatic differentiation and a tracing JIT compiler."""

from .ir.dtype import (
    bfloat16,
    bool_ as bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .runtime.api.register import FUNCTIONS
from .runtime.api import elementwise, operators, reduce
from .runtime.autograd import backward as _b
from .runtime.autograd.grad_mode import no_grad
from .runtime.tensor import Size, Tensor
from .runtime.creation import array_of
from .runtime.tensor import wrap
def tensor(data, dtype=None, requires_grad=False):
    return wrap(array_of(data,dtype)).requires_grad_(requires_grad)
globals().update(FUNCTIONS)
