"""`ingot.nn.attention.flex_attention`: attention with a score function and a mask function.

`mask_mod(b, h, q_idx, kv_idx)` and `score_mod(score, b, h, q_idx, kv_idx)` are called on index tensors that broadcast to
(batch, heads, queries, keys). A BlockMask evaluates its mask for some queries at a time. A mask in which each query attends to
one interval of keys (causal, sliding window, prefix, documents) is stored as interval bounds.

One kernel computes attention with such a mask and a score function of the form in `score_mods.py` (tanh, numbers by head and
distance). Its memory grows with the length, its time with the attended keys. Other masks are stored whole, and other functions
run as operators.
"""

import math
from typing import NamedTuple

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.nn.attention import attention, bounded_attention
from ....ir.symbols.number_functions import sqrt
from ....ir.symbols.substitute import as_float
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor, shape_of, wrap
from ...func.vmap_level import is_batched
from ...state.mode import tls
from .score_mods import ScoreForm, score_form

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
           "noop_mask", "or_masks"]

_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """The extra results that flex_attention returns."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The extra results of flex_attention."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch, head, token_q, token_kv):
    """Return a mask in which every query attends to every key; so `batch`, `head`, `token_q` and `token_kv` are ignored: none
    changes it."""
    return wrap(np.ones((), np.bool_))


def and_masks(*mask_mods):
    """Return the mask of keys that all masks allow."""
    return _combined("bitwise_and", mask_mods)


def or_masks(*mask_mods):
    """Return the mask of keys that some mask allows."""
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


def _indices(shape, device=None):
    return [FUNCTIONS["arange"](n, device=device).reshape([n if i == d else 1 for i in range(4)]) for d, n in enumerate(shape)]


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device="cpu"):
    """Evaluate a mask_mod as a boolean tensor (B, H, Q_LEN, KV_LEN); None for B or H means 1."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_indices(shape, device)).to(dt.bool_).expand(shape)


class BlockMask:
    """A mask for flex_attention: the keys of each query, also counted in blocks.

    kv_num_blocks, kv_indices   number and indices of the partly attended blocks in each row of blocks
    full_kv_num_blocks, full_kv_indices   the same for blocks that are attended entirely
    bounds                      (batch, heads, queries, 2): the interval of keys of each query; None if one query has none
    """

    def __init__(self, shape, mask_mod, BLOCK_SIZE, mask, counts=None, bounds=None):
        self.shape, self.mask_mod, self.BLOCK_SIZE = tuple(shape), mask_mod, BLOCK_SIZE
        self._mask, self._counts, self.bounds = mask, counts, bounds    # the mask, or a function that makes it
        self.seq_lengths = self.shape[-2:]
        self.is_causal = bounds is not None and _is_causal(bounds, self.shape)

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None,
                       BLOCK_SIZE=_BLOCK_SIZE, mask_mod=None, seq_lengths=None, compute_q_blocks=True):
        """Return a mask from lists of blocks. Sizes are (batch, heads, rows[, columns]).

        Each row of blocks attends to the first `kv_num_blocks` of `kv_indices` where `mask_mod` allows it, and entirely to the
        first `full_kv_num_blocks` of `full_kv_indices`. `compute_q_blocks` is ignored: lists by keys are made on demand.
        """
        if kv_indices.ndim < 2 or (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise ArgumentError("BlockMask.from_kv_blocks takes kv_indices of 2 dims or more, and full_kv_num_blocks and "
                                "full_kv_indices both or neither")
        block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        mask_mod = noop_mask if mask_mod is None else mask_mod
        some = _listed_blocks(kv_num_blocks, kv_indices)
        heads, (rows, columns) = some.shape[:2], some.shape[2:]
        whole = some & False if full_kv_indices is None else _listed_blocks(full_kv_num_blocks, full_kv_indices)
        lengths = (rows * block[0], columns * block[1]) if seq_lengths is None else tuple(seq_lengths)

        def of_blocks(b, h, q_idx, kv_idx):
            place = b, h, q_idx // block[0], kv_idx // block[1]
            return (some[place] & mask_mod(b, h, q_idx, kv_idx)) | whole[place]

        made = create_block_mask(of_blocks, heads[0], heads[1], lengths[0], lengths[1], some.device, block)
        most = block[0] * block[1]
        if most > 1:        # listed blocks stay, also those in which mask_mod allows nothing
            made._counts = FUNCTIONS["where"](whole, most, some.to(dt.int64))
        made.mask_mod = mask_mod
        return made

    @property
    def mask(self):
        """Return the mask as a boolean tensor."""
        if isinstance(self._mask, Tensor):
            return self._mask
        made = self._mask()
        if tls.m.recorder is None and tls.m.batched is None:
            self._mask = made
        return made

    def _blocks(self):
        """Return the number of entries of each block, and its size."""
        q, kv = self.BLOCK_SIZE
        if self._counts is None:
            b, h, n, m = self.shape
            rows, columns = -(-n // q), -(-m // kv)
            counted = FUNCTIONS["zeros"](b, h, rows * q, columns * kv, dtype=dt.int64, device=self.mask.device)
            counted[:, :, :n, :m] = self.mask.to(dt.int64)
            self._counts = counted.reshape(b, h, rows, q, columns, kv).sum((3, 5))
        return self._counts, q * kv

    def _sorted_blocks(self, chosen):
        """Return, for each row of blocks, the number of chosen ones and all columns with the chosen ones first."""
        order = FUNCTIONS["argsort"](chosen.to(dt.int64), dim=-1, descending=True, stable=True)
        return chosen.sum(-1).to(dt.int32), order.to(dt.int32)

    def _partial(self, transposed=False):
        count, most = self._blocks()
        chosen = (count > 0) & (count < most)
        return self._sorted_blocks(chosen.transpose(-1, -2) if transposed else chosen)

    def _full(self, transposed=False):
        count, most = self._blocks()
        return self._sorted_blocks((count == most).transpose(-1, -2) if transposed else count == most)

    kv_num_blocks = property(lambda self: self._partial()[0])
    kv_indices = property(lambda self: self._partial()[1])
    full_kv_num_blocks = property(lambda self: self._full()[0])
    full_kv_indices = property(lambda self: self._full()[1])
    q_num_blocks = property(lambda self: self._partial(True)[0])
    q_indices = property(lambda self: self._partial(True)[1])
    full_q_num_blocks = property(lambda self: self._full(True)[0])
    full_q_indices = property(lambda self: self._full(True)[1])

    def to_dense(self):
        return (self._blocks()[0] > 0).to(dt.int32)

    def sparsity(self) -> float:
        """Return the percentage of blocks without entries."""
        dense = self.to_dense()
        return 100 * (1 - dense.sum().item() / max(dense.numel(), 1))

    def numel(self) -> int:
        """Return the number of entries, allowed or not."""
        return math.prod(self.shape)

    def to(self, device):
        on_device = [None if x is None else x.to(device) for x in (self._counts, self.bounds)]
        return BlockMask(self.shape, self.mask_mod, self.BLOCK_SIZE, lambda: self.mask.to(device), *on_device)

    def __getitem__(self, index):
        """Return the masks of some batches (and heads), with the dimensions kept."""
        index = index if isinstance(index, tuple) else (index,)
        slices = tuple([slice(i, i + 1 or None) if isinstance(i, int) else i for i in index])
        if any(i is not Ellipsis and i != slice(None) for i in slices[2:]):
            mask = self.mask[slices]
            return BlockMask(mask.shape, self.mask_mod, self.BLOCK_SIZE, mask)
        parts = [None if x is None else x[slices] for x in (self._counts, self.bounds)]
        shape = (*FUNCTIONS["empty"](self.shape[:2])[slices].shape, *self.shape[2:])
        return BlockMask(shape, self.mask_mod, self.BLOCK_SIZE, lambda: self.mask[slices], *parts)

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def _is_causal(bounds, shape) -> bool:
    """Return whether each query attends exactly to the keys up to its own position."""
    low, high = (bounds[..., i].cpu().numpy() for i in (0, 1))
    return shape[-1] == shape[-2] and not low.any() and bool((high == np.arange(1, shape[-1] + 1)).all())


def _listed_blocks(counts, indices):
    """Return which blocks are listed, as bools (batch, heads, rows, columns)."""
    counts, indices = (t.reshape(*[1] * (n - t.ndim), *t.shape) for t, n in ((counts, 3), (indices, 4)))
    columns = indices.shape[-1]
    listed = FUNCTIONS["arange"](columns, device=indices.device) < counts.unsqueeze(-1)
    target = FUNCTIONS["zeros"](*indices.shape[:-1], columns + 1, dtype=dt.bool_, device=indices.device)
    positions = FUNCTIONS["where"](listed, indices.to(dt.int64), columns)   # entries that do not count go behind the end
    return target.scatter(-1, positions, True)[..., :columns]


_MASK_CHUNK = 1 << 22         # entries of a mask evaluated together


def _evaluate_mask(mask_mod, shape, block, device):
    """Return (entries of each block, intervals of keys of each query or None), evaluated some rows of blocks at a time."""
    b, h, rows, keys = shape
    step = max(1, _MASK_CHUNK // max(1, b * h * keys * block[0])) * block[0]
    batch, heads, queries, others = _indices(shape)
    counts, bounds = [], []
    for start in range(0, rows, step):
        some = queries[:, :, start:start + step]
        found = mask_mod(*[i.to(device) for i in (batch, heads, some, others)]).to(dt.bool_).cpu().numpy()
        found = np.broadcast_to(found, (b, h, some.shape[2], keys))
        low, high, total = found.argmax(-1), keys - found[..., ::-1].argmax(-1), found.sum(-1)
        ends = np.stack([np.where(total, low, 0), np.where(total, high, 0)], -1)
        bounds.append(ends if bounds is not None and np.array_equal(ends[..., 1] - ends[..., 0], total) else None)
        columns = np.add.reduceat(found, np.arange(0, keys, block[1]), axis=-1, dtype=np.int64)
        counts.append(np.add.reduceat(columns, np.arange(0, columns.shape[2], block[0]), axis=2))
    apart = any(x is None for x in bounds)
    return [None if parts is None else wrap(np.ascontiguousarray(np.concatenate(parts, 2))).to(device)
            for parts in (counts, None if apart else bounds)]


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device="cpu", BLOCK_SIZE=_BLOCK_SIZE, _compile=False):
    """Return the BlockMask of a mask_mod; None for B or H is one mask for all. A traced function stores it whole."""
    if not callable(mask_mod):
        raise ArgumentError(f"create_block_mask takes a function (b, h, q_idx, kv_idx) -> bool, got {mask_mod!r}")
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)

    def whole():
        return create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)

    if tls.m.recorder is not None or tls.m.batched is not None or 0 in shape:
        return BlockMask(shape, mask_mod, block, whole())
    counts, bounds = _evaluate_mask(mask_mod, shape, block, device)
    return BlockMask(shape, mask_mod, block, whole() if bounds is None else whole, counts, bounds)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):
    """Return softmax(score_mod(query @ key.T * scale)) @ value over (B, H, L, E), within the block mask. A query without
    keys gives zeros. `kernel_options` is ignored: kernels choose their own tiles, and results do not depend on them."""
    _check(query, key, value, block_mask, enable_gqa)
    factor = 1 / sqrt(shape_of(query)[-1]) if scale is None else as_float(scale)
    wants = AuxRequest(lse=return_lse) if return_aux is None else return_aux
    if not wants.max_scores:
        found = _attention_kernel(query, key, value, score_mod, block_mask, factor)
        if found is not None:
            out, lse = found
            return (out, AuxOutput(lse if wants.lse else None)) if return_aux is not None else (out, lse) if return_lse else out
    out, aux = _attention_operators(query, key, value, score_mod, block_mask, factor)
    if return_aux is not None:
        return out, AuxOutput(aux.lse if wants.lse else None, aux.max_scores if wants.max_scores else None)
    return (out, aux.lse) if return_lse else out


def _check(query, key, value, block_mask, enable_gqa):
    if not query.ndim == key.ndim == value.ndim == 4:
        raise ShapeError(f"flex_attention takes [B, H, L, E], got {query.aval}, {key.aval}, {value.aval}")
    heads, of_keys = shape_of(query)[1], shape_of(key)[1]
    if heads != of_keys and (not enable_gqa or heads % of_keys):
        raise ShapeError(f"flex_attention: {heads} heads of queries and {of_keys} of keys; pass enable_gqa=True where the "
                         "first are a multiple of the second")
    if block_mask is not None:
        have, want = block_mask.shape, (*shape_of(query)[:3], shape_of(key)[2])
        if have[2:] != want[2:] or any(n not in (1, w) for n, w in zip(have, want)):
            raise ShapeError(f"flex_attention: the block mask {have} does not fit scores of shape {tuple(want)}")


def _attention_kernel(query, key, value, score_mod, block_mask, factor):
    """Return (result, logsumexp) by the attention kernel, or None."""
    form: ScoreForm | None = ScoreForm()
    if score_mod is not None:
        exact = _has_kernel(query) and dt.accumulator(query.dtype) is query.dtype
        form = score_form(score_mod, query, key) if exact else None
    if form is None:
        return None
    whole = block_mask is not None and (block_mask.bounds is None or not _has_kernel(query))
    if whole and (form != ScoreForm()):
        return None
    if whole:
        out, lse = attention(query, key, value, block_mask.mask, causal=False, scale=factor)
        some = block_mask.mask.any(-1)
        return FUNCTIONS["where"](some.unsqueeze(-1), out, 0.0), _masked_logsumexp(lse)
    if form == ScoreForm() and (block_mask is None or block_mask.is_causal):
        out, lse = attention(query, key, value, None, causal=block_mask is not None, scale=factor)
        return out, _masked_logsumexp(lse)
    squash = form.squash and (float(form.squash[0]), float(form.squash[1]))
    out, lse = bounded_attention(query, key, value, None if block_mask is None else block_mask.bounds, form.table,
                                 scale=factor * form.factor, squash=squash)
    return out, _masked_logsumexp(lse)


def _has_kernel(t) -> bool:
    """Return whether a tensor's device (or that of the batch behind it) has a kernel for attention over intervals."""
    while is_batched(t):
        t = t._a.memory.full
    return isinstance(t._a, np.ndarray)


def _masked_logsumexp(lse):
    """Return the logsumexp with -inf for queries without keys."""
    return FUNCTIONS["where"](FUNCTIONS["isposinf"](lse), -math.inf, lse)


def _attention_operators(query, key, value, score_mod, block_mask, factor):
    """Return (result, AuxOutput) by operators, with scores and softmax at least in float32."""
    repeats = shape_of(query)[1] // shape_of(key)[1]
    if repeats > 1:
        key, value = (t.repeat_interleave(repeats, dim=1) for t in (key, value))
    wide = dt.accumulator(query.dtype)
    scores = query.to(wide) @ key.to(wide).transpose(-1, -2) * factor
    if score_mod is not None:
        scores = score_mod(scores, *_indices(shape_of(scores), scores.device)).to(wide)
    if block_mask is not None:
        scores = FUNCTIONS["where"](block_mask.mask, scores, -math.inf)
    most = scores.detach().amax(-1, keepdim=True)
    most = FUNCTIONS["where"](most == -math.inf, 0.0, most)
    weights = (scores - most).exp()
    total = weights.sum(-1, keepdim=True)
    out = (weights @ value.to(wide)) / FUNCTIONS["where"](total == 0, 1.0, total)
    lse = (total.log() + most).squeeze(-1)
    return out.to(query.dtype), AuxOutput(lse, scores.detach().amax(-1))
