"""Joining, padding, turning round: operators that only move elements, as steps of a native call."""

import itertools
import math

from ....ir import dtype as dt
from ....ir.opdef.op import OPS
from ....ir.ops.core import complex_numbers, shape
from ....ir.ops.core import constant as literals
from ....ir.ops.index import assign
from ....passes.layout.plain_operands import STRIDED
from ....passes.rewrite.strided import row_major, through
from ..calls import pool
from ..calls.kernel_steps import copy_of, fill, move, over_first, words_of
from ..calls.lowering_rules import native
from ..calls.step_list import At, NativeCall, Table
from . import copies


def turned(shape, item: int, source, source_strides, target, target_strides) -> tuple:
    """The steps of a copy between strides in bytes: in squares where it is read across memory."""
    turning = copies.turning(shape, source_strides, item, target_strides, pool.get_num_threads())
    return ((move(shape, item, source, source_strides, target, target_strides),) if turning is None
            else turning.native([source, target]).steps)


@native(shape.cat, reads=STRIDED)
def cat(node, operands, results):
    """Each part is moved to its place."""
    (out,), dim, at, steps = results, node.params["dim"], 0, []
    for number, x in enumerate(operands):
        goal = At(len(operands), at * out.strides[dim])
        steps += turned(x.shape, out.dtype.itemsize, At(number), x.strides, goal, out.strides)
        at += x.shape[dim]
    return NativeCall(tuple(steps))


@native(literals.constant)
def constant(node, operands, results):
    """A copy of numbers that lie beside the steps."""
    (out,) = results
    numbers = literals.constant.ref(None, **node.params)
    return NativeCall((move(out.shape, out.dtype.itemsize, Table(words_of(numbers)), out.strides, At(len(operands)),
                            out.strides),))


@native(shape.pad, reads=STRIDED)
def pad(node, operands, results):
    """The number everywhere, where elements do not cover all, then the elements that are not cut off."""
    (x, *_), (out,) = operands, results
    low, high, interior = (node.params[name] for name in ("low", "high", "interior"))
    steps, places = [], [_seen(n, m, lo, gap) for n, m, lo, gap in zip(x.shape, out.shape, low, interior)]
    if any(lo > 0 or hi > 0 or gap for lo, hi, gap in zip(low, high, interior)):
        steps.append(fill(At(1), out.size, node.params.get("value", 0), dt.BY_NP[out.dtype]))
    if all(count for _, _, count in places):
        first = sum(a * s for (a, _, _), s in zip(places, x.strides))
        start = sum(b * s for (_, b, _), s in zip(places, out.strides))
        steps.append(move([count for *_, count in places], out.dtype.itemsize, At(0, first), x.strides, At(1, start),
                          [s * (gap + 1) for s, gap in zip(out.strides, interior)]))
    return NativeCall(tuple(steps))


def _seen(size, room, low, gap):
    """(first element, its place, how many) of a dim that are not cut off."""
    first = max(0, -(low // (gap + 1))) if low < 0 else 0
    place = low + first * (gap + 1)
    return first, place, max(0, min(size - first, -(-(room - place) // (gap + 1))))


@native(complex_numbers.pairs, reads=STRIDED)
def pairs(node, operands, results):
    """One copy: that is how complex numbers lie in memory."""
    (x,), (out,) = operands, results
    return NativeCall((move(x.shape, x.dtype.itemsize, At(0), x.strides, At(1), out.strides[:-1]),))


@native(complex_numbers.of_pairs, reads=STRIDED)
def of_pairs(node, operands, results):
    """One copy, of pairs where their parts lie beside each other and pairs lie whole numbers of pairs apart."""
    (x,), (out,) = operands, results
    if x.strides[-1] == x.dtype.itemsize and not any([s % out.dtype.itemsize for s in x.strides[:-1]]):  # noqa: C419
        return NativeCall((move(out.shape, out.dtype.itemsize, At(0), x.strides[:-1], At(1), out.strides),))
    return NativeCall((move(x.shape, x.dtype.itemsize, At(0), x.strides, At(1), (*out.strides, x.dtype.itemsize)),))


@native(assign.assign_view, reads=STRIDED)
def assign_view(node, operands, results):
    """A copy, where the result does not lie in the base's memory, then the part that is written."""
    (base, value), (out,) = operands, results
    part = row_major(out.shape)
    for name, params in node.params["chain"]:
        seen = None if OPS[name] in _OVERLAPPING else through(part, OPS[name], dict(params))
        if seen is None:
            return None
        part = seen
    if value.dtype != out.dtype:
        return None
    item, lead = out.dtype.itemsize, len(part.shape) - len(value.shape)
    steps = [copy_of(base, 0, out, 2)]
    if math.prod(part.shape):
        strides = [0] * lead + [0 if n == 1 else s for n, s in zip(value.shape, value.strides)]
        steps.append(move(part.shape, item, At(1), strides, At(2, part.offset * item), [s * item for s in part.strides]))
    return NativeCall(tuple(steps), over=over_first(base, out, 2))


_OVERLAPPING = frozenset((shape.expand, shape.unfold, shape.as_strided))


@native(shape.flip, reads=STRIDED)
def flip(node, operands, results):
    """Read from the end."""
    (x,), (out,) = operands, results
    dims = {d % len(x.shape) for d in node.params["dims"]}
    first = sum((x.shape[d] - 1) * x.strides[d] for d in dims)
    strides = [-s if d in dims else s for d, s in enumerate(x.strides)]
    return NativeCall((move(x.shape, out.dtype.itemsize, At(0, first), strides, At(1), out.strides),))


@native(shape.roll, reads=STRIDED)
def roll(node, operands, results):
    """Two parts along each dim."""
    (x,), (out,) = operands, results
    shifts: dict = {}
    for by, d in zip(node.params["shifts"], node.params["dims"], strict=True):
        shifts[d % len(x.shape)] = shifts.get(d % len(x.shape), 0) + by
    cuts = [[(0, n)] if not shifts.get(d, 0) % n else [(0, n - shifts[d] % n), (n - shifts[d] % n, n)]
            for d, n in enumerate(x.shape)]
    steps = []
    for part in itertools.product(*cuts):
        to = [(low + shifts.get(d, 0)) % n for d, ((low, _), n) in enumerate(zip(part, x.shape))]
        source = sum(low * s for (low, _), s in zip(part, x.strides))
        target = sum(low * s for low, s in zip(to, out.strides))
        steps.append(move([high - low for low, high in part], out.dtype.itemsize, At(0, source), x.strides, At(1, target),
                          out.strides))
    return NativeCall(tuple(steps))
