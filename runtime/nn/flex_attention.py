"""Attention with a function of scores and a mask made by a function: `ingot.nn.attention.flex_attention`.

`mask_mod(b, h, q_idx, kv_idx)` and `score_mod(score, b, h, q_idx, kv_idx)` are called once, on tensors of indices that
broadcast to (batch, heads, queries, keys).
Without a score_mod this is the attention kernel with the mask, or its causal form where
that is what the mask says.
"""

import math
from typing import NamedTuple

import numpy as np

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, ShapeError
from ..api.register import FUNCTIONS
from ..state import tls
from ..tensor import Tensor, shape_of, wrap
from .functional.attention import scaled_dot_product_attention

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
           "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128        # the name by which libraries know it


class AuxRequest(NamedTuple):
    """What flex_attention is to return beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What flex_attention returned beside its result."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch, head, token_q, token_kv):
    """A mask that lets every query see every key."""
    return wrap(np.ones((), np.bool_))


def and_masks(*mask_mods):
    """The mask of what all masks let through."""
    return _combined("bitwise_and", mask_mods)


def or_masks(*mask_mods):
    """The mask of what some mask lets through."""
    return _combined("bitwise_or", mask_mods)


def _combined(name, mask_mods):
    if not mask_mods or not all(map(callable, mask_mods)):
        raise ArgumentError("and_masks and or_masks take one or several functions (b, h, q_idx, kv_idx) -> bool")

    def combined(b, h, q_idx, kv_idx):
        found = mask_mods[0](b, h, q_idx, kv_idx)
        for mod in mask_mods[1:]:
            found = FUNCTIONS[name](found, mod(b, h, q_idx, kv_idx))
        return found

    return combined


def _indices(shape):
    """One index tensor for each dimension, which together broadcast to a shape."""
    return [FUNCTIONS["arange"](n).reshape([n if i == d else 1 for i in range(4)]) for d, n in enumerate(shape)]


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device="cpu"):
    """The mask of a mask_mod as a tensor of bools, (B, H, Q_LEN, KV_LEN); None for B or H is 1."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*[i.to(device) for i in _indices(shape)]).to(dt.bool_).expand(shape)


class BlockMask:
    """A mask for flex_attention: which keys each query sees, also counted in blocks.

    kv_num_blocks, kv_indices   for each row of blocks how many have some entry but not all, and which they are
    full_kv_num_blocks, full_kv_indices   the same of blocks that are seen entirely
    """

    def __init__(self, mask, mask_mod, BLOCK_SIZE):
        self.mask, self.mask_mod, self.BLOCK_SIZE = mask, mask_mod, BLOCK_SIZE
        self.seq_lengths = tuple(mask.shape[-2:])
        self.is_causal = tls.m.recorder is None and _is_causal(mask)

    shape = property(lambda self: tuple(self.mask.shape))

    def _blocks(self):
        """How many entries each block has, and how many there could be."""
        q, kv = self.BLOCK_SIZE
        b, h, n, m = self.shape
        rows, columns = -(-n // q), -(-m // kv)
        counted = FUNCTIONS["zeros"](b, h, rows * q, columns * kv, dtype=dt.int64)
        counted[:, :, :n, :m] = self.mask.to(dt.int64)
        return counted.reshape(b, h, rows, q, columns, kv).sum((3, 5)), q * kv

    def _listed(self, chosen):
        """For each row of blocks how many were chosen, and all columns, the chosen ones first."""
        order = FUNCTIONS["argsort"](chosen.to(dt.int64), dim=-1, descending=True, stable=True)
        return chosen.sum(-1).to(dt.int32), order.to(dt.int32)

    def _partial(self, turned=False):
        count, most = self._blocks()
        chosen = (count > 0) & (count < most)
        return self._listed(chosen.transpose(-1, -2) if turned else chosen)

    def _full(self, turned=False):
        count, most = self._blocks()
        return self._listed((count == most).transpose(-1, -2) if turned else count == most)

    kv_num_blocks = property(lambda self: self._partial()[0])
    kv_indices = property(lambda self: self._partial()[1])
    full_kv_num_blocks = property(lambda self: self._full()[0])
    full_kv_indices = property(lambda self: self._full()[1])
    q_num_blocks = property(lambda self: self._partial(True)[0])
    q_indices = property(lambda self: self._partial(True)[1])
    full_q_num_blocks = property(lambda self: self._full(True)[0])
    full_q_indices = property(lambda self: self._full(True)[1])

    def to_dense(self):
        """1 for each block that has some entry."""
        return (self._blocks()[0] > 0).to(dt.int32)

    def sparsity(self) -> float:
        """How many of 100 blocks have no entry."""
        dense = self.to_dense()
        return 100 * (1 - dense.sum().item() / max(dense.numel(), 1))

    def numel(self) -> int:
        """How many entries the mask has, seen or not."""
        return math.prod(self.shape)

    def to(self, device):
        """The same mask on a device."""
        return BlockMask(self.mask.to(device), self.mask_mod, self.BLOCK_SIZE)

    def __getitem__(self, index):
        """The masks of some batches (and heads), with the dimensions kept."""
        index = index if isinstance(index, tuple) else (index,)
        kept = tuple([slice(i, i + 1 or None) if isinstance(i, int) else i for i in index])
        return BlockMask(self.mask[kept], self.mask_mod, self.BLOCK_SIZE)

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _is_causal(mask) -> bool:
    if not isinstance(mask._a, np.ndarray) or mask.shape[-1] != mask.shape[-2]:
        return False
    return bool(np.array_equal(mask._a, np.broadcast_to(np.tri(mask.shape[-1], dtype=np.bool_), mask._a.shape)))


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device="cpu", BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False):
    """A BlockMask of a mask_mod; None for B or H is one mask for all."""
    if not callable(mask_mod):
        raise ArgumentError(f"create_block_mask takes a function (b, h, q_idx, kv_idx) -> bool, got {mask_mod!r}")
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), mask_mod, block)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):
    """softmax(score_mod(query @ key.T * scale)) @ value over (B, H, L, E), where the block mask lets through. A query that
    sees no key gives zeros."""
    _check(query, key, value, block_mask, enable_gqa)
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else float(scale)
    wants = AuxRequest(lse=return_lse) if return_aux is None else return_aux
    if score_mod is None and not any(wants):
        out = _by_kernel(query, key, value, block_mask, factor)
        if out is not None:
            return out
    out, aux = _composed(query, key, value, score_mod, block_mask, factor)
    if return_aux is not None:
        return out, AuxOutput(aux.lse if wants.lse else None, aux.max_scores if wants.max_scores else None)
    return (out, aux.lse) if return_lse else out


def _check(query, key, value, block_mask, enable_gqa):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ShapeError(f"flex_attention takes (B, H, L, E), got {query.aval}, {key.aval}, {value.aval}")
    heads, of_keys = shape_of(query)[1], shape_of(key)[1]
    if heads != of_keys and (not enable_gqa or heads % of_keys):
        raise ShapeError(f"flex_attention: {heads} heads of queries and {of_keys} of keys; pass enable_gqa=True where the "
                         "first are a multiple of the second")
    if block_mask is not None:
        have, want = block_mask.shape, (*shape_of(query)[:3], shape_of(key)[2])
        if have[2:] != want[2:] or any(n not in (1, w) for n, w in zip(have, want)):
            raise ShapeError(f"flex_attention: the block mask {have} does not fit scores of shape {tuple(want)}")


def _by_kernel(query, key, value, block_mask, factor):
    """The attention kernel, unless the mask may leave a query without keys."""
    if block_mask is None or block_mask.is_causal:
        return scaled_dot_product_attention(query, key, value, is_causal=block_mask is not None, scale=factor, enable_gqa=True)
    out = scaled_dot_product_attention(query, key, value, attn_mask=block_mask.mask, scale=factor, enable_gqa=True)
    return FUNCTIONS["where"](block_mask.mask.any(-1, keepdim=True), out, 0.0)


def _composed(query, key, value, score_mod, block_mask, factor):
    """(result, AuxOutput) by operators, scores and softmax in float32 at least."""
    repeats = shape_of(query)[1] // shape_of(key)[1]
    if repeats > 1:
        key, value = (t.repeat_interleave(repeats, dim=1) for t in (key, value))
    wide = dt.accumulator(query.dtype)
    scores = query.to(wide) @ key.to(wide).transpose(-1, -2) * factor
    if score_mod is not None:
        scores = score_mod(scores, *_indices(shape_of(scores))).to(wide)
    if block_mask is not None:
        scores = FUNCTIONS["where"](block_mask.mask, scores, -math.inf)
    most = scores.detach().amax(-1, keepdim=True)
    most = FUNCTIONS["where"](most == -math.inf, 0.0, most)
    weights = (scores - most).exp()
    total = weights.sum(-1, keepdim=True)
    out = (weights @ value.to(wide)) / FUNCTIONS["where"](total == 0, 1.0, total)
    lse = (total.log() + most).squeeze(-1)
    return out.to(query.dtype), AuxOutput(lse, scores.detach().amax(-1))
