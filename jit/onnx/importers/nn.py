"""Importers of ONNX products, normalisations, losses, sampling and attention's parts."""

import math

import numpy as np

from ....ir import dtype as dt
from ....ir.ops.nn.norm import batch_norm, layer_norm, rms_norm
from ....ir.ops.nn.resample import grid_sample
from ....runtime.nn import functional as F
from .registry import ing, ints, onnx_op, onnx_ops, to_tensor, whole_axis
from .run_budget import allow_numbers


@onnx_op("MatMul")
def _matmul(call, a, b):
    if a.dtype.is_inexact:
        return ing.matmul(a, b)
    return ing.matmul(a.to(dt.float64), b.to(dt.float64)).to(a.dtype)


@onnx_op("Gemm")
def _gemm(call, a, b, c=None):
    alpha, beta = call.get("alpha", 1.0), call.get("beta", 1.0)
    a = a.T if call.get("transA", 0) else a
    if alpha == beta == 1 and call.get("transB", 0) and c is not None and c.ndim == 1 and c.shape[0] == b.shape[0]:
        return F.linear(a, b, c)
    out = _matmul(call, a, b.T if call.get("transB", 0) else b)
    out = out if alpha == 1 else out * alpha
    return out if c is None or beta == 0 else out + (c if beta == 1 else c * beta)


@onnx_op("MatMulInteger")
def matmul_integer(call, a, b, a_zero=None, b_zero=None):
    """Return a product of integers less their zero points, exactly."""
    a, b = a.to(dt.float64), b.to(dt.float64)
    if a_zero is not None:
        a = a - (a_zero.to(dt.float64).unsqueeze(-1) if a_zero.ndim else a_zero.to(dt.float64))
    if b_zero is not None:
        b = b - b_zero.to(dt.float64)
    return ing.matmul(a, b).to(dt.int32)


# Normalisations.


@onnx_op("BatchNormalization")
def _batch_normalisation(call, x, scale, bias, mean, var):
    eps = call.get("epsilon", 1e-5)
    if not call.get("training_mode", 0):
        if scale.dtype is x.dtype and mean.dtype is x.dtype:
            return batch_norm(x, scale, bias, mean, var, eps=eps)
        scale, bias, mean, var = [v.to(dt.float32) for v in (scale, bias, mean, var)]
        return batch_norm(x.to(dt.float32), scale, bias, mean, var, eps=eps).to(x.dtype)
    keep = call.get("momentum", 0.9)
    others = (0, *range(2, x.ndim))
    own_mean, own_var = ing.mean(x, others), ing.var(x, others, correction=0)
    y = batch_norm(x, scale.to(x.dtype), bias.to(x.dtype), own_mean, own_var, eps=eps)
    return y, mean * keep + own_mean.to(mean.dtype) * (1 - keep), var * keep + own_var.to(var.dtype) * (1 - keep)


@onnx_op("GroupNormalization")
def _group_normalisation_by_group(call, x, scale, bias):
    groups = call.need("num_groups")
    each = x.shape[1] // groups
    return _group_normalisation(call, x, ing.repeat_interleave(scale, each), ing.repeat_interleave(bias, each))


@onnx_op("GroupNormalization", since=21)
def _group_normalisation(call, x, scale, bias):
    return F.group_norm(x, call.need("num_groups"), scale, bias, call.get("epsilon", 1e-5))


@onnx_op("LayerNormalization")
def _layer_normalisation(call, x, scale, bias=None):
    """Normalise over the dimensions from an axis on; return mean and inverse deviation if requested."""
    axis, eps = whole_axis(call.get("axis", -1), x.ndim), call.get("epsilon", 1e-5)
    dims, shape = x.ndim - axis, tuple(x.shape[axis:])
    if tuple(scale.shape) == shape and (bias is None or tuple(bias.shape) == shape):
        y = layer_norm(x, scale, bias, dims=dims, eps=eps)
    else:
        y = layer_norm(x, None, None, dims=dims, eps=eps) * scale
        y = y if bias is None else y + bias
    if not call.wants(1) and not call.wants(2):
        return y
    wide = x.to(dt.accumulator(x.dtype))
    over = tuple(range(axis, x.ndim))
    return y, ing.mean(wide, over, True), ing.rsqrt(ing.var(wide, over, correction=0, keepdim=True) + eps)


@onnx_op("RMSNormalization")
def _rms_normalisation(call, x, scale):
    axis = whole_axis(call.get("axis", -1), x.ndim)
    return rms_norm(x, None, dims=x.ndim - axis, eps=call.get("epsilon", 1e-5)) * scale


@onnx_op("LRN")
def _local_response(call, x):
    size = call.need("size")
    before = (size - 1) // 2
    squares = F.pad((x * x).unsqueeze(1).flatten(3), (0, 0, before, size - 1 - before))
    total = squares.unfold(2, size, 1).sum(-1).squeeze(1).reshape(x.shape)
    return x / ing.pow(total * (call.get("alpha", 1e-4) / size) + call.get("bias", 1.0), call.get("beta", 0.75))


@onnx_op("Dropout")
def _dropout_at_inference(call, x):
    return (x, ing.ones(tuple(x.shape), dtype=dt.bool_)) if call.results > 1 else x


@onnx_op("Dropout", since=12, host=(1, 2))
def _dropout(call, x, ratio=None, training=None):
    p = 0.5 if ratio is None else float(ratio.reshape(-1)[0])
    if training is None or not bool(training.reshape(-1)[0]) or p == 0:
        return _dropout_at_inference(call, x)
    mask = ing.rand(tuple(x.shape)) >= p
    return ing.where(mask, x / (1 - p), ing.zeros_like(x)), mask


# Losses.


def _loss(values, weights, reduction):
    if reduction == "none":
        return values
    total = ing.sum(values)
    return total if reduction == "sum" else total / (values.numel() if weights is None else ing.sum(weights))


@onnx_op("NegativeLogLikelihoodLoss")
def _nll_loss(call, x, target, weight=None):
    ignored = call.get("ignore_index")
    target = target.to(dt.int64)
    valid = None if ignored is None else ing.ne(target, ignored)
    place = target if valid is None else ing.where(valid, target, ing.zeros_like(target))
    values = -ing.gather(x, 1, place.unsqueeze(1)).squeeze(1)
    scale = None if weight is None else weight[place]
    if valid is not None:
        scale = valid.to(x.dtype) if scale is None else ing.where(valid, scale, ing.zeros_like(scale))
    return _loss(values if scale is None else values * scale, scale, call.get("reduction", "mean"))


@onnx_op("SoftmaxCrossEntropyLoss")
def _cross_entropy(call, scores, target, weight=None):
    log_probabilities = F.log_softmax(scores, 1)
    return _nll_loss(call, log_probabilities, target, weight), log_probabilities


# Sampling.

_SAMPLING = {"bilinear": "linear", "linear": "linear", "nearest": "nearest", "bicubic": "cubic", "cubic": "cubic"}


@onnx_op("GridSample")
def _sample(call, x, grid):
    mode = _SAMPLING[call.get("mode", "linear")]
    return grid_sample(x, grid, mode=mode, padding_mode=call.get("padding_mode", "zeros"),
                       align_corners=bool(call.get("align_corners", 0)))


@onnx_op("RotaryEmbedding")
def _rotate(call, x, cosines, sines, positions=None):
    """Rotate pairs of elements by angles that depend on their position."""
    shape, heads = x.shape, call.get("num_heads", 0)
    if x.ndim == 3:
        x = x.reshape(shape[0], shape[1], heads, -1).transpose(1, 2)
    rotated = call.get("rotary_embedding_dim", 0) or x.shape[-1]
    if positions is not None:
        cosines, sines = cosines[positions], sines[positions]
    cosines, sines = cosines.unsqueeze(1)[..., :rotated // 2], sines.unsqueeze(1)[..., :rotated // 2]
    part, rest = x[..., :rotated], x[..., rotated:]
    if call.get("interleaved", 0):
        a, b = part[..., 0::2], part[..., 1::2]
        both = [cosines * a - sines * b, sines * a + cosines * b]
        out = ing.stack(both, -1).reshape(part.shape)
    else:
        a, b = part[..., :rotated // 2], part[..., rotated // 2:]
        out = ing.cat([cosines * a - sines * b, sines * a + cosines * b], -1)
    out = ing.cat([out, rest], -1) if rest.shape[-1] else out
    return out.transpose(1, 2).reshape(shape) if len(shape) == 3 else out


# Signals.


def _cosine_window(coefficients):
    def run(call, size):
        n = int(size.reshape(-1)[0])
        allow_numbers(n, "a window")
        steps = n if call.get("periodic", 1) else n - 1
        angle = 2 * np.pi * np.arange(n) / steps
        window = sum(c * np.cos(k * angle) for k, c in enumerate(coefficients))
        return to_tensor(np.asarray(window, np.float64)).to(call.dtype("output_datatype", 1))

    return run


for _name, _coefficients in {"HannWindow": (0.5, -0.5), "HammingWindow": (25 / 46, -21 / 46),
                             "BlackmanWindow": (0.42, -0.5, 0.08)}.items():
    onnx_op(_name, host=(0,))(_cosine_window(_coefficients))


def _fourier(x, axis, length, inverse, onesided):
    """Transform (..., parts) along an axis, as a product with the DFT matrix."""
    own = x.shape[axis]
    n = length if length is not None else 2 * (own - 1) if onesided and inverse else own
    x = x.transpose(axis, x.ndim - 2)
    allow_numbers(n, "a Fourier transform")
    length_read = min(n, x.shape[-2])
    count = n // 2 + 1 if onesided and not inverse else n
    source = n // 2 + 1 if onesided and inverse else length_read
    real, imaginary = x[..., :length_read, 0], x[..., :length_read, 1] if x.shape[-1] == 2 else None
    if onesided and inverse:
        back = np.arange(1, n - source + 1)[::-1]
        mirror = ing.as_tensor(back.copy())
        real = ing.cat([real, real.index_select(-1, mirror)], -1)
        imaginary = None if imaginary is None else ing.cat([imaginary, -imaginary.index_select(-1, mirror)], -1)
        length_read = n
    allow_numbers(length_read * count, "a matrix of a Fourier transform")
    angle = 2 * np.pi * (np.outer(np.arange(length_read), np.arange(count)) % n) / n * (1 if inverse else -1)
    scale = 1 / n if inverse else 1.0
    c, s = [to_tensor((f(angle) * scale).astype(x.dtype.np)) for f in (np.cos, np.sin)]
    out = [ing.matmul(real, c), ing.matmul(real, s)]
    if imaginary is not None:
        out = [out[0] - ing.matmul(imaginary, s), out[1] + ing.matmul(imaginary, c)]
    parts = out[:1] if onesided and inverse else out
    return ing.stack(parts, -1).transpose(axis, x.ndim - 2)


@onnx_op("DFT", since=20, host=(1, 2))
def fourier(call, x, length=None, axis=None):
    """Return the discrete Fourier transform along the axis that an input names."""
    return _fourier(x, whole_axis(-2 if axis is None else ints(axis)[0], x.ndim), None if length is None else ints(length)[0],
                    bool(call.get("inverse", 0)), bool(call.get("onesided", 0)))


@onnx_op("STFT", host=(1, 3))
def _short_fourier(call, signal, step, window=None, length=None):
    n = ints(length)[0] if length is not None else window.shape[0]
    x = signal if signal.ndim == 3 else signal.unsqueeze(-1)
    frames = x.unfold(1, n, ints(step)[0]).transpose(2, 3)
    if window is not None:
        frames = frames * window.reshape(-1, 1)
    return _fourier(frames, 2, None, False, bool(call.get("onesided", 1)))


@onnx_op("MelWeightMatrix", host=(0, 1, 2, 3, 4))
def _mel_weights(call, bins, size, rate, low, high):
    bins, size, rate, low, high = [float(np.asarray(v).reshape(-1)[0]) for v in (bins, size, rate, low, high)]
    spectrum = int(size) // 2 + 1
    allow_numbers((int(bins) + 2) * spectrum, "a matrix of mel weights")
    mel_low, mel_high = [2595 * math.log10(1 + f / 700) for f in (low, high)]
    step = (mel_high - mel_low) / (bins + 2)
    hertz = 700 * (10 ** ((np.arange(int(bins) + 2) * step + mel_low) / 2595) - 1)
    edges = np.floor((size + 1) * hertz / rate).astype(np.int64)
    out = np.zeros((spectrum, int(bins)))
    for i in range(int(bins)):
        lower, centre, upper = edges[i:i + 3]
        if lower == centre:
            out[centre, i] = 1
        else:
            out[lower:centre + 1, i] = (np.arange(lower, centre + 1) - lower) / (centre - lower)
        if upper > centre:
            out[centre:upper, i] = (upper - np.arange(centre, upper)) / (upper - centre)
    return to_tensor(out).to(call.dtype("output_datatype", 1))


onnx_ops({
    "Einsum": lambda call, *xs: ing.einsum(call.need("equation").replace(" ", ""), *xs),
    "InstanceNormalization":
        lambda call, x, scale, bias: F.instance_norm(x, None, None, scale, bias, True, 0.0, call.get("epsilon", 1e-5)),
})


onnx_op("DFT", since=17, host=(1,))(lambda call, x, length=None: fourier(call, x, length, [call.get("axis", 1)]))
onnx_op("AffineGrid", host=(1,))(lambda call, theta, size: F.affine_grid(theta, ints(size), bool(call.get("align_corners", 0))))
