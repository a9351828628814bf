"""Matrix products on a device."""

import functools

from ...ir import config
from ...ir import dtype as dt
from ...ir.errors import DTypeError
from ...ir.ops.linalg import matmul
from ...passes.codegen.triton import matmul as template
from ...passes.codegen.triton import matmul_hopper as hopper
from ...passes.codegen.triton.configs import Launch
from ..backends.cuda import matmul as SWITCHES
from ..device_array import DeviceArray
from ..info import get_float32_matmul_precision
from . import context as contexts
from . import streams, tuning
from .arrays import empty, fill, used
from .kernels import PreparedLaunch

_KINDS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)
_NARROW, _MOST_BATCHES = 1 << 31, 65535


def float32_precision() -> str:
    """How products of float32 are made: "ieee" rounds as float32 does, "tf32" takes the tensor cores where it was allowed."""
    return "tf32" if SWITCHES.allow_tf32 or get_float32_matmul_precision() != "highest" else "ieee"


def product(inputs, params, device):
    """x @ y over the last two dims; leading ones are a batch."""
    x, y = inputs
    if not (isinstance(x, DeviceArray) and isinstance(y, DeviceArray)):
        return NotImplemented
    if x.dtype != y.dtype:
        raise DTypeError(f"matmul takes two tensors of one dtype, got {x.dtype.name} and {y.dtype.name}; cast one with .to()")
    kind = dt.from_numpy(x.dtype)
    if kind not in _KINDS:
        return NotImplemented
    *lead, m, k = x.shape
    n = y.shape[-1]
    out = empty(device, (*lead, m, n), x.dtype)
    if not out.size:
        return out
    if not k:
        fill(out, 0)
        return out
    multiply(x, y, out, device)
    return out


class Beside:
    """An epilogue: its text, and (row stride, batch stride) of each operand in elements."""

    def __init__(self, fused, strides):
        self.fused, self.strides = fused, tuple(strides)
        self.along = tuple([(row != 0, batch != 0) for row, batch in self.strides])
        self.items = tuple([o.dtype.itemsize for o in fused.operands])

    @property
    def sizes(self) -> dict:
        """The strides as the kernel's parameters."""
        return {f"{letter}{i}": v for i, pair in enumerate(self.strides) for letter, v in zip("rt", pair)}


def multiply(x, y, out, device, beside: Beside | None = None, operands=()):
    """Writes x @ y (or what the epilogue makes of it) to `out`; `operands` are the addresses of the epilogue's."""
    m, k, n = x.shape[-2], x.shape[-1], y.shape[-1]
    x, x_batch = _as_batch(x)
    y, y_batch = _as_batch(y)
    batch = out.size // (m * n)
    stream = streams.current(device).handle
    step = x.itemsize
    for first in range(0, batch, _MOST_BATCHES):
        count = min(_MOST_BATCHES, batch - first)
        sizes = (dt.from_numpy(x.dtype), m, n, k, count, x_batch, _last(x), y_batch, _last(y), device, float32_precision())
        made = _prepared(*sizes, _chosen(sizes, x, y, out), beside)
        more = [a + first * t * size for a, (_, t), size in zip(operands, beside.strides, beside.items)] if beside else []
        made(device, stream, (used(x, stream) + first * x_batch * step, used(y, stream) + first * y_batch * step,
                              used(out, stream) + first * m * n * step, *more), {})


def _chosen(sizes, x, y, out) -> template.Tiles:
    """The tile of a product, which is found without what follows it, on a result of its own."""
    kind, m, n, k, batch, x_batch, x_last, y_batch, y_last, device, precision = sizes
    fast = kind.itemsize == 2 or (kind is dt.float32 and precision != "ieee")
    chip = contexts.context(device)
    addresses = x.pointer, y.pointer, x_batch * x.itemsize, y_batch * y.itemsize
    copies = config.current().cuda_tune and hopper.takes(kind, chip.arch, x_last, y_last, addresses)
    found = _candidates(kind, m, n, k, fast, chip.shared_memory, copies, batch)
    if len(found) == 1:
        return found[0]
    held: list = []

    def prepare(tile):
        made, stream = _prepared(*sizes, tile, None), streams.current(device).handle
        held.append(held[0] if held else empty(device, out.shape, out.dtype))
        given = used(x, stream), used(y, stream), used(held[0], stream)
        return made.variant(device, given), lambda: made(device, stream, given, {})

    return tuning.best(("matmul", *sizes[:-2], precision, copies), found, prepare, device)


_candidates = functools.lru_cache(1024)(template.candidates)


def _last(a) -> tuple:
    """The last two strides, in elements."""
    return a.strides[-2] // a.itemsize, a.strides[-1] // a.itemsize


def _as_batch(a):
    """(the array, elements between its matrices): copied where they do not follow each other evenly."""
    if any(s % a.itemsize for s in a.strides):
        a = a.backend.contiguous(a)
    step, size = 0, 1
    for n, s in zip(reversed(a.shape[:-2]), reversed(a.strides[:-2])):
        if n == 1:
            continue
        if size == 1:
            step = s
        elif s != step * size:
            return _as_batch(a.backend.contiguous(a)) if not a.is_contiguous else (a, a.shape[-1] * a.shape[-2])
        size *= n
    return a, step // a.itemsize


@functools.lru_cache(4096)
def _prepared(kind, m, n, k, batch, x_batch, x_last, y_batch, y_last, device, precision, chosen, beside):
    units = [tuple([s == 1 for s in last]) for last in (x_last, y_last)]
    more = () if beside is None else (beside.fused, beside.along)
    if chosen.road:
        source = hopper.source(kind, *units, template.CONSTANTS, chosen.road, *more)
    else:
        source = template.source(kind, precision, *units, *more)
    sizes = {"M": m, "N": n, "K": k, "s_xb": x_batch, "s_xm": x_last[0], "s_xk": x_last[1],
             "s_yb": y_batch, "s_yk": y_last[0], "s_yn": y_last[1]}
    reach = max(batch * m * n, batch * abs(x_batch) + m * abs(x_last[0]) + k * abs(x_last[1]),
                batch * abs(y_batch) + k * abs(y_last[0]) + n * abs(y_last[1]))
    names = ["x", "y", "z"]
    if beside is not None:
        names += [o.name for o in beside.fused.operands]
        sizes |= beside.sizes
        reach = max([reach, *[batch * t + m * r + n for r, t in beside.strides]])
    programs = template.grid(m, n, batch, chosen, contexts.context(device).processors)
    one = Launch(source, chosen.constants, chosen.warps, programs, stages=chosen.stages)
    wide = reach + _tile_room(chosen, x_last, y_last) >= _NARROW
    return PreparedLaunch(one, sizes, {name: i for i, name in enumerate(names)}, (0,) * len(names), wide)


def _tile_room(chosen, x_last, y_last):
    """How far the addresses of a tile's masked lanes may lie beyond the matrices."""
    return 2 * (chosen.m + chosen.n + chosen.k) * max(1, *map(abs, x_last), *map(abs, y_last))


OPERATORS = {matmul: product}
