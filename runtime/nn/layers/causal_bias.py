"""`ingot.nn.attention.bias`: causal masks as values, for queries and keys of different lengths."""

from enum import IntEnum

from ....ir import dtype as dt
from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from ...core.tensor import Tensor
from ...state.messages import warn
from ..base.parameter import over

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """The corner of the score matrix on the diagonal: first query and key, or last ones."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


class CausalBias(Tensor):
    """A mask for `scaled_dot_product_attention(..., attn_mask=bias)`: True where a query may attend."""

    __slots__ = ()

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int):
        after = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        if after < 0:
            warn(f"of {seq_len_q} queries and {seq_len_kv} keys the first {-after} queries see no key, so attention "
                 "gives zeros for them")
        t = over(cls, FUNCTIONS["ones"](seq_len_q, seq_len_kv, dtype=dt.bool_).tril(after))
        t.variant, t.seq_len_q, t.seq_len_kv = variant, seq_len_q, seq_len_kv
        return t

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int):
        if not isinstance(variant, CausalVariant):
            raise ArgumentError(f"CausalBias takes a CausalVariant, got {variant!r}")

    def _materialize(self, device=None) -> Tensor:
        return self.detach().to(device or self.device)


def _sizes(name, size) -> tuple:
    if len(size) != 2:
        raise ArgumentError(f"{name} takes the numbers of queries and of keys, got {size}")
    return size


def causal_upper_left(*size) -> CausalBias:
    """Return the mask in which query i attends to keys up to i."""
    return CausalBias(CausalVariant.UPPER_LEFT, *_sizes("causal_upper_left", size))


def causal_lower_right(*size) -> CausalBias:
    """Return the mask in which the last query attends to all keys, and each earlier one to a key less."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_sizes("causal_lower_right", size))
