"""Norms of many arrays, and whether they are finite, in a few launches whatever their sizes."""

import functools

import numpy as np

from .....ir import dtype as dt
from .....ir.ops.core import multi_tensor
from .....ir.ops.core.elementwise import eq
from .....ir.ops.core.reduce import sum_
from .....passes.codegen.triton.loops import multi_tensor_reduce as texts
from .....passes.codegen.triton.loops.configs import Launch
from ....core.device_array import DeviceArray
from ...compiler import compile as compiler
from ...compiler.templates import launch
from ...driver import streams
from ...graph.eager import composed, contiguous, run
from ...memory import transfer
from ...memory.arrays import empty, used
from ..products.batched_launch import Together

_NARROW = 1 << 31
_WHAT = {1: "size", 2: "square"}        # by the order of a norm


def norms(inputs, params, device):
    """The norm of each."""
    arrays, what = _there(inputs, device), _WHAT.get(params["ord"])
    if what is None or not _are_narrow(arrays):
        return composed(_norms, arrays, params, device)[0]
    return _folded(what, arrays, device, dt.from_numpy(arrays[0].dtype))


def _norms(*arrays, ord):
    return (multi_tensor.norms.lower.body(*arrays, ord=ord),)


def all_finite(inputs, params, device):
    """Whether all are finite: no part counts a number that is not."""
    arrays = _there(inputs, device)
    if not _are_narrow(arrays):
        return composed(_all_finite, arrays, params, device)[0]
    found = _folded("wrong", arrays, device, texts.wide(dt.from_numpy(arrays[0].dtype)))
    return run(eq, (run(sum_, (found,), {"dim": (0,), "keepdim": False}), 0.0), {}, device)


def _all_finite(*arrays):
    return (multi_tensor.all_finite.lower.body(*arrays),)


def _there(inputs, device) -> list:
    """The arrays on the device, in row-major order."""
    return [contiguous(x) if x.__class__ is DeviceArray else transfer.to_device(np.asarray(x), device) for x in inputs]


def _are_narrow(arrays) -> bool:
    """Whether no index is too large."""
    return max([x.size for x in arrays]) < _NARROW - texts.PART


def _folded(what, arrays, device, out_kind):
    """One number for each array."""
    kind = dt.from_numpy(arrays[0].dtype)
    counts = [-(-a.size // texts.PART) for a in arrays]
    starts = [0]
    for n in counts:
        starts.append(starts[-1] + n)
    made, out = empty(device, (max(1, starts[-1]),), texts.wide(kind).np), empty(device, (len(arrays),), out_kind.np)
    vector, rows = _vector(kind), {False: [], True: []}         # by whether vectors are whole
    for a, at, count in zip(arrays, starts, counts):
        if count:
            even = a.size % vector == 0 and a.pointer % compiler.ALIGNED == 0
            rows[even].append((a, a.size, at, count))
    for even, found in rows.items():
        for i in range(0, len(found), texts.SLOTS):
            _run_parts(_parts(what, kind), device, made, found[i:i + texts.SLOTS], vector if even else 0)
    source = texts.combined(what, texts.wide(kind), out_kind)
    for i in range(0, len(arrays), texts.LISTED):
        some = starts[i:i + texts.LISTED + 1]
        sizes = {f"at_{n}": at for n, at in enumerate([*some, *some[-1:] * (texts.LISTED + 1 - len(some))])}
        launch(device, source, (made, out.look((len(some) - 1,), (out.itemsize,), i * out.itemsize)), sizes,
               ((("COLS", 256),), 4, (len(some) - 1, 1, 1)))
    return out


def _vector(kind) -> int:
    """Elements that sizes are multiples of where vectors are whole."""
    return max(compiler.EVEN[-1], compiler.ALIGNED // kind.itemsize)


def _run_parts(kernel, device, made, rows, multiple):
    """Launches for some rows, whose sizes are multiples of a number (0: of none)."""
    stream, known = streams.current(device).handle, (multiple, 0)
    addresses = [used(a, stream) for a, *_ in rows]
    kernel(device, stream, known, [used(made, stream)], addresses, [n for _, *sizes in rows for n in sizes],
           sum([count for *_, count in rows]))


@functools.lru_cache(64)
def _parts(what, kind) -> Together:
    one = Launch(texts.parts(what, kind), (("COLS", texts.COLS), ("PART", texts.PART)), 4, (0, 1, 1))
    return Together(one, 1, texts.SLOTS, ((_vector(kind),), ()))


def forget():
    """Forgets what was prepared for a driver that was replaced."""
    _parts.cache_clear()


OPERATORS = {multi_tensor.norms: norms, multi_tensor.all_finite: all_finite}
