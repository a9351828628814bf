"""Numbers of 8 bits: quantised products and convolutions, ranges and the steps that they are divided into."""

import numpy as np
import torch

from ..families import rounded
from ..row import Name
from . import case, cases, formula, into_row
from .elementwise import INF, NAN
from .recurrent import along_time

F = torch.nn.functional


@formula("to_bytes")
def to_bytes(x, *, scale, zero):
    """PyTorch's quantised numbers; nan is 0."""
    found = torch.quantize_per_tensor(x.nan_to_num(0.0, 1e9, -1e9), scale, zero, torch.quint8).int_repr()
    return torch.where(x.isnan(), 0, found).to(torch.uint8)


@formula("from_bytes")
def from_bytes(x, *, scale, zero):
    """Return the values that bytes encode."""
    return (x.float() - zero) * scale


@cases("to_bytes")
def quantised(name, rng):
    for scale, zero in ((0.5, 0), (0.013, 128), (2.0, 255)):
        yield into_row(f"{scale} {zero}", [case("", (rounded(rng, 3, 5) + 1 / 512).astype(np.float32), scale=scale, zero=zero),
                                           case("", np.array([0.0, 0.75, 1.25, -100, 1e30, INF, -INF, NAN, 63.4], "float32"),
                                                scale=scale, zero=zero)])


@cases("from_bytes")
def dequantised(name, rng):
    yield case("all", np.arange(256, dtype=np.uint8), scale=0.5, zero=0)
    yield case("some", rng.integers(0, 256, (3, 4)).astype(np.uint8), scale=0.013, zero=128)


# Products whose first operand is quantised at each call, row by row.


def steps_of_rows(x):
    """Return rows as whole numbers from 0 to 255, their step, and the number of 0."""
    low, high = x.amin(-1, keepdim=True).clamp(max=0), x.amax(-1, keepdim=True).clamp(min=0)
    step = (high - low) / 255
    step = torch.where(step > 1e-35, step, 1.0)
    zero = (-low / step).round().clamp(0, 255)
    return (((x / step).round() + zero).clamp(0, 255) - zero).double(), step


@formula("linear_int8")
def linear_int8(x, weight, scale, bias):
    """Whole numbers multiplied and summed, then scaled."""
    numbers, step = steps_of_rows(x)
    out = (numbers @ weight.double().mT).float() * (step * scale)
    return out if bias is None else out + bias


def whole(rng, *shape):
    return rng.integers(-127, 128, shape).astype(np.int8)


@cases("linear_int8")
def products(name, rng):
    for i, (shape, outs) in enumerate((((3,), 2), ((2, 5), 4), ((2, 2, 70), 5))):
        x = rng.standard_normal(shape).astype(np.float32)
        yield case(f"shape {i + 1}", x, whole(rng, outs, shape[-1]), (rng.random(outs) / 127).astype(np.float32),
                   rounded(rng, outs, dtype="float32") if i % 2 else None)
    yield case("one sign", np.abs(rng.standard_normal((2, 6))).astype(np.float32), whole(rng, 3, 6),
               np.full(3, 0.01, np.float32), None)
    yield case("zeros", np.zeros((2, 3), np.float32), whole(rng, 2, 3), np.full(2, 0.01, np.float32),
               np.array([1.5, -2.0], np.float32))


@formula("recurrent_int8")
def recurrent_int8(z, mask, h, c, weight, scale, bias, *, layer, reverse):
    """A recurrent layer with such products of its state."""
    def product(h):
        return linear_int8(h, weight, scale, None)

    def lstm(z, states):
        i, f, g, o = (z + product(states[0])).chunk(4, 1)
        cell = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
        return [o.sigmoid() * cell.tanh(), cell], []

    def gru(z, states):
        a = product(states[0]) if bias is None else product(states[0]) + bias
        (r, u, m), (zr, zu, zn) = a.chunk(3, 1), z.chunk(3, 1)
        r, u = (zr + r).sigmoid(), (zu + u).sigmoid()
        n = (zn + r * m).tanh()
        return [(1 - u) * n + u * states[0]], []

    if layer == "lstm":
        y, cells = along_time(z, mask, [h, c], lstm, reverse)
        return y, cells[0 if reverse else -1]
    act = getattr(torch, layer.removeprefix("rnn_")) if layer != "gru" else None
    return (along_time(z, mask, [h], gru if act is None else lambda z, s: ([act(z + product(s[0]))], []), reverse)[0],)


@cases("recurrent_int8")
def layers(name, rng):
    mask = np.array([[True, True], [True, False]])
    for i, (layer, gates) in enumerate((("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))):
        for steps, there, reverse in ((2, mask, i % 2 == 0), (1, None, i % 2 == 1))[:2 if gates > 1 else 1]:
            z, h, c = (rng.standard_normal(s).astype(np.float32) for s in ((steps, 2, gates * 3), (2, 3), (2, 3)))
            bias = rounded(rng, 9, dtype="float32") if layer == "gru" and reverse else None
            yield case(f"{layer} {steps}", z, there, h, c if layer == "lstm" else None, whole(rng, 3 * gates, 3),
                       (rng.random(3 * gates) / 127).astype(np.float32), bias, layer=layer, reverse=reverse)


# Convolutions of bytes.


def finished(sums, factor, added, *, dtype, zero, low, high, beside_zero, beside_scale):
    """Return what sums stand for, as floats or as bytes."""
    out = sums.float() * factor
    out = out if added is None else out + (added.float() - beside_zero) * beside_scale
    return (out.round() + zero).clamp(low, high).to(torch.uint8) if dtype == torch.uint8 else out


def unpacked(v, outs, groups):
    """Return the values of channels without what fills blocks of 16 up."""
    return v.reshape(*v.shape[:-1], groups, -1)[..., :outs // groups].flatten(-2)


@formula("conv_int8")
def conv_int8(x, w, start, factor, added, *, outs, stride, dilation, groups, **finish):
    """PyTorch's convolution of whole numbers; weights are (blocks, height, width, depth / 4, 16, 4)."""
    _, height, width, depth = w.shape[:4]
    plain = w.permute(0, 4, 3, 5, 1, 2).reshape(groups, -1, depth * 4, height,
                                                width)[:, :outs // groups].reshape(outs, depth * 4, height, width)
    sums = F.conv2d(x.double().movedim(-1, 1), plain.double(), None, stride, 0, dilation, groups).movedim(1, -1)
    return finished(sums + unpacked(start, outs, groups), unpacked(factor, outs, groups), added, **finish)


@formula("depthwise_int8")
def depthwise_int8(x, w, start, factor, added, *, stride, dilation, **finish):
    """The same with a window for each channel, (height, width, channels)."""
    plain = w.double().movedim(-1, 0).unsqueeze(1)
    sums = F.conv2d(x.double().movedim(-1, 1), plain, None, stride, 0, dilation, w.shape[-1]).movedim(1, -1)
    return finished(sums + start, factor, added, **finish)


@cases("conv_int8", "depthwise_int8")
def convolutions(name, rng):
    geometries = ((1, (1, 1), 4, 1, 1, (1, 1), (1, 1), (1, 1)), (2, (5, 6), 8, 17, 1, (3, 3), (1, 1), (1, 1)),
                  (1, (6, 5), 16, 20, 2, (3, 2), (2, 1), (1, 2)),
                  (2, (4, 3), 4, 33, 1, (1, 1), (1, 1), (1, 1)), (1, (3, 4), 12, 16, 1, (1, 1), (2, 2), (1, 1)))
    finishes = (("uint8", 0, 0, 255), ("uint8", 3, 3, 200), ("float32", 5, 0, 255))
    for i, (images, sizes, channels, outs, groups, window, stride, dilation) in enumerate(geometries):
        kind, zero, low, high = finishes[i % 3]
        counts = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, window, stride, dilation)]
        deep = name == "conv_int8"
        outs = outs if deep else channels
        blocked = groups * -(-(outs // groups) // 16) * 16 if deep else outs
        params = {"stride": stride, "dilation": dilation, "dtype": Name(kind), "zero": zero, "low": low, "high": high,
                  "beside_zero": (7, 128)[i % 2],
                  "beside_scale": (0.375, 0.05)[i // 2 % 2]} | ({"outs": outs, "groups": groups} if deep else {})
        w = rng.integers(-128, 128, (blocked // 16, *window, channels // groups // 4, 16, 4)
                         if deep else (*window, channels)).astype(np.int8)
        added = rng.integers(0, 256, (images, *counts, outs)).astype(np.uint8) if i % 2 or i == 4 else None
        yield case(f"geometry {i + 1}", rng.integers(0, 256, (images, *sizes, channels)).astype(np.uint8), w,
                   rng.integers(-3000, 3000, blocked).astype(np.int32),
                   (rng.random(blocked) / channels / 100).astype(np.float32), added, **params)


# Ranges.


@formula("followed_range")
def followed_range(low, high, seen_low, seen_high, *, share):
    """A moving average of both ends, as PyTorch's observers have it."""
    ends = (low, seen_low), (high, seen_high)
    return tuple([torch.where(seen.isinf(), found, seen + (found - seen) * share) for found, seen in ends])


@formula("range_steps")
def range_steps(low, high, *, least, most, kind, eps, middle):
    """PyTorch's quantisation parameters of observers."""
    if kind == "floating":
        scale = (high - low) / (most - least)
        scale = torch.where(scale > eps, scale, 1.0)
        return scale, -low / scale
    low, high = low.clamp(max=0), high.clamp(min=0)
    if kind == "affine":
        scale = ((high - low) / (most - least)).clamp(min=eps)
        return scale, (least - (low / scale).round()).clamp(least, most).int()
    if kind == "symmetric":
        scale = torch.maximum(-low, high) / ((most - least) / 2)
    else:
        half = (most - least) // 2          # one step more below
        scale = torch.maximum(-low / (half + 1), high / half) * ((2 * half + 1) / (most - least))
    return scale.clamp(min=eps), torch.full(low.shape, middle, dtype=torch.int32)


def ends(rng, *shape):
    pair = np.sort(rounded(rng, 2, *shape, low=-6, high=6), axis=0).astype(np.float32)
    return np.asarray(pair[0]), np.asarray(pair[1])


@cases("followed_range")
def followed(name, rng):
    for share, shape in ((1.0, ()), (0.25, (5,)), (0.0625, (2, 3))):
        yield case(f"share {share}", *ends(rng, *shape), *ends(rng, *shape), share=share)
    fresh, found = np.array([INF, 1.0, 3.0], np.float32), np.array([0.5, 2.0, -1.0], np.float32)
    yield case("nothing seen", found, found + 1, fresh, -fresh, share=0.25)


@cases("range_steps")
def steps(name, rng):
    for i, kind in enumerate(("affine", "symmetric", "fitted", "floating")):
        calls = []
        for j, (least, most, middle) in enumerate(((0, 255, 128), (-128, 127, 0), (0, 15, 7))):
            eps = (2.0 ** -23, 0.5, 1e-3)[(i + j) % 3]
            calls.append(case("", *ends(rng, *((), (6,), (2, 2))[j]), least=least, most=most, kind=kind, eps=eps,
                              middle=middle))
        calls.append(case("", np.array([0.0, -3.0, 1.0, -1.0], np.float32), np.array([0.0, -1.0, 2.0, 5.0], np.float32),
                          least=-8, most=7, kind=kind,
                          eps=0.0625, middle=1))
        yield into_row(kind, calls[:2])
        yield into_row(f"{kind}, more", calls[2:])
