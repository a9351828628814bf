"""Sliding windows as columns, and sums of elements at their sources: steps of a native call."""

from itertools import product
from math import prod

from ....ir import dtype as dt
from ....ir.ops.core import shape
from ....ir.ops.nn import conv
from ..calls.kernel_steps import add, fill, move
from ..calls.operator_kernel import OperatorKernel
from ..calls.plan import StepBuilder, rows_of, wide
from ..calls.step_list import At, NativeCall

_MOST = 256             # steps of one operator
_ADDABLE = (dt.float32.np, dt.float64.np)


class _View:
    """A strided part of an array: location, sizes and strides in bytes."""

    def __init__(self, at, sizes, strides):
        self.at, self.sizes, self.strides = at, tuple(sizes), tuple(strides)

    def from_byte(self, offset: int):
        return self.at._replace(offset=self.at.offset + offset)


def _inside(whole: _View, padding) -> tuple:
    """Return (location, strides) of the unpadded part of a padded array."""
    lead = len(whole.sizes) - len(padding)
    start = sum(lo * s for (lo, _), s in zip(padding, whole.strides[lead:]))
    return whole.from_byte(start), whole.strides


def _windows(whole: _View, kernel, counts, stride, dilation) -> _View:
    """Return all windows (N, C, *kernel, *counts) of a padded array."""
    n, c, *steps = whole.strides
    return _View(whole.at, (*whole.sizes[:2], *kernel, *counts),
                 (n, c, *[s * d for s, d in zip(steps, dilation)], *[s * d for s, d in zip(steps, stride)]))


def _counts(sizes, kernel, stride, dilation):
    return [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(sizes, kernel, stride, dilation)]


def _im2col_step(node, operands, results):
    (x,), made = operands, StepBuilder()
    kernel, stride, padding, dilation = (node.params[name] for name in ("kernel", "stride", "padding", "dilation"))
    item = x.dtype.itemsize
    if item not in (1, 2, 4, 8) or min(n for pair in padding for n in pair) < 0:
        return None
    whole = _View(At(0), x.shape, x.strides)
    if any(lo or hi for lo, hi in padding):
        sizes = (*x.shape[:2], *[n + lo + hi for n, (lo, hi) in zip(x.shape[2:], padding)])
        whole = _View(made.room(prod(sizes), x.dtype), sizes, rows_of(sizes, item))
        at, strides = _inside(whole, padding)
        made.steps += [fill(whole.at, prod(sizes), 0, dt.BY_NP[x.dtype]), move(x.shape, item, At(0), x.strides, at, strides)]
    seen = _windows(whole, kernel, _counts(whole.sizes[2:], kernel, stride, dilation), stride, dilation)
    made.steps.append(move(seen.sizes, item, seen.at, seen.strides, At(1), rows_of(seen.sizes, item)))
    return made.call()


def _col2im_step(node, operands, results):
    """Add all windows at once if none overlap, else one element of all windows after the other."""
    (x,), (out,), made = operands, results, StepBuilder()
    size, kernel, stride, padding, dilation = (node.params[n] for n in ("size", "kernel", "stride", "padding", "dilation"))
    kind, pads = wide(x.dtype), any(lo or hi for lo, hi in padding)
    if kind not in _ADDABLE or min(n for pair in padding for n in pair) < 0:
        return None
    sizes = (*out.shape[:2], *[n + lo + hi for n, (lo, hi) in zip(size, padding)])
    columns, end = made.read(0, x), made.write(1, out)
    whole = _View(made.room(prod(sizes), kind) if pads else end, sizes, rows_of(sizes, kind.itemsize))
    counts = _counts(sizes[2:], kernel, stride, dilation)
    seen = _windows(whole, kernel, counts, stride, dilation)
    apart = all(s > d * (k - 1) for s, d, k in zip(stride, dilation, kernel))
    overlapping_dims = () if apart else range(2, 2 + len(kernel))
    adding = _sums(_View(columns, seen.sizes, rows_of(seen.sizes, kind.itemsize)), seen, overlapping_dims, kind)
    if adding is None:
        return None
    made.steps += [fill(whole.at, prod(sizes), 0, dt.BY_NP[kind]), *adding]
    if pads:
        at, strides = _inside(whole, padding)
        made.steps.append(move(out.shape, kind.itemsize, at, strides, end, rows_of(out.shape, kind.itemsize)))
    return made.call()


def _sums(source: _View, target: _View, dims, kind):
    """Return steps that add an array to a view, one index of some dims after the other, since they may overlap. None for many
    indices."""
    if prod([source.sizes[d] for d in dims]) > _MOST:
        return None
    rest = [d for d in range(len(source.sizes)) if d not in dims]
    sizes = [source.sizes[d] for d in rest]
    inner = [[view.strides[d] for d in rest] for view in (source, target)]
    steps = []
    for place in product(*[range(source.sizes[d]) for d in dims]):
        a, b = (view.from_byte(sum(i * view.strides[d] for i, d in zip(place, dims))) for view in (source, target))
        steps.append(add(sizes, dt.BY_NP[kind], a, inner[0], b, inner[1]))
    return steps


def _fold_windows_step(node, operands, results):
    (x,), (out,), made = operands, results, StepBuilder()
    kind, dim, step = wide(x.dtype), node.params["dim"], node.params["step"]
    if kind not in _ADDABLE:
        return None
    source, end = _View(made.read(0, x), x.shape, rows_of(x.shape, kind.itemsize)), made.write(1, out)
    strides = list(rows_of(out.shape, kind.itemsize))
    target = _View(end, x.shape, [s * step if d == dim else s for d, s in enumerate(strides)] + [strides[dim]])
    adding = _sums(source, target, () if step >= x.shape[-1] else (len(x.shape) - 1,), kind)
    return None if adding is None else made.call([fill(end, out.size, 0, dt.BY_NP[kind]), *adding])


def _strided_scatter_step(node, operands, results):
    (x,), (out,), made = operands, results, StepBuilder()
    kind = wide(x.dtype)
    if kind not in _ADDABLE or _meet(x.shape, node.params["strides"]):
        return None
    source, end = made.read(0, x), made.write(1, out)
    adding = add(x.shape, dt.BY_NP[kind], source, rows_of(x.shape, kind.itemsize),
                 end._replace(offset=end.offset + node.params["offset"] * kind.itemsize),
                 [s * kind.itemsize for s in node.params["strides"]])
    return made.call([fill(end, out.size, 0, dt.BY_NP[kind]), adding])


def _meet(sizes, strides) -> bool:
    """Whether two elements of a window may be one."""
    reach = 0
    for s, n in sorted((s, n) for n, s in zip(sizes, strides) if n > 1):
        if s <= reach:
            return True
        reach += s * (n - 1)
    return False


def _diagonal_embed_step(node, operands, results):
    (x,), (out,) = operands, results
    item, offset, one, other = x.dtype.itemsize, *[node.params[name] for name in ("offset", "dim1", "dim2")]
    if item not in (1, 2, 4, 8):
        return None
    strides = [s for d, s in enumerate(out.strides) if d not in (one, other)] + [out.strides[one] + out.strides[other]]
    start = offset * out.strides[other] if offset >= 0 else -offset * out.strides[one]
    return NativeCall((fill(At(1), out.size, 0, dt.BY_NP[out.dtype]),
                       move(x.shape, item, At(0), x.strides, At(1, start), strides)))


OPERATORS = {
    conv.im2col: OperatorKernel(step=_im2col_step),
    conv.col2im: OperatorKernel(step=_col2im_step),
    shape.fold_windows: OperatorKernel(step=_fold_windows_step),
    shape.strided_scatter: OperatorKernel(step=_strided_scatter_step),
    shape.diagonal_scatter: OperatorKernel(step=_diagonal_embed_step),
}
