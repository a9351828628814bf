"""Operators that only move elements, as strided writes into new memory."""

from math import prod

from .....ir import dtype as dt
from .....ir.opdef.aval import Aval
from .....ir.opdef.op import OPS
from .....ir.ops.core import shape as sh
from .....ir.ops.index import assign
from .....passes.codegen.triton.index import row_indexing as text
from .....passes.codegen.triton.ir.source import BITS
from .....passes.codegen.triton.loops.configs import power_of_two
from ....core.device_array import DeviceArray
from ...compiler import copies
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import contiguous
from ...graph.inplace_ops import write
from ...memory.arrays import empty, fill, on_device, window
from .gathers import updated

_MOST_JOINED = 16     # arrays of one launch
_BLOCK = 1024


def _whole(shape) -> list:
    return [(0, n, 1) for n in shape]


def cat(inputs, params, device, into=(None,)):
    """Concatenate along a dim, several arrays in one launch, perhaps into a given array that holds some of them already."""
    if not on_device(*inputs):
        return NotImplemented
    first, dim = inputs[0], params["dim"]
    total = sum(x.shape[dim] for x in inputs)
    out = into[0] if into[0] is not None else empty(device, (*first.shape[:dim], total, *first.shape[dim + 1:]), first.dtype)
    pieces, at = [], 0
    for x in inputs:
        if x.size and not (x.memory is out.memory and x.pointer == out.pointer + at * out.strides[dim]):
            pieces.append((x, at))
        at += x.shape[dim]
    for start in range(0, len(pieces), _MOST_JOINED):
        _join(out, pieces[start:start + _MOST_JOINED], dim, device)
    return out


def _join(out, pieces, dim, device):
    if len(pieces) == 1 or out.itemsize not in BITS:
        for x, at in pieces:
            cuts = _whole(x.shape)
            cuts[dim] = (at, x.shape[dim], 1)
            copies.write(window(out, cuts), x)
        return
    inner, kind = prod(out.shape[dim + 1:]), BITS[out.itemsize].np
    sizes = {}
    for j, (x, at) in enumerate(pieces):
        sizes |= {f"n{j}": x.size, f"width{j}": x.shape[dim] * inner, f"from{j}": at * inner}
    arrays = [contiguous(x).view(kind) for x, _ in pieces]
    longest = max(x.size for x, _ in pieces)
    sizes["W"] = out.shape[dim] * inner
    launch(device, text.concatenate(out.itemsize, len(pieces)), (*arrays, out.view(kind)), sizes,
           flat_blocks(longest, max(32, power_of_two(min(_BLOCK, longest)))))


def pad(inputs, params, device):
    """Pad around and between elements."""
    x, low, gaps = inputs[0], params["low"], params["interior"]
    shape = sh.pad.infer(Aval(x.shape, dt.from_numpy(x.dtype)), **params).shape
    out = empty(device, shape, x.dtype)
    fill(out, params.get("value", 0))
    source, target = [], []
    for n, m, lo, gap in zip(x.shape, shape, low, gaps):
        step = gap + 1
        first = max(0, -(lo // step)) if lo < 0 else 0         # the first element that is not cut away
        count = max(0, min(n - first, -(-(m - (lo + first * step)) // step)))
        source.append((first, count, 1))
        target.append((lo + first * step, count, step))
    if all(n for _, n, _ in target):
        copies.write(window(out, target), window(x, source))
    return out


def flip(inputs, params, device):
    """Reverse some dims."""
    x = inputs[0]
    if not x.size:
        return x.copy()
    cuts = [(n - 1, n, -1) if d in params["dims"] else (0, n, 1) for d, n in enumerate(x.shape)]
    out = empty(device, x.shape, x.dtype)
    copies.write(out, window(x, cuts))
    return out


def roll(inputs, params, device):
    """Shift along dims, cyclically."""
    x = inputs[0]
    for shift, dim in zip(params["shifts"], params["dims"]):
        n = x.shape[dim]
        if not x.size:
            break
        out = empty(device, x.shape, x.dtype)
        turn = shift % n
        for start, count, to in ((0, n - turn, turn), (n - turn, turn, 0)):
            if count:
                taken, put = _whole(x.shape), _whole(x.shape)
                taken[dim], put[dim] = (start, count, 1), (to, count, 1)
                copies.write(window(out, put), window(x, taken))
        x = out
    return x if x is not inputs[0] else x.copy()


def assign_view(inputs, params, device, into=(None,)):
    """Return the base with a view of it overwritten: in a copy, or in the given array."""
    base, value = inputs
    if not isinstance(base, DeviceArray):
        return NotImplemented
    out = updated(base, into[0])
    seen = out
    for name, given in params["chain"]:
        seen = seen.viewed(OPS[name], dict(given))
        if seen.memory is not out.memory:
            return NotImplemented
    write(seen, value)
    return out


INTO = {sh.cat: cat, assign.assign_view: assign_view}
OPERATORS = {sh.cat: cat, sh.pad: pad, sh.flip: flip, sh.roll: roll, assign.assign_view: assign_view}
