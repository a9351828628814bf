"""Attention and its gradients on a device: by kernels that hold no scores, and in steps that do where these do not fit."""

from dataclasses import replace
from math import prod

import numpy as np

from ...ir import config
from ...ir import dtype as dt
from ...ir.ops import attention as at
from ...ir.ops.reduce import sum_
from ...passes.codegen.triton import attention as text
from ..device_array import DeviceArray
from . import attention_steps as steps
from . import context as contexts
from . import precision, templates, tuning
from .eager import composed, contiguous, run
from .program import empty

_NARROW = 1 << 31      # bytes of arrays that bulk copies find their way in
_NEAR = 1 << 31        # bytes from the first element of an operand with strides to its last one
_WIDEST = 256          # longest vectors of a query or value that a block holds


class Shapes:
    """The sizes of one call, and its mask as the kernels see it."""

    def __init__(self, q, k, v, mask, params):
        given = dict(zip(text.OPERANDS, (q, k, v)))
        narrow = max(q.shape[-1], v.shape[-1]) <= 64 or contexts.context(q.device).arch >= text.HOPPER
        strided = narrow and not all(a.is_contiguous for a in given.values()) and all(_has_rows(a) for a in given.values())
        given = given if strided else {n: contiguous(a) for n, a in given.items()}
        self.q, self.k, self.v = q, k, v = list(given.values())
        self.steps = {n: _steps(a) for n, a in given.items()} if strided else {}
        *lead, self.heads, self.length, self.e = q.shape
        self.key_heads, self.keys, self.width = k.shape[-3], k.shape[-2], v.shape[-1]
        self.batch = prod(lead)
        self.mask, self.strides = self._mask(mask, lead)
        how = text.NO_MASK if mask is None else text.BOOLS if mask.dtype.kind == "b" else text.ADDED
        even = all(n >= 16 and n & (n - 1) == 0 for n in (self.e, self.width))
        self.scale = float(params["scale"])
        late = how != text.ADDED and self.scale >= text.LEAST_SCALE
        self.kind = text.Kind(dt.from_numpy(q.dtype), how, params["causal"], precision.of_products(), even, late, strided)

    def _mask(self, mask, lead):
        """(the mask, elements between its batches, heads, queries and keys)."""
        if mask is None:
            return None, ()
        shape = (*lead, self.heads, self.length, self.keys)
        seen = mask.look(shape, _spread_strides(mask, shape))
        if len(lead) > 1 and any(seen.strides[:len(lead)]):
            seen = contiguous(seen)
        steps = [s // mask.itemsize for s in seen.strides]
        return seen, (steps[len(lead) - 1] if lead else 0, *steps[-3:])

    @property
    def sizes(self) -> dict:
        """The size parameters."""
        group = self.heads // self.key_heads
        named = dict(zip(("m_b", "m_h", "m_q", "m_k"), self.strides))
        for name, each in self.steps.items():
            named |= zip(text.strides_of(name), each)
        return {"L": self.length, "S": self.keys, "H": self.heads, "G": group} | named

    def run(self, write, reads, writes, blocks, groups, part):
        """Launches a kernel, which `write(kind)` gives; `blocks` is the number of programs for each group by the tile's
        constants."""
        device, masks = self.q.device, () if self.mask is None else (self.mask,)
        arrays = (*reads, *masks, *writes)

        def how(tile):
            rows, columns, warps, stages, *road = tile
            constants = text.constants(self.e, self.width, self.scale, rows, columns)
            source = write(replace(self.kind, road=road[0]) if road else self.kind)
            return device, source, arrays, self.sizes, (constants, warps, (blocks(dict(constants)) * groups, 1, 1)), stages

        def prepare(tile):
            made = how(tile)
            return templates.variant(*made), lambda: templates.launch(*made)

        arch = contexts.context(device).arch
        found: list = text.candidates(self.kind, self.e, self.width, part, arch)
        if config.current().cuda_tune and max(a.nbytes for a in arrays) < _NARROW:
            apart = [n * self.q.itemsize for each in self.steps.values() for n in each]
            found = found + text.roads(self.kind, self.e, self.width, part, arch, [*[a.pointer for a in reads], *apart])
        key = write(self.kind).name, self.e, self.width, groups, *self.sizes.items()
        templates.launch(*how(tuning.best(key, found, prepare, device)))

    def over_queries(self, tile):
        """Blocks of queries."""
        return -(-self.length // tile["BM"])

    def over_keys(self, tile):
        """Blocks of keys."""
        return -(-self.keys // tile["BN"])


def _spread_strides(a, shape):
    lead = len(shape) - a.ndim
    return (0,) * lead + tuple([0 if n == 1 else s for n, s in zip(a.shape, a.strides)])


def _has_rows(a) -> bool:
    """Whether an operand is read where it lies: its vectors in one piece, one dim of batches at most, nothing far away."""
    return (a.ndim <= 4 and a.strides[-1] == a.itemsize and not any(s % a.itemsize or s < 0 for s in a.strides)
            and sum((n - 1) * s for n, s in zip(a.shape, a.strides)) < _NEAR)


def _steps(a) -> tuple:
    """Elements between batches, heads and rows."""
    *batch, head, row, _ = [s // a.itemsize for s in a.strides]
    return (batch[0] if batch else 0), head, row


def _fits(inputs) -> bool:
    there = [x for x in inputs if x is not None]
    return all(isinstance(x, DeviceArray) for x in there)


def _in_tiles(q, v) -> bool:
    """Whether a block holds the vectors of queries and values. (Triton 3.6 compiles no chain of two products in float64.)"""
    return max(q.shape[-1], v.shape[-1]) <= _WIDEST and q.dtype != np.float64


def attention(inputs, params, device):
    """softmax(q k' * scale + mask) v, and the logsumexp of each row."""
    q, k, v, mask = inputs
    if not _fits(inputs):
        return NotImplemented
    if not (k.shape[-2] and q.shape[-1]):
        return NotImplemented
    if not _in_tiles(q, v):
        return composed(steps.attention, inputs, params, device) if q.size and v.size else NotImplemented
    s = Shapes(q, k, v, mask, params)
    out, lse = empty(device, (*q.shape[:-1], s.width), q.dtype), empty(device, q.shape[:-1], q.dtype)
    if lse.size:
        s.run(text.forward, (s.q, s.k, s.v), (out, lse), s.over_queries, s.batch * s.heads, text.FORWARD)
    return out, lse


def attention_grad(inputs, params, device):
    """The gradients of queries, keys, values and (if asked) the mask."""
    g, q, k, v, mask, lse, delta = inputs
    if not (_fits((q, k, v, mask)) and all(isinstance(x, DeviceArray) for x in (g, lse, delta))):
        return NotImplemented
    if not (q.size and k.size and v.size):
        return NotImplemented
    if not _in_tiles(q, v):
        *found, gm = composed(steps.attention_grad, inputs, params, device)
        return *found, empty(device, (0,) * q.ndim, q.dtype) if gm is None else gm
    s = Shapes(contiguous(q), contiguous(k), contiguous(v), mask, params)
    reads = (contiguous(g), s.q, s.k, s.v, contiguous(lse), contiguous(delta))
    gq, gk, gv = (empty(device, a.shape, a.dtype) for a in (s.q, s.k, s.v))
    wanted = params["mask_grad"]
    scores = (*q.shape[:-1], s.keys)
    ds = empty(device, scores, q.dtype) if wanted else empty(device, (0,) * len(scores), q.dtype)
    writes = (gq, ds) if wanted else (gq,)
    s.run(lambda kind: text.query_grad(kind, wanted), reads, writes, s.over_queries, s.batch * s.heads, text.QUERIES)
    s.run(text.key_grad, reads, (gk, gv), s.over_keys, s.batch * s.key_heads, text.KEYS)
    return gq, gk, gv, _narrowed(ds, mask.shape, device) if wanted else ds


def _narrowed(x, shape, device):
    """Sums over what a shape was broadcast along."""
    lead = x.ndim - len(shape)
    dims = (*range(lead), *[d + lead for d, n in enumerate(shape) if n == 1])
    if dims:
        x = run(sum_, (x,), {"dim": dims, "keepdim": True}, device)
    return x.look(shape, DeviceArray(x.kind, x.memory, shape, x.dtype).strides)


OPERATORS = {at.attention: attention, at.attention_grad: attention_grad}
