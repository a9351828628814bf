"""Sorting and searching on a device, stable and in the order of ir/ops/index/sort.py."""

import numpy as np

from .....ir import dtype as dt
from .....ir.errors import ArgumentError
from .....ir.ops.index import sort as so
from .....ir.symbols.symbolic import power_of_two
from .....passes.codegen.triton.index import sorting as text
from ....core.device_array import DeviceArray
from ...compiler.flat_launches import flat_blocks
from ...compiler.kernels import launch
from ...graph.eager import contiguous
from ...memory.arrays import empty, fill

_MOST_ROWS, _NARROW = 65535, 1 << 31


def keys_of(x: DeviceArray, descending=False) -> DeviceArray:
    """Return unsigned integers in the order of the elements."""
    kind = dt.from_numpy(x.dtype)
    x = contiguous(x)
    out = empty(x.device, x.shape, text.key_dtype(kind).np)
    launch(x.device, text.keys(kind, descending), (x, out), {"N": x.size}, flat_blocks(x.size))
    return out


def sorted_keys(keys: DeviceArray, bits: int) -> tuple:
    """Return (sorted keys, their original positions) of rows (rows, n) by the `bits` low bits."""
    device, (rows, n) = keys.device, keys.shape
    if n >= _NARROW:
        raise ArgumentError(f"rows of {n} elements are too long to be sorted on a device, which counts to {_NARROW - 1}")
    key = dt.from_numpy(keys.dtype)
    blocks = -(-n // text.BLOCK)
    counts = empty(device, (rows, text.DIGITS, blocks), np.int32)
    order = None
    for shift in range(0, max(1, bits), text.DIGIT):
        constants = (("BLOCK", text.BLOCK), ("SHIFT", shift))
        how = constants, 8, (blocks, rows, 1)
        launch(device, text.counted(key), (keys, counts), {"N": n}, how)
        launch(device, text.added(), (counts,), {"N": text.DIGITS * blocks}, ((("BLOCK", text.BLOCK),), 4, (rows, 1, 1)))
        keys_out, order_out = empty(device, (rows, n), keys.dtype), empty(device, (rows, n), np.int64)
        given = (keys, *([] if order is None else [order]), counts, keys_out, order_out)
        launch(device, text.spread(key, order is None), given, {"N": n}, how)
        keys, order = keys_out, order_out
    return keys, order


def merged_order(keys: DeviceArray) -> DeviceArray:
    """Return the original positions of sorted keys, of rows (rows, n): blocks are sorted, then merged."""
    if keys.dtype.itemsize == 4:
        return _half_sorted(keys, text.WHOLE, None)
    return _half_sorted(keys, text.HIGH, _half_sorted(keys, text.LOW, None))


def sorted_pairs(keys: DeviceArray) -> DeviceArray:
    """Return sorted keys below 2**32 of rows, with their original positions in the low bits."""
    return _half_sorted(keys, text.LOW, None, pairs=True)


def merges(n) -> int:
    """Return the number of launches that sort so many keys by merging."""
    return power_of_two(-(-n // text.RUN)).bit_length()


def _half_sorted(keys, half, order, pairs=False):
    """Return positions sorted by one half of the keys, or pairs by both."""
    device, (rows, n) = keys.device, keys.shape
    length = power_of_two(min(text.RUN, n))
    before = () if order is None else (order,)
    last = length >= n and not pairs
    found = empty(device, (rows, n), np.int64 if last else np.uint64)
    team = max(1, length // 256), (-(-n // length), rows, 1)
    source = text.blocks(dt.from_numpy(keys.dtype), half, last)
    launch(device, source, (keys, *before, found), {"N": n}, ((("LENGTH", length),), *team))
    while length < n:
        last = 2 * length >= n and not pairs
        made = empty(device, (rows, n), np.int64 if last else np.uint64)
        more = before if last else ()
        constants = (("BLOCK", text.BLOCK), ("LENGTH", length), ("STEPS", length.bit_length()))
        merge = constants, 4, (-(-n // text.BLOCK), rows, 1)
        launch(device, text.merged(last, bool(more)), (found, *more, made), {"N": n}, merge)
        found, length = made, 2 * length
    return found


def first_in_order(x: DeviceArray, k: int, dim: int, descending: bool) -> DeviceArray:
    """Return the indices of the first k elements along a dim."""
    lead = [d for d in range(x.ndim) if d != dim]
    rows = contiguous(x.transpose(*lead, dim)) if x.ndim > 1 else contiguous(x)
    n = x.shape[dim]
    shape = (*rows.shape[:-1], k)
    if not x.size or not k:
        return empty(x.device, (*x.shape[:dim], k, *x.shape[dim + 1:]), np.int64)
    flat = keys_of(rows, descending).reshape(rows.size // n, n)
    found = _order(flat, k, text.key_bits(dt.from_numpy(x.dtype))).reshape(*shape)
    back = sorted(range(x.ndim), key=[*lead, dim].__getitem__)
    return contiguous(found.transpose(*back)) if x.ndim > 1 else found


def _order(keys: DeviceArray, k: int, bits: int) -> DeviceArray:
    rows, n = keys.shape
    device = keys.device
    if n <= text.SHORT:
        out = empty(device, (rows, k), np.int64)
        length = max(32, power_of_two(n))
        how = (("LENGTH", length), ("STEP", text.TOGETHER)), max(1, min(8, length // 64)), (rows, 1, 1)
        launch(device, text.ranked(dt.from_numpy(keys.dtype)), (keys, out), {"N": n, "K": k}, how)
        return out
    out = empty(device, (rows, n), np.int64)
    step = out.strides[0]
    for first in range(0, rows, _MOST_ROWS):
        count = min(_MOST_ROWS, rows - first)
        part = keys.look((count, n), keys.strides, first * keys.strides[0])
        found = merged_order(part) if n <= text.MIDDLE else sorted_keys(part, bits)[1]
        if count == rows:
            out = found
        else:
            out.backend.write(out.look((count, n), out.strides, first * step), found)
    return contiguous(out.look((rows, k), out.strides))


def argsort(inputs, params, device):
    """Return the indices that sort along a dim."""
    x, dim = inputs[0], params["dim"]
    return NotImplemented if x.dtype.kind == "c" else first_in_order(x, x.shape[dim], dim, params["descending"])


def arg_topk(inputs, params, device):
    """Return the indices of the largest or smallest elements along a dim, in order."""
    x = inputs[0]
    return NotImplemented if x.dtype.kind == "c" else first_in_order(x, params["k"], params["dim"], params["largest"])


def searchsorted(inputs, params, device):
    """Return the positions of values in sorted rows."""
    rows, wanted = inputs
    if not (isinstance(rows, DeviceArray) and isinstance(wanted, DeviceArray)) or rows.dtype.kind == "c":
        return NotImplemented
    out = empty(device, wanted.shape, np.int64)
    if not out.size or not rows.shape[-1]:
        fill(out, 0)
        return out
    keys, x = keys_of(rows), keys_of(wanted)
    source = text.searched(dt.from_numpy(keys.dtype), params["right"], rows.ndim == 1)
    sizes = {"N": out.size, "L": rows.shape[-1], "W": wanted.shape[-1] if wanted.ndim else 1}
    launch(device, source, (keys, x, out), sizes, flat_blocks(out.size))
    return out


OPERATORS = {so.argsort: argsort, so.arg_topk: arg_topk, so.searchsorted: searchsorted}
