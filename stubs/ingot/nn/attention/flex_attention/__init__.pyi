"""`ingot.nn.attention.flex_attention`: attention with a score function and a mask function."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot import device as _device

class AuxOutput(_t.NamedTuple):
    """The extra results of flex_attention."""
    lse: _Tensor | None
    max_scores: _Tensor | None

class AuxRequest(_t.NamedTuple):
    """The extra results that flex_attention returns."""
    lse: _b.bool
    max_scores: _b.bool

class BlockMask:
    """A mask for flex_attention: the keys of each query, also counted in blocks."""
    BLOCK_SIZE: _t.Any
    bounds: _t.Any
    is_causal: _t.Any
    mask_mod: _t.Any
    seq_lengths: _t.Any
    shape: _b.tuple[_t.Any, ...]
    def __getitem__(self, index: _t.Any) -> BlockMask:
        """Return the masks of some batches (and heads), with the dimensions kept."""
    def __init__(self, shape: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex], mask_mod: _t.Any, BLOCK_SIZE: _t.Any,
                 mask: _Tensor, counts: _t.Any = None, bounds: _t.Any = None) -> None: ...
    @_b.classmethod
    def from_kv_blocks(cls, kv_num_blocks: _t.Any, kv_indices: _t.Any, full_kv_num_blocks: _t.Any = None,
                       full_kv_indices: _t.Any = None, BLOCK_SIZE: _t.Any = 128, mask_mod: _t.Any = None,
                       seq_lengths: _t.Any = None, compute_q_blocks: _b.bool = True) -> _t.Any:
        """Return a mask from lists of blocks. Sizes are (batch, heads, rows[, columns])."""
    @_b.property
    def full_kv_indices(self) -> _t.Any: ...
    @_b.property
    def full_kv_num_blocks(self) -> _t.Any: ...
    @_b.property
    def full_q_indices(self) -> _t.Any: ...
    @_b.property
    def full_q_num_blocks(self) -> _t.Any: ...
    @_b.property
    def kv_indices(self) -> _t.Any: ...
    @_b.property
    def kv_num_blocks(self) -> _t.Any: ...
    @_b.property
    def mask(self) -> _t.Any:
        """Return the mask as a boolean tensor."""
    def numel(self) -> _b.int:
        """Return the number of entries, allowed or not."""
    @_b.property
    def q_indices(self) -> _t.Any: ...
    @_b.property
    def q_num_blocks(self) -> _t.Any: ...
    def sparsity(self) -> _b.float:
        """Return the percentage of blocks without entries."""
    def to(self, device: _device | _b.str | _b.int) -> BlockMask: ...
    def to_dense(self) -> _t.Any: ...

def and_masks(*mask_mods: _t.Any) -> _t.Any:
    """Return the mask of keys that all masks allow."""
def create_block_mask(mask_mod: _t.Any, B: _Tensor, H: _t.Any, Q_LEN: _t.Any, KV_LEN: _t.Any,
                      device: _device | _b.str | _b.int = 'cpu', BLOCK_SIZE: _t.Any = 128) -> BlockMask:
    """Return the BlockMask of a mask_mod; None for B or H is one mask for all. A traced function stores it whole."""
def create_mask(mod_fn: _t.Any, B: _Tensor, H: _t.Any, Q_LEN: _t.Any, KV_LEN: _t.Any,
                device: _device | _b.str | _b.int = 'cpu') -> _t.Any:
    """Evaluate a mask_mod as a boolean tensor (B, H, Q_LEN, KV_LEN); None for B or H means 1."""
def flex_attention(query: _Tensor, key: _Tensor, value: _Tensor | _b.complex, score_mod: _t.Any = None,
                   block_mask: _t.Any = None, scale: _b.float | None = None, enable_gqa: _b.bool = False,
                   return_lse: _b.bool = False, kernel_options: _t.Any = None, *, return_aux: _t.Any = None) -> _t.Any:
    """Return softmax(score_mod(query @ key.T * scale)) @ value over (B, H, L, E), within the block mask. A query without
    keys gives zeros."""
def noop_mask(batch: _t.Any, head: _t.Any, token_q: _t.Any, token_kv: _t.Any) -> _Tensor:
    """Return a mask in which every query attends to every key; so `batch`, `head`, `token_q` and `token_kv` are ignored:
    none changes it."""
def or_masks(*mask_mods: _t.Any) -> _t.Any:
    """Return the mask of keys that some mask allows."""
