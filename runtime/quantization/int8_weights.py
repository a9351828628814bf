"""Int8 weights: whole numbers from -127 to 127 with a scale for each row; and the bytes of observers."""

from typing import NamedTuple

from ...ir import dtype as dt
from ...ir.dtype import qint8
from ...ir.errors import ArgumentError, DTypeError
from ...ir.ops.quantized.int8_conv import TOP
from ...ir.ops.quantized.int8_linear import MOST_DEPTH
from ...passes.quantize.int8_weights import Steps
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad

_LARGEST = 127          # of a weight's whole numbers


def quantized(weight, name: str):
    """Return int8 numbers and a scale for each row of a float32 weight."""
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
    """Raise for dtypes of PyTorch's modules other than qint8."""
    if dtype is not qint8:
        raise ArgumentError(f"weights are quantised to ingot.qint8, not to {dtype}; for 16 bits use module.half() or "
                            f"module.bfloat16()")


class ByteSteps(NamedTuple):
    """Steps of a layer's input bytes, and their limits."""

    steps: Steps
    limits: tuple


def byte_steps(observer, name: str) -> ByteSteps:
    """Return the byte steps of an observer or fake quantisation; steps numbered from -128 are shifted up."""
    if not hasattr(observer, "quant_min"):
        raise ArgumentError(f"{name}: the activation of its qconfig is {type(observer).__name__}, which finds no steps for "
                            f"bytes")
    if observer.is_empty:
        raise ArgumentError(f"{name} has seen no input; run the prepared model on inputs like those to come, or set its "
                            f"qconfig to None")
    found = (observer.scale, observer.zero_point) if hasattr(observer, "scale") else observer.calculate_qparams()
    (scale,), (zero,) = (v.tolist() for v in found)
    up = 0 if observer.quant_min >= 0 else TOP // 2 + 1
    least, most = observer.quant_min + up, observer.quant_max + up
    if not 0 <= least <= zero + up <= most <= TOP:
        raise ArgumentError(f"{name}: its input has steps from {observer.quant_min} to {observer.quant_max}, which bytes "
                            f"cannot count")
    if not 0 < scale < float("inf"):
        raise ArgumentError(f"{name}: its input has had infinities or nan, for which there is no scale")
    return ByteSteps(Steps(scale, int(zero) + up), (least, most))


def weight_scales(fake, name: str):
    """Return a weight's scales by row (or one for all) from fake quantisation, as an array; None without rounding."""
    if not hasattr(fake, "scale"):
        return None
    if bool((fake.zero_point != 0).any()) or fake.quant_min < -128 or fake.quant_max > 127:
        raise ArgumentError(f"{name}: weights in whole numbers are from -128 to 127 with zero in the middle, its qconfig's are "
                            f"of {fake.qscheme!r} from {fake.quant_min} to {fake.quant_max}")
    if fake.is_per_channel and fake.ch_axis:
        raise ArgumentError(f"{name}: weights have their scales along the first dim, got ch_axis={fake.ch_axis}")
    return fake.scale.numpy() if fake.fake_quant_enabled.item() else None
