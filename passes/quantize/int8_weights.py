"""The arrays of a quantised layer: integer weights, byte steps, start values of sums.

A weight is integers from -127 to 127 with a scale for each output channel, laid out for the operators of
`ir/ops/quantized/int8_conv.py`.
"""

from typing import NamedTuple

import numpy as np

from ...ir.ops.quantized.int8_conv import BLOCK, GROUP, TOP, packed_channels, packed_weight

LARGEST = 127                   # of a weight's whole numbers
MOST_DEPTH = 1 << 15            # products of a sum, beside which there is room for a bias
_MOST_BIAS = 1 << 28            # of a bias as a number of products
_LEAST_STEP = 1e-35             # steps that are smaller could not be inverted


class Steps(NamedTuple):
    """The quantisation of bytes: (byte - zero) * scale."""

    scale: float
    zero: int


def steps_for(low: float, high: float) -> Steps:
    """Return steps over a range, extended to 0."""
    low, high = min(float(low), 0.0), max(float(high), 0.0)
    scale = float(np.float32((high - low) / TOP))
    if not scale > _LEAST_STEP:
        return Steps(1.0, 0)
    return Steps(scale, int(np.clip(np.rint(-low / scale), 0, TOP)))


class Whole(NamedTuple):
    """A layer's numbers: int8 weight (O, ...), start of its sums (bias and the input's zero point), factor of its sums."""

    weight: np.ndarray
    start: np.ndarray
    factor: np.ndarray


def whole_numbers(weight: np.ndarray, bias, steps: Steps, out_scale: float = 1.0, scale=None) -> Whole:
    """Quantise a layer that reads bytes of some steps.

    `scale` is that of weights which are multiples of it already, from -128 to 127; otherwise each channel's largest number is
    127. In any case 32 bits hold its bias, too: channels that batch normalisation has switched off are little but bias.
    """
    flat = weight.reshape(len(weight), -1).astype(np.float64)
    bias = np.zeros(len(weight)) if bias is None else bias.reshape(-1).astype(np.float64)
    largest = np.abs(flat).max(1, initial=0)
    least = -LARGEST if scale is None else -LARGEST - 1
    if scale is None:
        scale = largest / LARGEST
    else:       # of few steps, which are made finer: a bias is a whole number of them, too
        scale = np.asarray(scale, np.float64) + 0 * largest
        scale /= np.maximum(1, LARGEST // np.maximum(1, np.rint(largest / scale)))
    scale = np.maximum(scale, np.abs(bias) / (steps.scale * _MOST_BIAS))
    scale[scale == 0] = 1.0
    whole = np.clip(np.rint(flat / scale[:, None]), least, LARGEST)
    start = np.rint(bias / (steps.scale * scale)) - steps.zero * whole.sum(1)
    factor = steps.scale * scale / out_scale
    return Whole(whole.astype(np.int8).reshape(weight.shape), start.astype(np.int32), factor.astype(np.float32))


class Packed(NamedTuple):
    """Operands of `conv_int8` (of `depthwise_int8`, where `groups` is None), and the number of channels added to its input."""

    weight: np.ndarray
    start: np.ndarray
    factor: np.ndarray
    groups: int | None
    more: int


def packed(layer: Whole, groups: int) -> Packed:
    """Return a layer with weight (O, C / groups, height, width) as operators take it."""
    whole, start, factor = layer
    if groups == len(whole) and whole.shape[1] == 1:
        return Packed(np.ascontiguousarray(whole[:, 0].transpose(1, 2, 0)), start, factor, None, 0)
    whole, groups, more = _whole_groups(whole, groups)
    return Packed(packed_weight(whole, groups), packed_channels(start, groups), packed_channels(factor, groups), groups, more)


def _whole_groups(weight, groups) -> tuple:
    """Return (weight, groups, added input channels) with channels per group in whole 4s; joined groups get zeros between."""
    outs, depth = weight.shape[:2]
    if groups == 1:
        more = -depth % GROUP
        return np.pad(weight, ((0, 0), (0, more), (0, 0), (0, 0))), 1, more
    each = outs // groups
    joined = next((n for n in range(1, groups + 1)
                   if groups % n == 0 and n * depth % GROUP == 0 and n * each % BLOCK == 0), groups)
    wide = np.zeros((outs, joined * depth, *weight.shape[2:]), np.int8)
    for o in range(outs):
        place = o // each % joined
        wide[o, place * depth:(place + 1) * depth] = weight[o]
    return _whole_groups(wide, 1) if joined == groups else (wide, groups // joined, 0)
