"""Samples of bytes that stand for numbers, and of convolutions of them."""

import numpy as np

from ingot.ir import dtype as dt
from ingot.ir.ops.quantized.int8_conv import packed_channels, packed_weight, window_counts_of

from . import Sample, samples

# (images, their sizes, channels, output channels, groups, window, stride, dilation)
WINDOWS = [(1, (1, 1), 4, 1, 1, (1, 1), (1, 1), (1, 1)), (2, (5, 6), 8, 17, 1, (3, 3), (1, 1), (1, 1)),
           (1, (6, 5), 16, 20, 2, (3, 2), (2, 1), (1, 2)), (3, (4, 4), 4, 33, 1, (1, 1), (1, 1), (1, 1)),
           (1, (3, 4), 12, 16, 1, (1, 1), (2, 2), (1, 1)), (0, (3, 3), 4, 2, 1, (1, 1), (1, 1), (1, 1))]
FINISHES = [(dt.uint8, 0, 0, 255), (dt.uint8, 3, 3, 200), (dt.float32, 0, 0, 255)]


def finish(kind, zero, low, high):
    return {"dtype": kind, "zero": zero, "low": low, "high": high, "beside_zero": 7, "beside_scale": 0.37}


def convolution_of(rng, case, kind, adds, spread=1.0):
    """Return (operands, parameters) of a convolution, a depthwise one if the groups are None."""
    images, sizes, channels, outs, groups, window, stride, dilation = case
    x = rng.integers(0, 256, (images, *sizes, channels)).astype(np.uint8)
    outs = outs if groups else channels
    start = rng.integers(-3000, 3000, outs).astype(np.int32)
    factor = (spread * rng.random(outs) / channels / 100).astype(np.float32)
    params = {"stride": stride, "dilation": dilation, **finish(*kind)}
    if groups:
        w = packed_weight(rng.integers(-128, 128, (outs, channels // groups, *window)).astype(np.int8), groups)
        start, factor = packed_channels(start, groups), packed_channels(factor, groups)
        params |= {"outs": outs, "groups": groups}
    else:
        w = rng.integers(-128, 128, (*window, channels)).astype(np.int8)
    counts = window_counts_of("sample", x, window, stride, dilation)
    added = rng.integers(0, 256, (images, *counts, outs)).astype(np.uint8) if adds else None
    return (x, w, start, factor, added), params


@samples("to_bytes")
def _to_bytes(rng):
    hard = np.array([0.0, -0.0, 0.25, 0.75, -100, 1e30, np.inf, -np.inf, np.nan, 63.4])
    for x in (rng.standard_normal((3, 5)), hard):
        for scale, zero in ((0.5, 0), (0.013, 128), (2.0, 255)):
            yield Sample((x,), {"scale": scale, "zero": zero}, grad=False, dtypes=("float32",))


@samples("from_bytes")
def _from_bytes(rng):
    for scale, zero in ((0.5, 0), (0.013, 128)):
        yield Sample((np.arange(256, dtype=np.uint8),), {"scale": scale, "zero": zero}, grad=False, dtypes=("float32",))


@samples("conv_int8")
def _conv(rng):
    for number, case in enumerate(WINDOWS):
        operands, params = convolution_of(rng, case, FINISHES[number % len(FINISHES)], number % 2)
        yield Sample(operands, params, grad=False, dtypes=("float32",))


@samples("depthwise_int8")
def _depthwise(rng):
    for number, (images, sizes, channels, *_, window, stride, dilation) in enumerate(WINDOWS):
        case = images, sizes, channels, 0, None, window, stride, dilation
        operands, params = convolution_of(rng, case, FINISHES[number % 3], number % 2)
        yield Sample(operands, params, grad=False, dtypes=("float32",))
