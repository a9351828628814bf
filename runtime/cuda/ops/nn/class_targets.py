"""Class targets of losses, literals, and scales of embedding gradients, on a device."""

from math import prod

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core.reduce import sum_
from .....ir.ops.core.shape import constant
from .....ir.ops.index.indexing import gather
from .....ir.ops.index.sort import argsort, searchsorted
from .....ir.ops.nn import embedding as em
from .....ir.ops.nn import loss
from .....passes.codegen.triton.sequence import class_targets as text
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import composed, contiguous, run
from ...memory import status_words
from ...memory.arrays import empty, fill, filled, on_device
from ...memory.transfer import ConstantCache

_literals = ConstantCache(4096)


def checked_classes(inputs, params, device):
    """Return the targets as checked int64, and their number."""
    target, = inputs
    out = empty(device, target.shape, np.int64)
    if out.size:
        source = text.checked(dt.from_numpy(target.dtype))
        sizes = {"ROWS": out.size, "CLASSES": params["classes"], "IGNORED": params["ignore_index"]}
        arrays = contiguous(target), out, status_words.words(device)
        launch(device, source, arrays, sizes, flat_blocks(out.size, word="class_index"))
    return out, _count(out, params["ignore_index"], device)


def _count(targets, ignored, device):
    if not targets.size:
        return filled(device, (), np.int64, 0)
    counted = run(ew.cast, (run(ew.ne, (targets, ignored), {}),), {"dtype": dt.int64})
    return run(sum_, (counted,), {"dim": tuple(range(counted.ndim)), "keepdim": False}) if counted.ndim else counted


def class_weight(inputs, params, device):
    """Return each row's class weight."""
    target, weight = inputs
    kind = params["dtype"]
    if not on_device(target, weight) or kind not in dt.FLOATS:
        return NotImplemented
    out = empty(device, target.shape, kind.np)
    if out.size:
        source = text.weights(dt.from_numpy(target.dtype), kind, weight is not None)
        sizes = {"ROWS": out.size, "CLASSES": params["classes"], "IGNORED": params["ignore_index"]}
        arrays = [contiguous(a) for a in (target, weight) if a is not None]
        launch(device, source, (*arrays, out, status_words.words(device)), sizes, flat_blocks(out.size, word="class_weight"))
    return out


def take_class(inputs, params, device):
    """Return each row's element at its class."""
    x, target = inputs
    if not on_device(x, target) or x.dtype.kind == "c":
        return NotImplemented
    out = empty(device, target.shape, x.dtype)
    if not x.shape[1]:
        fill(out, 0)
    elif out.size:
        source = text.taken(dt.from_numpy(target.dtype), dt.from_numpy(x.dtype))
        sizes = {"ROWS": out.size, "CLASSES": x.shape[1], "INNER": prod(x.shape[2:])}
        launch(device, source, (contiguous(x), contiguous(target), out), sizes, flat_blocks(out.size))
    return out


def put_class(inputs, params, device):
    """Put each row's value at its class, in zeros."""
    v, target = inputs
    if not on_device(v, target) or v.dtype.kind == "c":
        return NotImplemented
    classes = params["classes"]
    out = empty(device, (*v.shape[:1], classes, *v.shape[1:]), v.dtype)
    if out.size:
        source = text.put(dt.from_numpy(target.dtype), dt.from_numpy(v.dtype))
        sizes = {"TOTAL": out.size, "CLASSES": classes, "INNER": prod(v.shape[1:])}
        launch(device, source, (contiguous(v), contiguous(target), out), sizes, flat_blocks(out.size))
    return out


def literal(inputs, params, device):
    """Return a copy of a literal, which is uploaded once: a capture must not read host memory again."""
    host = np.array(params["values"], params["dtype"].np).reshape(params["shape"])
    return _literals.upload((host.tobytes(), host.shape, host.dtype), device, lambda: host).copy()


def row_scale(inputs, params, device):
    """Return 1 / (number of occurrences of each row), counted in sorted indices."""
    like, index = inputs
    if not index.size or not on_device(like, index):
        return NotImplemented
    kind = dt.from_numpy(like.dtype)
    return composed(_shares, (contiguous(index).reshape(index.size),), {"dtype": kind}, device)[0].reshape(*index.shape)


def _shares(index, *, dtype):
    """Return 1 / (number of occurrences of each number)."""
    ordered = gather(index, argsort(index, dim=0, descending=False), dim=0)
    first, last = [searchsorted(ordered, index, right=right) for right in (False, True)]
    wide = dt.accumulator(dtype) if dtype in dt.NARROW else dtype
    share = ew.div(1.0, ew.cast(ew.sub(last, first), dtype=wide))
    return (share if wide is dtype else ew.cast(share, dtype=dtype),)


OPERATORS = {loss.class_index: checked_classes, loss.class_weight: class_weight, loss.take_class: take_class,
             loss.put_class: put_class, constant: literal, em.row_scale: row_scale}
