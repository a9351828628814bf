"""Convolutions over any number of spatial dims: (N, C, *spatial) with a weight (O, C / groups, *kernel).

Each of three records has the other two as gradients: `conv`, its gradient for the input (the transposed convolution) and its
gradient for the weight. `im2col` and `col2im` lay windows out as columns and add them back.
"""

from math import prod

import numpy as np

from ...errors import DTypeError, ShapeError
from ...opdef.batch_rules import IMAGES
from ...opdef.op import Template, op
from ...opdef.param_checks import check_int, check_ints, check_sizes
from ..core import reduce as rd
from ..core.batching import channel_values, from_channels, into_channels, joined, parted
from ..core.elementwise_rules import wide
from .windows import (
    add_windows,
    batches,
    check_windows,
    kernel_offsets,
    pad_spatial,
    padded_sizes,
    unpad_spatial,
    window_counts,
    windows,
)

# Shape rules.


def _check_dtypes(name, *avals):
    present = [a for a in avals if a is not None]
    if any(a.dtype is not present[0].dtype for a in present):
        raise DTypeError(f"{name} takes arguments of one dtype, got {' and '.join(map(str, present))}; cast one with .to()")


def _check_weight(name, channels, x, w, groups):
    check_int(groups, f"{name}: groups", 1)
    if w.ndim != x.ndim:
        raise ShapeError(f"{name}: input {x} and weight {w} must have the same number of dimensions")
    if w.shape[0] % groups:
        raise ShapeError(f"{name}: groups={groups} must divide the {w.shape[0]} leading channels of {w}")
    if w.shape[1] * groups != channels:
        raise ShapeError(f"{name}: input {x} has {channels} channels, but weight {w} with groups={groups} is for "
                         f"{w.shape[1] * groups}")


def _infer_conv(x, w, b, *, stride, padding, dilation, groups):
    _check_dtypes("conv", x, w, b)
    _check_weight("conv", x.shape[1] if x.ndim > 1 else 0, x, w, groups)
    counts = check_windows("conv", x, w.shape[2:], stride, padding, dilation)
    if b is not None and b.shape != w.shape[:1]:
        raise ShapeError(f"conv: bias {b} must have one element for each of the {w.shape[0]} output channels of weight {w}")
    return x.with_shape((x.shape[0], w.shape[0], *counts))


def _infer_input_grad(g, w, *, size, stride, padding, dilation, groups):
    _check_dtypes("conv_transpose", g, w)
    check_sizes(size, "conv_transpose: size")
    check_int(groups, "conv_transpose: groups", 1)
    if g.ndim != w.ndim or g.ndim != len(size) + 2:
        raise ShapeError(f"conv_transpose: {g} and weight {w} must have the same number of dimensions, for a result of {size}")
    if g.shape[1] != w.shape[0] or w.shape[0] % groups:
        raise ShapeError(f"conv_transpose: {g} has {g.shape[1]} channels, weight {w} is for {w.shape[0]}, groups={groups} "
                         "must divide them")
    out = g.with_shape((g.shape[0], w.shape[1] * groups, *size))
    counts = check_windows("conv_transpose", out, w.shape[2:], stride, padding, dilation)
    if counts != g.shape[2:]:
        raise ShapeError(f"conv_transpose: a convolution of {out} with {w} gives {counts}, not the {list(g.shape[2:])} of {g}")
    return out


def _infer_weight_grad(x, g, *, size, stride, padding, dilation, groups):
    _check_dtypes("conv_weight_grad", x, g)
    check_sizes(size, "conv_weight_grad: size")
    check_int(groups, "conv_weight_grad: groups", 1)
    if g.ndim != x.ndim or g.shape[:1] != x.shape[:1]:
        raise ShapeError(f"conv_weight_grad: {x} and {g} must have the same number of dimensions and batch size")
    counts = check_windows("conv_weight_grad", x, size, stride, padding, dilation)
    if counts != g.shape[2:] or x.shape[1] % groups or g.shape[1] % groups:
        raise ShapeError(f"conv_weight_grad: a kernel {size} over {x} with groups={groups} does not give {g}")
    return x.with_shape((g.shape[1], x.shape[1] // groups, *size))


# Numpy meanings: windows as columns and one matrix product per image and group; depthwise convolutions tap by tap.

_FEW = 32             # below this many windows an image is too small for a matrix product of its own
_IN_CACHE = 1 << 18   # elements of a batch part that stay in a core's cache with what is computed from them


def _is_depthwise(channels, w_shape, groups):
    return w_shape[1] == 1 and groups == channels and groups > 1


def _per_channel(w, tap, multiplier, rank):
    """Lay one tap of a depthwise weight out over (N, C, multiplier, *counts)."""
    return w[(slice(None), 0, *tap)].reshape((-1, multiplier) + (1,) * rank)


def _depthwise(x, w, counts, stride, dilation):
    n, c = x.shape[:2]
    m, rank = w.shape[0] // c, len(counts)
    out = np.zeros((n, c, m, *counts), x.dtype)
    for part in batches(n, c * m * prod(counts), _IN_CACHE):
        total, scaled = out[part], np.empty_like(out[part])
        for tap, where in kernel_offsets(w.shape[2:], counts, stride, dilation):
            np.multiply(x[(part, slice(None), *where)][:, :, None], _per_channel(w, tap, m, rank), out=scaled)
            total += scaled
    return out


def _columns_batch_inside(view, part, groups, rank):
    """Return windows as (groups, C / groups * kernel, images * counts)."""
    lines = np.moveaxis(view[part], 0, 1 + rank)
    rows = prod(view.shape[1:2 + rank]) // groups
    return lines.reshape(groups, rows, prod(lines.shape[1 + rank:]))


def _dense(x, w, counts, stride, dilation, groups):
    n, o = x.shape[0], w.shape[0]
    kernel, rank, p = w.shape[2:], len(counts), prod(counts)
    view = windows(x, kernel, stride, dilation)
    rows = prod(w.shape[1:])
    matrix = w.reshape(groups, o // groups, rows)
    out = np.empty((n, groups, o // groups, p), x.dtype)
    for part in batches(n, groups * rows * p):
        if p < _FEW and n > 1:
            columns = _columns_batch_inside(view, part, groups, rank)
            found = np.matmul(matrix, columns).reshape(groups, o // groups, part.stop - part.start, p)
            out[part] = np.moveaxis(found, 2, 0)
        else:
            np.matmul(matrix, view[part].reshape(part.stop - part.start, groups, rows, p), out=out[part])
    return out


def _conv(x, w, b, *, stride, padding, dilation, groups):
    kind, x, w = x.dtype, wide(x), wide(w)
    x = pad_spatial(x, padding)
    counts = window_counts(x.shape[2:], w.shape[2:], stride, ((0, 0),) * len(stride), dilation)
    if _is_depthwise(x.shape[1], w.shape, groups):
        out = _depthwise(x, w, counts, stride, dilation)
    else:
        out = _dense(x, w, counts, stride, dilation, groups)
    out = out.reshape(x.shape[0], w.shape[0], *counts)
    if b is not None:
        out += wide(b).reshape((-1,) + (1,) * len(counts))
    return out.astype(kind, copy=False)


def _spread_depthwise(g, w, sizes, stride, dilation, groups):
    n, o, *counts = g.shape
    m, rank = o // groups, len(counts)
    g = g.reshape(n, groups, m, *counts)
    full = np.zeros((n, groups, *sizes), g.dtype)
    for part in batches(n, o * prod(counts), _IN_CACHE):
        scaled = np.empty_like(g[part])
        for tap, where in kernel_offsets(w.shape[2:], counts, stride, dilation):
            np.multiply(g[part], _per_channel(w, tap, m, rank), out=scaled)
            full[(part, slice(None), *where)] += scaled[:, :, 0] if m == 1 else scaled.sum(axis=2)
    return full


def _spread_dense(g, w, sizes, stride, dilation, groups):
    n, o, *counts = g.shape
    rows, kernel = prod(w.shape[1:]), w.shape[2:]
    matrix = w.reshape(groups, o // groups, rows).transpose(0, 2, 1)
    g = g.reshape(n, groups, o // groups, prod(counts))
    full = np.empty((n, w.shape[1] * groups, *sizes), g.dtype)
    for part in batches(n, groups * rows * prod(counts)):
        columns = np.matmul(matrix, g[part]).reshape(part.stop - part.start, w.shape[1] * groups, *kernel, *counts)
        full[part] = add_windows(columns, sizes, stride, dilation)
    return full


def _input_grad(g, w, *, size, stride, padding, dilation, groups):
    kind, g, w = g.dtype, wide(g), wide(w)
    sizes = padded_sizes(size, padding)
    if _is_depthwise(w.shape[1] * groups, w.shape, groups):
        full = _spread_depthwise(g, w, sizes, stride, dilation, groups)
    else:
        full = _spread_dense(g, w, sizes, stride, dilation, groups)
    return unpad_spatial(full, padding).astype(kind, copy=False)


def _depthwise_weight_grad(x, g, kernel, stride, dilation, groups):
    n, o, *counts = g.shape
    g = g.reshape(n, groups, o // groups, *counts)
    total = np.zeros((groups, o // groups, *kernel), g.dtype)
    over = (0, *range(3, g.ndim))
    for part in batches(n, o * prod(counts), _IN_CACHE):
        for tap, where in kernel_offsets(kernel, counts, stride, dilation):
            total[(..., *tap)] += (g[part] * x[(part, slice(None), *where)][:, :, None]).sum(axis=over)
    return total


def _dense_weight_grad(x, g, kernel, stride, dilation, groups):
    n, o, *counts = g.shape
    rank, p = len(kernel), prod(counts)
    view = windows(x, kernel, stride, dilation)
    rows = x.shape[1] // groups * prod(kernel)
    g = g.reshape(n, groups, o // groups, p)
    total = np.zeros((groups, o // groups, rows), g.dtype)
    for part in batches(n, groups * rows * p):
        columns = _columns_batch_inside(view, part, groups, rank)
        lines = g[part].transpose(1, 2, 0, 3).reshape(groups, o // groups, columns.shape[2])
        total += np.matmul(lines, columns.transpose(0, 2, 1))
    return total


def _weight_grad(x, g, *, size, stride, padding, dilation, groups):
    kind, x, g = x.dtype, wide(x), wide(g)
    shape = (g.shape[1], x.shape[1] // groups, *size)
    x = pad_spatial(x, padding)
    find = _depthwise_weight_grad if _is_depthwise(x.shape[1], shape, groups) else _dense_weight_grad
    return find(x, g, size, stride, dilation, groups).reshape(shape).astype(kind, copy=False)


# The records.


def _flops(y, w):
    return 2 * prod(y.shape) * prod(w.shape[1:])


def _batch_conv(size, op, args, held, params):
    """One shared weight: the samples are more images; else each sample is a group of channels."""
    x, w, *b = args
    if not any(held[1:]):
        return parted(op(joined(x), w, *b, **params), size)
    bias = [channel_values(v, size, has) for v, has in zip(b, held[2:])]
    return from_channels(op(into_channels(x, size, held[0]), channel_values(w, size, held[1]), *bias,
                            **{**params, "groups": params["groups"] * size}), size)


def _batch_weight_grad(size, op, args, held, params):
    x, g = [into_channels(a, size, has) for a, has in zip(args, held)]
    return parted(op(x, g, **{**params, "groups": params["groups"] * size}), size)


conv = op(
    "conv", infer=_infer_conv, ref=_conv,
    vjp=(lambda g, out, x, w, b, **window: conv_input_grad(g, w, size=x.shape[2:], **window),
         lambda g, out, x, w, b, **window: conv_weight_grad(x, g, size=w.shape[2:], **window),
         lambda g, out, x, w, b, **window: rd.sum_(g, dim=(0, *range(2, g.ndim)), keepdim=False)),
    lower=Template("conv"),
    batch=_batch_conv, traits=("autocast_low", "reads_operands"),
    flops=lambda args, outs, params: _flops(outs[0], args[1]),
    doc="Cross-correlation of x with w, plus an optional bias for each channel. Low precision accumulates in float32.")
conv_input_grad = op(
    "conv_input_grad", title="conv_transpose", infer=_infer_input_grad, ref=_input_grad,
    vjp=(lambda g, out, x, w, *, size, **window: conv(g, w, None, **window),
         lambda g, out, x, w, *, size, **window: conv_weight_grad(g, x, size=w.shape[2:], **window)),
    lower=Template("conv"),
    batch=_batch_conv, traits=("autocast_low", "reads_operands"),
    flops=lambda args, outs, params: _flops(args[0], args[1]),
    doc="The gradient of conv for its input of spatial `size`: the transposed convolution.")
conv_weight_grad = op(
    "conv_weight_grad", infer=_infer_weight_grad, ref=_weight_grad,
    vjp=(lambda g, out, x, y, *, size, **window: conv_input_grad(y, g, size=x.shape[2:], **window),
         lambda g, out, x, y, *, size, **window: conv(x, g, None, **window)),
    lower=Template("conv"), batch=_batch_weight_grad, flops=lambda args, outs, params: _flops(args[1], outs[0]),
    doc="The gradient of conv for its weight, whose kernel has `size`.")

# Windows as columns.


def _infer_im2col(x, *, kernel, stride, padding, dilation):
    counts = check_windows("unfold", x, kernel, stride, padding, dilation)
    return x.with_shape((x.shape[0], x.shape[1] * prod(kernel), prod(counts)))


def _im2col(x, *, kernel, stride, padding, dilation):
    view = windows(pad_spatial(x, padding), kernel, stride, dilation)
    columns = view.reshape(x.shape[0], x.shape[1] * prod(kernel), prod(view.shape[2 + len(kernel):]))
    return columns if columns.flags.owndata else columns.copy()


def _infer_col2im(columns, *, size, kernel, stride, padding, dilation):
    check_sizes(size, "fold: size")
    if columns.ndim != 3 or columns.shape[1] % prod(check_ints(kernel, "fold: kernel", least=1)):
        raise ShapeError(f"fold takes columns [N, C * {prod(kernel)}, windows] for kernel {kernel}, got {columns}")
    out = columns.with_shape((columns.shape[0], columns.shape[1] // prod(kernel), *size))
    counts = check_windows("fold", out, kernel, stride, padding, dilation)
    if prod(counts) != columns.shape[2]:
        raise ShapeError(f"fold of {columns}: a result of {size} has {prod(counts)} windows {counts} of kernel {kernel}, not "
                         f"{columns.shape[2]}")
    return out


def _col2im(columns, *, size, kernel, stride, padding, dilation):
    kind, x = columns.dtype, wide(columns)
    counts = window_counts(size, kernel, stride, padding, dilation)
    x = x.reshape(x.shape[0], x.shape[1] // prod(kernel), *kernel, *counts)
    full = add_windows(x, padded_sizes(size, padding), stride, dilation)
    return unpad_spatial(full, padding).astype(kind, copy=False)


im2col = op(
    "im2col", title="unfold", infer=_infer_im2col, ref=_im2col,
    vjp=(lambda g, out, x, **window: col2im(g, size=x.shape[2:], **window),),
    lower=Template("gather"), batch=IMAGES, traits=("exact",), doc="All windows as columns (N, C * kernel, windows).")
col2im = op(
    "col2im", title="fold", infer=_infer_col2im, ref=_col2im,
    vjp=(lambda g, out, x, *, size, **window: im2col(g, **window),),
    lower=Template("scatter"), batch=IMAGES, doc="Adds columns back to where im2col took them.")
