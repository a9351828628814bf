"""Multi-head attention as a module, and the choice of attention kernels."""

from contextlib import contextmanager
from enum import IntEnum

from ....ir.errors import ArgumentError
from ...api.register.register import FUNCTIONS
from .. import functional as F
from ..base import init
from ..base.module import Module
from . import flex_attention as flex_attention
from .linear import NonDynamicallyQuantizableLinear, empty_parameter


class MultiheadAttention(Module):
    """Attention of several heads with input and output projections.

    Parameters
    ----------
    embed_dim, num_heads : int
        Size of a query and of the result, and the number of heads among which it is split.
    dropout : float
        Probability of dropout on attention weights.
    bias : bool
        Whether projections have biases.
    add_bias_kv, add_zero_attn : bool
        Whether a learned row, or a row of zeros, is added to keys and values.
    kdim, vdim : int, optional
        Sizes of keys and values; by default `embed_dim`.
    batch_first : bool
        Whether the batch is the first dimension, instead of the sequence.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Query: (L, N, embed_dim); key and value: (S, N, size). Output: (L, N, embed_dim), and weights (N, L, S) or None.

    Examples
    --------
    >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = ingot.ones(3, 5, 8)
    >>> y, weights = attention(x, x, x)
    >>> y.shape, weights.shape
    (ingot.Size([3, 5, 8]), ingot.Size([3, 5, 5]))
    """

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ArgumentError(f"embed_dim must be positive and divisible by num_heads, got {embed_dim} and {num_heads}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self._add_weights(bias, add_bias_kv, device, dtype)
        self._reset_parameters()

    def _add_weights(self, bias, add_bias_kv, device, dtype):
        e = self.embed_dim
        joint, apart = {"in_proj_weight": (3 * e, e)}, {"q_proj_weight": (e, e), "k_proj_weight": (e, self.kdim),
                                                       "v_proj_weight": (e, self.vdim)}
        used, unused = (joint, apart) if self._qkv_same_embed_dim else (apart, joint)
        for name, shape in used.items():
            self.register_parameter(name, empty_parameter(shape, device, dtype))
        for name in unused:
            self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", empty_parameter((3 * e,), device, dtype) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(e, e, bias, device, dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, empty_parameter((1, 1, e), device, dtype) if add_bias_kv else None)

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        """Return (output, attention weights or None); nested tensors give nested results."""
        if query.is_nested or key.is_nested or value.is_nested:
            self._require_plain(key_padding_mask, need_weights, attn_mask)
            return self._of_samples(query, key, value, is_causal), None
        swap = self.batch_first and query.ndim == 3
        if swap:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        out, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
            key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight, self.k_proj_weight,
            self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal)
        return (out.transpose(0, 1) if swap else out), weights

    def _require_plain(self, key_padding_mask, need_weights, attn_mask):
        if not self.batch_first or self.add_zero_attn or self.bias_k is not None:
            raise ArgumentError("MultiheadAttention of nested tensors takes batch_first=True, and no further keys")
        if need_weights or key_padding_mask is not None or attn_mask is not None:
            raise ArgumentError("MultiheadAttention of nested tensors takes need_weights=False and no masks: samples do not "
                                "see each other, and have no padding; is_causal may be given")

    def _of_samples(self, query, key, value, is_causal):
        joint = self.in_proj_weight
        weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight) if joint is None else joint.chunk(3)
        biases = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        q, k, v = [F.linear(x, w, b).unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)
                   for x, w, b in zip((query, key, value), weights, biases)]
        dropout = self.dropout if self.training else 0.0
        found = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=is_causal)
        return self.out_proj(found.transpose(1, 2).flatten(-2))


def causal_mask(size, dtype=None, device=None):
    """Return zeros where a step may attend (itself and before), -inf elsewhere."""
    return FUNCTIONS["full"]((size, size), float("-inf"), dtype=dtype, device=device).triu(1)


class SDPBackend(IntEnum):
    """Names of attention kernels. One kernel serves all, so the choice changes no result."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Accept a choice of kernels, without effect: attention is always computed in blocks, without a score matrix.
    `set_priority` is ignored: there is one kernel."""
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    if not chosen or not all(isinstance(b, SDPBackend) for b in chosen):
        raise ArgumentError(f"sdpa_kernel takes one SDPBackend or a list of them, got {backends!r}")
    yield
