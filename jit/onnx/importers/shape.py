"""Importers of ONNX operators on shapes, and of whole-tensor data movement."""

import math

import numpy as np

from ....ir.errors import FileError, ShapeError
from ....ir.opdef.aval import broadcast_shapes
from ....ir.ops.core.shape import pad as pad_op
from ....ir.ops.nn.conv import col2im
from ....ir.ops.nn.resample import border_pad
from .registry import as_rows, ing, ints, onnx_op, onnx_ops, whole_axis
from .symbolic_values import known, settled


@onnx_op("Reshape", host=(1,))
def _reshape(call, x, shape):
    sizes = ints(shape)
    if not call.get("allowzero", 0):
        if len(sizes) > x.ndim and 0 in sizes[x.ndim:]:
            raise ShapeError(f"Reshape of {x.aval} to {sizes}: a 0 stands for a size that is not there")
        sizes = [x.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    return x.reshape(sizes)


def _squeezed(x, axes):
    if axes is None:
        return x.reshape([n for n in x.shape if n != 1])
    axes = {whole_axis(a, x.ndim) for a in axes}
    if any(x.shape[a] != 1 for a in axes):
        raise ShapeError(f"Squeeze of {x.aval} at {sorted(axes)}: only sizes of 1 can be left out")
    return x.reshape([n for i, n in enumerate(x.shape) if i not in axes])


def _unsqueezed(x, axes):
    ndim = x.ndim + len(axes)
    axes = {whole_axis(a, ndim) for a in axes}
    rest = iter(x.shape)
    return x.reshape([1 if i in axes else next(rest) for i in range(ndim)])


def _parts(call, x, sizes):
    axis = whole_axis(call.get("axis", 0), x.ndim)
    if sizes is None:
        count = call.get("num_outputs", call.results)
        if not 0 < count == call.results:
            raise FileError(f"num_outputs of a Split is {count}, and the node has {call.results} outputs")
        each = -(-x.shape[axis] // count)
        sizes = [each] * (count - 1) + [x.shape[axis] - each * (count - 1)]
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0:
        raise ShapeError(f"Split of {x.aval} along {axis} into {sizes}: the parts do not add up to its size")
    starts = np.cumsum([0, *sizes])
    return tuple([x.narrow(axis, int(s), n) for s, n in zip(starts, sizes)])


def stepped(x, axis, start, stop, step):
    """Return x[start:stop:step] along an axis with any step, by Python's rules."""
    n = x.shape[axis]
    if step == 0:
        raise ShapeError(f"Slice of {x.aval} along {axis}: the step must not be 0")
    if step > 0:
        return x[(slice(None),) * axis + (slice(start, stop, step),)]
    taken = range(*slice(start, stop, step).indices(n)) if start >= -n else range(0)
    if not len(taken):
        return x.narrow(axis, 0, 0)
    return x[(slice(None),) * axis + (slice(taken[-1], taken[0] + 1, -step),)].flip(axis)


def _sliced(x, starts, ends, axes, steps):
    axes = range(len(starts)) if axes is None else axes
    for start, end, axis, step in zip(starts, ends, axes, steps or [1] * len(starts)):
        x = stepped(x, whole_axis(axis, x.ndim), start, end, step)
    return x


_BORDERS = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def _padded(call, x, pads, value, axes=None):
    axes = list(range(x.ndim)) if axes is None else [whole_axis(a, x.ndim) for a in axes]
    low, high = [0] * x.ndim, [0] * x.ndim
    for i, axis in enumerate(axes):
        low[axis], high[axis] = pads[i], pads[i + len(axes)]
    mode = call.get("mode", "constant")
    if mode == "constant":
        return pad_op(x, low=tuple(low), high=tuple(high), interior=(0,) * x.ndim, value=value)
    if mode not in _BORDERS:
        raise FileError(f"operator Pad has the unknown mode {mode!r}")
    return border_pad(x, low=tuple(low), high=tuple(high), mode=_BORDERS[mode])


@onnx_op("Pad", since=11, host=(1, 2, 3))
def pad(call, x, pads, value=None, axes=None):
    """Pad by inputs."""
    fill = 0 if value is None else np.asarray(value).reshape(-1)[0].item()
    return _padded(call, x, ints(pads), fill, ints(axes))


@onnx_op("DepthToSpace", "SpaceToDepth")
def _blocks(call, x):
    """Move blocks of pixels from the channels into the plane, or back; the channel comes last (DCR) or first."""
    (n, c, h, w), b, channel_last = x.shape, call.need("blocksize"), call.get("mode", "DCR") == "DCR"
    if call.kind == "SpaceToDepth":
        x = x.reshape(n, c, h // b, b, w // b, b).permute(*(0, 3, 5, 1, 2, 4) if channel_last else (0, 1, 3, 5, 2, 4))
        return x.reshape(n, c * b * b, h // b, w // b)
    depth = c // (b * b)
    if channel_last:
        x = x.reshape(n, b, b, depth, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = x.reshape(n, depth, b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, depth, h * b, w * b)


@onnx_op("CenterCropPad", host=(1,))
def _center_crop_pad(call, x, shape):
    axes = call.get("axes", list(range(x.ndim)))
    for axis, size in zip(axes, ints(shape)):
        axis = whole_axis(axis, x.ndim)
        n = x.shape[axis]
        if n > size:
            x = x.narrow(axis, (n - size) // 2, size)
        elif n < size:
            low = [0] * x.ndim
            high = list(low)
            low[axis] = (size - n) // 2
            high[axis] = size - n - low[axis]
            x = pad_op(x, low=tuple(low), high=tuple(high), interior=(0,) * x.ndim, value=0)
    return x


@onnx_op("Col2Im", host=(1, 2))
def _columns_to_image(call, x, size, kernel):
    size, kernel = tuple(ints(size)), tuple(ints(kernel))
    rank = len(size)
    pads = call.get("pads", [0] * 2 * rank)
    return col2im(x, size=size, kernel=kernel, stride=tuple(call.get("strides", [1] * rank)),
                  padding=tuple(zip(pads[:rank], pads[rank:])), dilation=tuple(call.get("dilations", [1] * rank)))


@onnx_op("Trilu", host=(1,))
def _triangle(call, x, k=None):
    offset = 0 if k is None else int(k.reshape(-1)[0])
    return ing.triu(x, offset) if call.get("upper", 1) else ing.tril(x, offset)


onnx_ops({
    "Shape": lambda call, x: known(tuple(x.shape)[call.get("start", 0):call.get("end")]),
    "Size": lambda call, x: settled(np.asarray(math.prod(x.shape), object)) if x.ndim else np.array(1, np.int64),
}, raw=True)


onnx_ops({
    "Flatten": lambda call, x: as_rows(x, call.get("axis", 1)),
    "Squeeze": lambda call, x: _squeezed(x, call.get("axes")),
    "Unsqueeze": lambda call, x: _unsqueezed(x, call.need("axes")),
    "Transpose": lambda call, x: x.permute(call.get("perm", list(range(x.ndim))[::-1])),
    "Concat": lambda call, *xs: ing.cat(list(xs), call.need("axis")) if len(xs) > 1 else xs[0],
    "Split": lambda call, x: _parts(call, x, call.get("split")),
    "Slice": lambda call, x: _sliced(x, call.need("starts"), call.need("ends"), call.get("axes"), None),
    "Pad": lambda call, x: _padded(call, x, call.need("pads"), call.get("value", 0.0)),
})


onnx_ops({
    "Squeeze": lambda call, x, axes=None: _squeezed(x, ints(axes)),
    "Unsqueeze": lambda call, x, axes: _unsqueezed(x, ints(axes)),
    "Split": lambda call, x, sizes=None: _parts(call, x, ints(sizes)),
}, since=13, host=(1,))


onnx_ops({
    "Slice": lambda call, x, starts, ends, axes=None, steps=None: _sliced(x, ints(starts), ints(ends), ints(axes), ints(steps)),
}, since=10, host=(1, 2, 3, 4))


onnx_ops({
    "Expand": lambda call, x, shape: x.expand(broadcast_shapes(tuple(x.shape), tuple(ints(shape)))),
    "Tile": lambda call, x, repeats: x.tile(ints(repeats)),
}, host=(1,))
