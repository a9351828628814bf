"""Attention and its gradients on a device: kernels without a score matrix, else operators on scores (`unfused`).

float64 and very long vectors fit in no tile and take the second way, as `ir/ops/nn/attention.py` defines them; lower precision
is computed in float32 and rounded once.
"""

import math
from dataclasses import replace
from math import prod

import numpy as np

from .....ir import config
from .....ir import dtype as dt
from .....ir.ops.core import elementwise as ew
from .....ir.ops.core import reduce as rd
from .....ir.ops.core.reduce import sum_
from .....ir.ops.core.shape import expand, iota, reshape, sum_to
from .....ir.ops.linalg.products import matmul, transpose_last
from .....ir.ops.nn import attention as at
from .....passes.codegen.triton.attention import attention as text
from .....passes.codegen.triton.attention import attention_configs as tiles
from .....passes.codegen.triton.attention import attention_split_kv as shared
from .....passes.codegen.triton.loops.configs import has_warp_groups
from ....core.device_array import DeviceArray, contiguous_strides
from ...compiler import kernels, precision, tuning
from ...driver import context as contexts
from ...graph.eager import composed, contiguous, run
from ...memory import transfer
from ...memory.arrays import broadcast_strides, empty, on_device


def unfused(q, k, v, mask, *, causal, scale) -> tuple:
    """Return (out, logsumexp), with a score matrix."""
    kind, heads = q.dtype, q.shape[-3]
    q, k, v, mask = (_wide(t) for t in (q, k, v, mask))
    s = _scores(q, _spread(k, heads), mask, causal, scale)
    rows = (*s.shape[:-1], 1)
    top = rd.amax(s, dim=(s.ndim - 1,), keepdim=True)
    safe = ew.where(ew.eq(top, -math.inf), 0.0, top)
    p = ew.exp(ew.sub(s, expand(safe, shape=s.shape)))
    total = rd.sum_(p, dim=(s.ndim - 1,), keepdim=True)
    none = ew.eq(total, 0.0)
    p = ew.div(p, expand(ew.where(none, 1.0, total), shape=s.shape))
    lse = ew.where(none, math.inf, ew.add(safe, ew.log(total)))
    return _rounded(matmul(p, _spread(v, heads)), kind), reshape(lse, shape=rows[:-1])


def unfused_grad(g, q, k, v, mask, lse, delta, *, causal, scale, mask_grad) -> tuple:
    """Return the gradients of queries, keys, values and the mask (or None), with a score matrix."""
    kind, heads, key_heads = q.dtype, q.shape[-3], k.shape[-3]
    g, q, k, v, wide, lse, delta = (_wide(t) for t in (g, q, k, v, mask, lse, delta))
    k, v = _spread(k, heads), _spread(v, heads)
    s = _scores(q, k, wide, causal, scale)
    p = ew.exp(ew.sub(s, _along_rows(lse, s.shape)))
    ds = ew.mul(p, ew.sub(matmul(g, transpose_last(v)), _along_rows(delta, s.shape)))
    gq = ew.mul(matmul(ds, k), scale)
    gk = ew.mul(matmul(transpose_last(ds), q), scale)
    found = gq, _gathered(gk, key_heads), _gathered(matmul(transpose_last(p), g), key_heads)
    gm = _rounded(sum_to(ds, shape=mask.shape), kind) if mask_grad else None
    return *[_rounded(t, kind) for t in found], gm


def _wide(t):
    return ew.cast(t, dtype=dt.float32) if t is not None and t.dtype in (dt.float16, dt.bfloat16) else t


def _rounded(t, kind):
    return t if t.dtype is kind else ew.cast(t, dtype=kind)


def _along_rows(v, shape):
    return expand(reshape(v, shape=(*v.shape, 1)), shape=shape)


def _spread(k, heads):
    """Repeat keys or values for all query heads."""
    *lead, own, length, size = k.shape
    if own == heads:
        return k
    wide = expand(reshape(k, shape=(*lead, own, 1, length, size)), shape=(*lead, own, heads // own, length, size))
    return reshape(wide, shape=(*lead, heads, length, size))


def _gathered(k, own):
    """Add over query heads, the transpose of `_spread`."""
    *lead, heads, length, size = k.shape
    if own == heads:
        return k
    return rd.sum_(reshape(k, shape=(*lead, own, heads // own, length, size)), dim=(len(lead) + 1,), keepdim=False)


def _scores(q, k, mask, causal, scale):
    s = ew.mul(matmul(q, transpose_last(k)), scale)
    if mask is not None:
        spread = expand(mask, shape=s.shape)
        s = ew.where(spread, s, -math.inf) if mask.dtype is dt.bool_ else ew.add(s, spread)
    if causal:
        row, column = (iota(q, shape=s.shape, dim=s.ndim - which, dtype=dt.int64) for which in (2, 1))
        s = ew.where(ew.ge(row, column), s, -math.inf)
    return s


_NARROW = 1 << 31      # bytes that bulk copies can address
_NEAR = 1 << 31        # most bytes from the first element of a strided operand to its last one
_VECTOR = 16           # bytes of a full load
_WORDS = 2 ** 32       # number of words
_WIDEST = 256          # longest vectors of a query or value in a block


class Shapes:
    """Sizes of one call, its mask in kernel form, and `arrays`: operands and results by their names in the source."""

    def __init__(self, q, k, v, mask, params, backward=False):
        self.device = q.device
        *lead, self.heads, self.length, e = q.shape
        self.key_heads, self.keys, self.e, self.width = k.shape[-3], k.shape[-2], int(e), int(v.shape[-1])     # (compiled in)
        self.batch = prod(lead)
        self.mask, self.strides = self._mask(mask, lead)
        how = text.NO_MASK if mask is None else text.BOOLS if mask.dtype.kind == "b" else text.ADDED
        even = all(n >= 16 and n & (n - 1) == 0 for n in (self.e, self.width))
        self.arch = contexts.context(self.device).arch
        full = has_warp_groups(self.arch) and self.length % text.LARGEST == self.keys % text.LARGEST == 0
        self.scale = float(params["scale"])
        late = how != text.ADDED and self.scale >= text.LEAST_SCALE
        kind, products = dt.from_numpy(q.dtype), precision.of_products()
        scores = self.batch * self.heads * self.length * self.keys
        self.kind = text.Kind(kind, how, params["causal"], products, even, full, late,
                              depths=tiles.depths(kind, products, self.e, self.width, scores))
        self.draws: tuple = ()         # the random key, and the threshold and scale of kept words by name
        self.numbers: dict = {}
        self.arrays: dict = {}
        self.backward = backward
        self.read(q=q, k=k, v=v)

    def read(self, **arrays):
        """Take operands, copied if kernels cannot read them well in place."""
        for name, a in arrays.items():
            arguments = self.kind, name, self.e, self.width, self.arch
            strided = _has_rows(a) and (not self.backward or tiles.takes_strides(*arguments))
            self.arrays[name] = a if strided else contiguous(a)

    def result(self, name, shape, into=None) -> DeviceArray:
        """Return an array for a result: the given one if kernels can write it."""
        fits = into is not None and (into.is_contiguous or _has_rows(into))
        found = self.arrays[name] = into if fits else empty(self.device, shape, self.kind.dtype_of(name).np)
        return found

    def drop(self, key, p):
        threshold = round((1.0 - p) * _WORDS)
        if threshold == _WORDS:
            return              # every word is below that
        self.draws = _there(key, self.device),
        self.numbers = {"kept": threshold, "share": 1.0 / (1.0 - p)}
        shifted = self.keys % text.DRAW_WORDS
        self.kind = replace(self.kind, drops=text.SHIFTED_DRAWS if shifted else text.ALIGNED_DRAWS)

    def _mask(self, mask, lead):
        """Return (the mask, elements between its batches, heads, queries and keys)."""
        if mask is None:
            return None, ()
        shape = (*lead, self.heads, self.length, self.keys)
        seen = mask.look(shape, broadcast_strides(mask, shape))
        if len(lead) > 1 and any(seen.strides[:len(lead)]):
            seen = contiguous(seen)
        steps = [s // mask.itemsize for s in seen.strides]
        return seen, (steps[len(lead) - 1] if lead else 0, *steps[-3:])

    def _transposed(self, name) -> DeviceArray:
        """Return keys or values as columns, cached for later kernels."""
        if name not in self.arrays:
            a = self.arrays[name[0]]
            self.arrays[name] = contiguous(a.transpose(*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))
        return self.arrays[name]

    def arguments(self, kind, reads, writes) -> tuple:
        """Return (the kernel kind for these layouts, its arrays in order, sizes by name, compiled-in strides)."""
        named = {n: self._transposed(n) if n in ("kt", "vt") else self.arrays[n] for n in (*reads, *writes)}
        steps = {n: _steps(a) for n, a in named.items() if n in text.HEADS + text.KEY_HEADS and not a.is_contiguous}
        masks = () if kind.mask == text.NO_MASK else (self.mask,)
        arrays = (*[named[n] for n in reads], *masks, *self.draws, *[named[n] for n in writes])
        rows = tuple([(text.strides_of(n)[2], int(each[2])) for n, each in steps.items()])
        sizes = {"L": self.length, "S": self.keys, "H": self.heads, "G": self.heads // self.key_heads}
        sizes |= dict(zip(("m_b", "m_h", "m_q", "m_k"), self.strides)) if masks else {}
        sizes |= {name: n for each, steps_ in steps.items() for name, n in zip(text.strides_of(each)[:2], steps_)}
        return replace(kind, strided=tuple(steps)), arrays, sizes, rows

    def run(self, write, part, writes, blocks, groups):
        """Launch the kernel of a part, `write(kind)`; `blocks` maps the tile's constants to programs per group."""
        kind, arrays, sizes, rows = self.arguments(self.kind, self.kind.reads(part), writes)

        def how(tile):
            rows_, columns, warps, stages, *strategy = tile
            constants = tiles.constants(self.e, self.width, self.scale, rows_, columns)
            source = write(replace(kind, strategy=strategy[0]) if strategy else kind)
            grid = (blocks(dict(constants)) * groups, 1, 1)
            return self.device, source, arrays, sizes | self.numbers, ((*constants, *rows), warps, grid), stages

        def prepare(tile):
            made = how(tile)
            return kernels.variant(*made), lambda: kernels.launch(*made)

        found: list = tiles.candidates(kind, self.e, self.width, part, self.arch)
        if config.current().cuda_tune and max(a.nbytes for a in arrays) < _NARROW:
            apart = [n * kind.dtype.itemsize for name in kind.strided for n in _steps(self.arrays[name])]
            addresses = [*[a.pointer for a in arrays], *apart]
            found = found + tiles.copy_candidates(kind, self.e, self.width, part, self.arch, addresses)
        key = write(kind).name, self.e, self.width, groups, *sizes.items(), *rows
        kernels.launch(*how(tuning.best(key, found, prepare, self.device)))

    def keys_of_part(self) -> int:
        """Return the number of keys in a part if keys are split, else 0."""
        members, processors = self.heads // self.key_heads, contexts.context(self.device).processors
        most = shared.most_rows(self.kind)
        return shared.cut(self.batch * self.key_heads, members, self.length, self.keys, most, processors)

    def run_in_parts(self, keys_of_part):
        kind, members = replace(self.kind, full=False, depths=()), self.heads // self.key_heads
        rows, count = self.batch * self.heads * self.length, -(-self.keys // keys_of_part)
        sums, stats = shared.scratch(rows, count, self.width)
        room = empty(self.device, (prod(sums) + prod(stats),), kind.dtype_of("sums").np)
        for name, shape, start in zip(shared.LEAVES, (sums, stats), (0, prod(sums) * room.itemsize)):
            self.arrays[name] = room.look(shape, contiguous_strides(shape, room.itemsize), start)
        height = shared.tile_of(members * self.length, shared.most_rows(kind))
        constants, warps, stages = shared.tiles(kind, self.e, self.width, self.scale, height)
        programs = count * -(-members * self.length // height) * self.batch * self.key_heads
        kind, arrays, sizes, strides = self.arguments(kind, shared.READS, shared.LEAVES)
        kernels.launch(self.device, shared.partial_attention(kind, height == 1), arrays, sizes | {"PART": keys_of_part},
                         ((*constants, *strides), warps, (programs, 1, 1)), stages)
        kind, arrays, sizes, strides = self.arguments(text.Kind(kind.dtype, text.NO_MASK, False), shared.LEAVES, ("out", "lse"))
        kernels.launch(self.device, shared.join(kind), arrays, sizes | {"COUNT": count},
                         ((*shared.tile_of_join(self.width), *strides), 4, (rows, 1, 1)))

    def over_queries(self, tile):
        return -(-self.length // tile["BM"])

    def over_keys(self, tile):
        return -(-self.keys // tile["BN"])


def _there(key, device) -> DeviceArray:
    return key if isinstance(key, DeviceArray) else transfer.to_device(np.asarray(key), device)


def _has_rows(a) -> bool:
    """Return whether kernels can access an array in place.

    Its vectors are contiguous and aligned, there is at most one batch dim, and offsets are small.
    """
    strides, unit = a.strides[:-1], _VECTOR if a.shape[-1] * a.itemsize % _VECTOR == 0 else a.itemsize
    whole = a.strides[-1] == a.itemsize and a.pointer % unit == 0 and not any(s % unit or s < 0 for s in strides)
    return whole and a.ndim <= 4 and sum((n - 1) * s for n, s in zip(a.shape, a.strides)) < _NEAR


def _steps(a) -> tuple:
    """Return elements between batches, heads and rows."""
    *batch, head, row, _ = [s // a.itemsize for s in a.strides]
    return (batch[0] if batch else 0), head, row


def _in_tiles(q, v) -> bool:
    """Return whether a block holds the vectors. Triton 3.6 compiles no chain of two float64 products."""
    return max(q.shape[-1], v.shape[-1]) <= _WIDEST and q.dtype != np.float64


def attention(inputs, params, device, into=(None, None)):
    """Return softmax(q k' * scale + mask) v, with dropout if a key is given, and the logsumexp of each row.

    Results are written `into` given arrays, if kernels can.
    """
    (q, k, v, mask), key = inputs[:4], inputs[4:]
    if not (on_device(q, k, v, mask) and k.shape[-2] and q.shape[-1]):
        return NotImplemented
    if not _in_tiles(q, v):
        in_steps = at.dropped_body if key else unfused
        inputs = (*inputs[:4], *[_there(k, device) for k in key])
        return composed(in_steps, inputs, params, device) if q.size and v.size else NotImplemented
    s = Shapes(q, k, v, mask, params)
    if key:
        s.drop(key[0], params["p"])
    out, lse = s.result("out", (*q.shape[:-1], s.width), into[0]), s.result("lse", q.shape[:-1])
    keys_of_part = 0 if key or not lse.size else s.keys_of_part()
    if keys_of_part:
        s.run_in_parts(keys_of_part)
    elif lse.size:
        s.run(text.forward, text.FORWARD, ("out", "lse"), s.over_queries, s.batch * s.heads)
    return out, lse


def attention_grad(inputs, params, device, into=(None, None, None, None)):
    """Return the gradients of queries, keys, values and (on request) the mask, written `into` given arrays if kernels can."""
    (g, q, k, v, mask, lse, delta), key = inputs[:7], inputs[7:]
    if not (on_device(g, q, k, v, mask, lse, delta) and q.size and k.size and v.size):
        return NotImplemented
    if not _in_tiles(q, v):
        if key:
            return composed(at.dropped_grad_body, (*inputs[:7], _there(key[0], device)), params, device)
        *found, gm = composed(unfused_grad, inputs, params, device)
        return *found, empty(device, (0,) * q.ndim, q.dtype) if gm is None else gm
    s = Shapes(q, k, v, mask, params, backward=True)
    if key:
        s.drop(key[0], params["p"])
    s.read(g=g)
    s.arrays |= {"lse": contiguous(lse), "delta": contiguous(delta)}
    gq, gk, gv = (s.result(name, a.shape, target) for name, a, target in zip(("gq", "gk", "gv"), (q, k, v), into))
    wanted = params["mask_grad"]
    ds = s.result("ds_out", (*q.shape[:-1], s.keys) if wanted else (0,) * q.ndim)
    s.run(lambda kind: text.query_grad(kind, wanted), text.QUERIES, ("gq", "ds_out") if wanted else ("gq",),
          s.over_queries, s.batch * s.heads)
    s.run(text.key_grad, text.KEYS, ("gk", "gv"), s.over_keys, s.batch * s.key_heads)
    if wanted:
        return gq, gk, gv, _narrowed(ds, mask.shape, device)
    return (gq, gk, gv) if key else (gq, gk, gv, ds)


def _narrowed(x, shape, device):
    """Sum over broadcast dims of a shape."""
    lead = x.ndim - len(shape)
    dims = (*range(lead), *[d + lead for d, n in enumerate(shape) if n == 1])
    if dims:
        x = run(sum_, (x,), {"dim": dims, "keepdim": True}, device)
    return x.look(shape, DeviceArray(x.kind, x.memory, shape, x.dtype).strides)


OPERATORS = {at.attention: attention, at.attention_grad: attention_grad, at.dropped_attention: attention,
             at.dropped_attention_grad: attention_grad}
INTO = OPERATORS       # operators that write into given arrays
