"""Convolutions of 8-bit numbers with one scale for a whole tensor, which `passes/quantize/quantize.py` puts into graphs.

A byte b (uint8) with a scale and a zero point stands for (b - zero) * scale. Images have their channels last, (N, H, W, C),
with their borders. Weights are int8 in one kernel order for all machines; a linear layer is a window of one pixel. Sums are
int32, the same in any order; the float steps after them have the order of `finished`.
"""

from math import prod

import numpy as np

from ... import dtype as dt
from ...errors import ArgumentError, DTypeError, ShapeError
from ...opdef.aval import Aval
from ...opdef.batch_rules import Images
from ...opdef.op import NO_GRAD, Composite, Host, op
from ...opdef.param_checks import check_choice, check_int, check_ints, check_number
from ...process_state import ignore_float_errors
from ..core import elementwise as ew
from ..nn.windows import window_counts
from .int8_linear import MOST_DEPTH

BLOCK = 16              # output channels that lie side by side in a weight
GROUP = 4               # input channels that do so for each of them
TOP = 255               # the largest byte
_LEAST_SCALE = 2.0 ** -126      # of float32, whose inverse is a float32 as well
_MOST_SCALE = float(np.finfo(np.float32).max)
_MOST_STEP = (1 << 31) - 1      # of windows, whose products fit in 64 bits

# To bytes and back.


def _infer_steps(name, source, target):
    def infer(x, *, scale, zero):
        if x.dtype is not source:
            raise DTypeError(f"{name} takes {source.name}, got {x}")
        check_number(scale, f"{name}: scale", _LEAST_SCALE, 1 / _LEAST_SCALE)
        check_int(zero, f"{name}: zero", 0, TOP)
        return Aval(x.shape, target)

    return infer


def inverse_of(scale) -> float:
    """Return the factor that counts quantisation steps, as a float32."""
    return float(np.float32(1) / np.float32(scale))


def _to_bytes_body(x, *, scale, zero):
    steps = ew.add(ew.round_(ew.mul(x, inverse_of(scale))), float(zero))
    steps = ew.where(ew.gt(steps, 0.0), steps, 0.0)
    return ew.cast(ew.where(ew.lt(steps, float(TOP)), steps, float(TOP)), dtype=dt.uint8)


@ignore_float_errors
def _to_bytes(x, *, scale, zero):
    steps = np.rint(x * np.float32(inverse_of(scale))) + np.float32(zero)
    return _as_bytes(np.where(np.isnan(steps), np.float32(0), steps), 0, TOP)


def _as_bytes(steps, low, high):
    return np.clip(steps, np.float32(low), np.float32(high)).astype(np.uint8)


to_bytes = op("to_bytes", infer=_infer_steps("to_bytes", dt.float32, dt.uint8), ref=_to_bytes, vjp=NO_GRAD,
              lower=Composite(_to_bytes_body), traits=("pointwise",),
              doc="The byte that is nearest to x / scale + zero, ties to even; nan is 0.")


def _from_bytes_body(x, *, scale, zero):
    return ew.mul(ew.sub(ew.cast(x, dtype=dt.float32), float(zero)), float(np.float32(scale)))


def _from_bytes(x, *, scale, zero):
    return (x.astype(np.float32) - np.float32(zero)) * np.float32(scale)


from_bytes = op("from_bytes", infer=_infer_steps("from_bytes", dt.uint8, dt.float32), ref=_from_bytes, vjp=NO_GRAD,
                lower=Composite(_from_bytes_body), traits=("pointwise",), doc="(x - zero) * scale, in float32.")

# Convolutions.


def _check_finish(name, start, factor, residual, out, channels, dtype, low, high, zero, beside_zero, beside_scale):
    for what, t, kind in (("start", start, dt.int32), ("factor", factor, dt.float32)):
        if t.dtype is not kind or tuple(t.shape) != (channels,):
            raise ShapeError(f"{name} takes a {what} of {kind.name} with {channels} numbers, got {t}")
    check_choice(dtype, (dt.uint8, dt.float32), f"{name}: dtype")
    if residual is not None and (residual.dtype is not dt.uint8 or residual.shape != out):
        raise ShapeError(f"{name}: what is added is uint8{list(out)}, got {residual}")
    for what, byte in (("low", low), ("high", high), ("zero", zero), ("beside_zero", beside_zero)):
        check_int(byte, f"{name}: {what}", low if what == "high" else 0, TOP)
    check_number(beside_scale, f"{name}: beside_scale", -_MOST_SCALE, _MOST_SCALE)
    return Aval(out, dtype)


def window_counts_of(name, x, kernel, stride, dilation):
    """Return how many windows fit into images; errors carry the operator's name."""
    counts = window_counts(x.shape[1:3], kernel, stride, ((0, 0), (0, 0)), dilation)
    if min(kernel) < 1 or any(n < 1 for n in counts):
        raise ShapeError(f"{name} of {x}: no window of {kernel} with stride={stride}, dilation={dilation} fits")
    return counts


def _check_windows(name, x, stride, dilation):
    if x.dtype is not dt.uint8 or x.ndim != 4:
        raise DTypeError(f"{name} takes images [N, H, W, C] of uint8, got {x}")
    check_ints(stride, f"{name}: stride", 2, 1, _MOST_STEP)
    check_ints(dilation, f"{name}: dilation", 2, 1, _MOST_STEP)


def blocks_of(outs: int, groups: int) -> int:
    """Return the blocks of output channels of one group."""
    return -(-(outs // groups) // BLOCK)


def _infer_conv(x, w, start, factor, residual, *, outs, stride, dilation, groups, dtype, zero, low, high, beside_zero,
                beside_scale):
    if w.dtype is not dt.int8 or w.ndim != 6 or tuple(w.shape[4:]) != (BLOCK, GROUP):
        raise ShapeError(f"conv_int8 takes a weight of int8[blocks, height, width, depth, {BLOCK}, {GROUP}], got {w}")
    _check_windows("conv_int8", x, stride, dilation)
    check_int(outs, "conv_int8: outs", 1)
    check_int(groups, "conv_int8: groups", 1)
    if outs % groups or w.shape[0] != groups * blocks_of(outs, groups):
        raise ShapeError(f"conv_int8: the weight {w} is not one of {outs} channels in {groups} groups")
    if x.shape[3] != groups * w.shape[3] * GROUP:
        raise ShapeError(f"conv_int8: {x} does not have the {groups * w.shape[3] * GROUP} channels of the weight {w}")
    if prod(w.shape[1:4]) * GROUP > MOST_DEPTH:
        raise ArgumentError(f"conv_int8 sums at most {MOST_DEPTH} products (sums are int32), got {w}")
    counts = window_counts_of("conv_int8", x, w.shape[1:3], stride, dilation)
    return _check_finish("conv_int8", start, factor, residual, (x.shape[0], *counts, outs), w.shape[0] * BLOCK, dtype, low,
                         high, zero, beside_zero, beside_scale)


def finished(sums, factor, residual, *, dtype, zero, low, high, beside_zero, beside_scale):
    """Scale int32 sums to floats, or requantise them to bytes."""
    out = sums.astype(np.float32) * factor
    if residual is not None:
        out = out + (residual.astype(np.float32) - np.float32(beside_zero)) * np.float32(beside_scale)
    return _as_bytes(np.rint(out) + np.float32(zero), low, high) if dtype is dt.uint8 else out


def _tap(x, at, counts, stride, dilation):
    rows, columns = (slice(a * d, a * d + s * (n - 1) + 1, s) for a, d, s, n in zip(at, dilation, stride, counts))
    return x[:, rows, columns]


def _channels(packed, outs, groups):
    each = packed.reshape(*packed.shape[:-1], groups, packed.shape[-1] // groups)[..., :outs // groups]
    return each.reshape(*packed.shape[:-1], outs)


def _conv(x, w, start, factor, residual, *, outs, stride, dilation, groups, **finish):
    counts = window_counts_of("conv_int8", x, w.shape[1:3], stride, dilation)
    blocks = w.shape[0] // groups
    sums = np.zeros((x.shape[0], *counts, groups, blocks * BLOCK))
    for at in np.ndindex(*w.shape[1:3]):
        met = _tap(x, at, counts, stride, dilation).reshape(*sums.shape[:3], groups, w.shape[3] * GROUP)
        filters = w[:, *at].astype(np.float64).transpose(0, 2, 1, 3).reshape(groups, blocks * BLOCK, -1)
        sums += np.einsum("nhwgc,goc->nhwgo", met.astype(np.float64), filters, optimize=True)     # exact: far below 2 ** 53
    whole = sums.astype(np.int64).reshape(*sums.shape[:3], len(start)) + start
    return finished(_channels(whole, outs, groups).astype(np.int32), _channels(factor, outs, groups), residual, **finish)


def _flops(args, outs, params):
    return 2 * prod(outs[0].shape) * prod(args[1].shape[1:4]) * GROUP


conv_int8 = op(
    "conv_int8", infer=_infer_conv, ref=_conv, vjp=NO_GRAD, lower=Host(), flops=_flops, batch=Images(which=(0, 4)),
    doc="Sums of bytes times weights, plus `start`, times `factor` of their channel, plus (residual - beside_zero) * "
        "beside_scale; as bytes these are rounded, moved by `zero` and kept from `low` to `high`.")

# Each channel by itself.


def _infer_depthwise(x, w, start, factor, residual, *, stride, dilation, dtype, zero, low, high, beside_zero, beside_scale):
    _check_windows("depthwise_int8", x, stride, dilation)
    if w.dtype is not dt.int8 or w.ndim != 3 or x.shape[3] != w.shape[2]:
        raise ShapeError(f"depthwise_int8 takes a weight of int8[height, width, channels], got {w} for {x}")
    counts = window_counts_of("depthwise_int8", x, w.shape[:2], stride, dilation)
    return _check_finish("depthwise_int8", start, factor, residual, (x.shape[0], *counts, w.shape[2]), w.shape[2], dtype, low,
                         high, zero, beside_zero, beside_scale)


def _depthwise(x, w, start, factor, residual, *, stride, dilation, **finish):
    counts = window_counts_of("depthwise_int8", x, w.shape[:2], stride, dilation)
    sums = np.broadcast_to(start, (x.shape[0], *counts, w.shape[2])).astype(np.int32)
    for at in np.ndindex(*w.shape[:2]):
        sums += _tap(x, at, counts, stride, dilation).astype(np.int32) * w[at].astype(np.int32)
    return finished(sums, factor, residual, **finish)


depthwise_int8 = op(
    "depthwise_int8", infer=_infer_depthwise, ref=_depthwise, vjp=NO_GRAD, lower=Host(), batch=Images(which=(0, 4)),
    flops=lambda args, outs, params: 2 * prod(outs[0].shape) * prod(args[1].shape[:2]),
    doc="conv_int8 with a window for each channel.")


# Weights.


def packed_weight(w: np.ndarray, groups: int) -> np.ndarray:
    """Return a weight (O, C / groups, height, width) of int8 as `conv_int8` takes it; input channels are whole groups of 4."""
    outs, depth, *kernel = w.shape
    blocks = blocks_of(outs, groups)
    each = w.reshape(groups, outs // groups, depth, *kernel)
    full = np.zeros((groups, blocks * BLOCK, depth, *kernel), np.int8)
    full[:, :outs // groups] = each
    parts = full.reshape(groups * blocks, BLOCK, depth // GROUP, GROUP, *kernel)
    return np.ascontiguousarray(parts.transpose(0, 4, 5, 2, 1, 3))


def packed_channels(values: np.ndarray, groups: int) -> np.ndarray:
    """Return output channel values as `conv_int8` takes them."""
    each = values.reshape(groups, -1)
    full = np.zeros((groups, blocks_of(len(values), groups) * BLOCK), values.dtype)
    full[:, :each.shape[1]] = each
    return full.reshape(-1)
