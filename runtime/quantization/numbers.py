"""How weights are quantised: whole numbers from -127 to 127, and a scale for each row."""

from ...ir import dtype as dt
from ...ir.dtype import qint8
from ...ir.errors import ArgumentError, DTypeError
from ...ir.ops.int8 import MOST_DEPTH
from ..api.register import FUNCTIONS
from ..autograd.grad_mode import no_grad

_LARGEST = 127          # of a weight's whole numbers


def quantized(weight, name: str):
    """(int8 numbers, a scale for each row) of a float32 weight."""
    if weight.dtype is not dt.float32 or weight.device.type != "cpu":
        raise DTypeError(f"{name} is quantised from float32 on the CPU, its weight is {weight.aval} on {weight.device}; call "
                         f".float() and .cpu() before")
    if weight.shape[1] > MOST_DEPTH:
        raise ArgumentError(f"{name}: a weight of int8 has at most {MOST_DEPTH} columns, this one has {weight.shape[1]}")
    if not bool(weight.isfinite().all()):
        raise ArgumentError(f"{name}: its weight has infinities or nan, which whole numbers cannot say")
    with no_grad():
        largest = weight.detach().abs().amax(1) if weight.shape[1] else weight.new_zeros(weight.shape[0])
        scale = FUNCTIONS["where"](largest > 0, largest / _LARGEST, 1.0)
        return (weight.detach() / scale.unsqueeze(1)).round().clamp(-_LARGEST, _LARGEST).to(dt.int8), scale


def require_int8(dtype):
    """Refuses what else PyTorch's modules of this kind are made of."""
    if dtype is not qint8:
        raise ArgumentError(f"weights are quantised to ingot.qint8, not to {dtype}; for 16 bits use module.half() or "
                            f"module.bfloat16()")
