"""Depthwise convolutions and their gradients: no matrices to multiply.

One lane computes one element of the result; for the gradient of the weight, one program computes all taps of a channel. M
outputs of each channel are `O` here, channels are GROUPS.
"""

import functools

from .....ir import dtype as dt
from ..contract import epilogue
from ..ir.source import SIZE, Parameter, Source, emit
from ..ir.spelling import TYPE
from ..loops.configs import power_of_two
from .conv import DIMS, WINDOW, ended, named, shared_parameters, split, wide_type, within

CONSTANTS = ("INDEX", *WINDOW, "BLOCK", "GROUPS")
MOST_TAPS = 128        # most taps of a weight whose gradient one program computes
_HELD = 2048           # sums that such a program holds
_TAPS = ["    tW = t % KW", "    tH = t // KW % KH", "    tD = t // (KW * KH)"]


_ALONE = epilogue.Site(("image", "there"), ("o", "there"), ("pixel", "there"))


@functools.lru_cache(256)
def forward(kind: dt.DType, bias: bool, fused=None, along: tuple = ()) -> Source:
    """Return the kernel out[n, o, q] = sum over t of x[n, o // M, q * stride - padding + t * dilation] w[o, t], and the bias,
    for M outputs of each channel."""
    lines = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK).to(INDEX)", "there = at < TOTAL",
             *split("at", ["plane", "qD", "qH", "qW"], ["TOTAL", "QD", "QH", "QW"]),
             "o = plane % (GROUPS * O)", "image = plane // (GROUPS * O)",
             "pixel = at % (QD * QH * QW)", "source = (image * GROUPS + o // O) * (ID * IH * IW)",
             f"total = tl.zeros([BLOCK], {wide_type(kind)})", "for t in range(0, KD * KH * KW):", *_TAPS]
    row = [f"a{d} = q{d} * S{d} - P{d} + t{d} * L{d}" for d in DIMS]
    ats = [f"a{d}" for d in DIMS]
    row += [f"inside = there & {within(ats, 'I')}",
            f"value = tl.load(x + (source + (aD * IH + aH) * IW + aW), inside, 0.0).to({wide_type(kind)})",
            f"total = total + value * tl.load(w + (o * (KD * KH * KW) + t), there, 0.0).to({wide_type(kind)})"]
    lines += ["    " + x for x in row]
    if bias:
        lines.append(f"total = total + tl.load(bias + o, there, 0.0).to({wide_type(kind)})")
    end = ended(kind, "at", "there", fused, along, _ALONE)
    reads = ("x", "w", "bias") if bias else ("x", "w")
    parameters = end.parameters([*shared_parameters(kind, reads, "out", kind), Parameter("TOTAL", SIZE)])
    name = named(f"conv_depthwise{'_bias' if bias else ''}", kind, "ieee", fused)
    return emit(name, parameters, CONSTANTS, [*lines, *end.lines], helpers=end.helpers)


_BACK = epilogue.Site(("image", "there"), ("c", "there"), ("pixel", "there"))


@functools.lru_cache(256)
def input_grad(kind: dt.DType, fused=None, along: tuple = ()) -> Source:
    """Return the kernel gx[n, c, i] = sum over m, t of g[n, c * O + m, (i + padding - t * dilation) / stride] w[c * O + m, t].
    """
    lines = ["at = tl.program_id(0).to(INDEX) * BLOCK + tl.arange(0, BLOCK).to(INDEX)", "there = at < TOTAL",
             *split("at", ["plane", "iD", "iH", "iW"], ["TOTAL", "ID", "IH", "IW"]), "c = plane % GROUPS",
             "image = plane // GROUPS", "pixel = at % (ID * IH * IW)",
             "taps = KD * KH * KW", "outer = QD * QH * QW", f"total = tl.zeros([BLOCK], {wide_type(kind)})",
             "for k in range(0, O * taps):", "    t = k % taps", *_TAPS, "    o = c * O + k // taps"]
    row = ["inside = there"]
    for d in DIMS:
        row += [f"b{d} = i{d} + P{d} - t{d} * L{d}", f"a{d} = b{d} // S{d}",
                f"inside = inside & (b{d} >= 0) & (b{d} % S{d} == 0) & (a{d} < Q{d})"]
    row += ["place = (image * (GROUPS * O) + o) * outer + (aD * QH + aH) * QW + aW",
            f"value = tl.load(g + place, inside, 0.0).to({wide_type(kind)})",
            f"total = total + value * tl.load(w + (o * taps + t), there, 0.0).to({wide_type(kind)})"]
    lines += ["    " + x for x in row]
    end = ended(kind, "at", "there", fused, along, _BACK)
    parameters = end.parameters([*shared_parameters(kind, ("g", "w"), "out", kind), Parameter("TOTAL", SIZE)])
    return emit(named("conv_depthwise_input_grad", kind, "ieee", fused), parameters, CONSTANTS, [*lines, *end.lines],
                helpers=end.helpers)


@functools.lru_cache(32)
def weight_grad(kind: dt.DType) -> Source:
    """Return the kernel out[part, o, t] = sum over the part's n, q of g[n, o, q] x[n, o // O, q * stride - padding + t *
    dilation]. A program holds the products of BLOCK places for all taps, and sums them at the end."""
    wide = dt.float64 if kind is dt.float64 else dt.float32
    lines = ["o = tl.program_id(0).to(INDEX)", "part = tl.program_id(1).to(INDEX)", "taps = KD * KH * KW",
             "outer = QD * QH * QW", "t = tl.arange(0, BT)[:, None]", *[line.strip() for line in _TAPS], "deep = N * outer",
             "share = tl.cdiv(tl.cdiv(deep, PARTS), BLOCK) * BLOCK", "low = part * share",
             "high = tl.minimum(low + share, deep)", f"total = tl.zeros([BT, BLOCK], {TYPE[wide]})",
             "for start in range(low, high, BLOCK):", "    k = (start + tl.arange(0, BLOCK)).to(INDEX)[None, :]"]
    row = split("k", ["n", "qD", "qH", "qW"], ["N", "QD", "QH", "QW"])
    row += [f"a{d} = q{d} * S{d} - P{d} + t{d} * L{d}" for d in DIMS]
    row += [f"inside = (t < taps) & (k < high) & {within([f'a{d}' for d in DIMS], 'I')}",
            "source = (n * GROUPS + o // O) * (ID * IH * IW) + (aD * IH + aH) * IW + aW",
            f"slope = tl.load(g + ((n * (GROUPS * O) + o) * outer + k % outer), k < high, 0.0).to({TYPE[wide]})",
            f"total = total + slope * tl.load(x + source, inside, 0.0).to({TYPE[wide]})"]
    lines += ["    " + x for x in row]
    lines += ["taken = tl.arange(0, BT)", "place = (part * (GROUPS * O) + o) * taps + taken",
              "tl.store(out + place, tl.sum(total, 1), taken < taps)"]
    return emit(named("conv_depthwise_weight_grad", kind, "ieee"), shared_parameters(kind, ("g", "x"), "out", wide),
                (*CONSTANTS, "BT", "PARTS"), lines)


def weight_tile(kernel_size: int) -> tuple:
    """Return the tile of the weight's gradient."""
    rows = power_of_two(kernel_size)
    return ("BT", rows), ("BLOCK", max(16, _HELD // rows))
