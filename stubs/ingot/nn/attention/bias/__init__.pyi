"""`ingot.nn.attention.bias`: causal masks as values, for queries and keys of different lengths."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
import enum as _enum

class CausalBias(_Tensor):
    """A mask for `scaled_dot_product_attention(..., attn_mask=bias)`: True where a query may attend."""
    def __init__(self, variant: CausalVariant, seq_len_q: _b.int, seq_len_kv: _b.int) -> None: ...

class CausalVariant(_enum.IntEnum):
    """The corner of the score matrix on the diagonal: first query and key, or last ones."""
    UPPER_LEFT = 1
    LOWER_RIGHT = 2

def causal_lower_right(*size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> CausalBias:
    """Return the mask in which the last query attends to all keys, and each earlier one to a key less."""
def causal_upper_left(*size: _t.SupportsIndex | _c.Sequence[_t.SupportsIndex]) -> CausalBias:
    """Return the mask in which query i attends to keys up to i."""
