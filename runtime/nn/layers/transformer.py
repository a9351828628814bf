"""Transformer encoders and decoders."""

import copy

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ...amp.autocast_mode import is_autocast_enabled
from ...autograd.grad_mode import is_grad_enabled
from ...backends.mha import get_fastpath_enabled
from .. import functional as F
from ..base import init
from ..base.container import ModuleList
from ..base.module import Module
from .activation import GELU, ReLU
from .attention import MultiheadAttention, causal_mask
from .dropout import Dropout
from .linear import Linear
from .norm import LayerNorm

__all__ = ["Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer"]

_ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


def _get_activation_fn(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in _ACTIVATIONS:
        raise ArgumentError(f"activation must be 'relu', 'gelu' or a function, got {activation!r}")
    return _ACTIVATIONS[activation]


def _get_clones(module, n):
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class _Layer(Module):
    """Base of encoder and decoder layers: blocks and the position of norms. The blocks (`_sa_block`, `_mha_block`, `_ff_block`,
    each with its dropout) have PyTorch's names and arguments, since subclasses call and override them."""

    _attentions: tuple = ("self_attn",)

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        kinds = {"device": device, "dtype": dtype}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, bias=bias, batch_first=batch_first, **kinds))
        self.linear1 = Linear(d_model, dim_feedforward, bias, **kinds)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **kinds)
        self.norm_first = norm_first
        numbers = range(1, len(self._attentions) + 2)
        for i in numbers:
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kinds))
        for i in numbers:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    def _sa_block(self, x, attn_mask, key_padding_mask, is_causal=False):
        x = self.self_attn(x, x, x, key_padding_mask, False, attn_mask, is_causal=is_causal)[0]
        return self.dropout1(x)

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _residual_blocks(self, x, blocks):
        for norm, block in blocks:
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward block.

    Parameters
    ----------
    d_model, nhead : int
        Size of an element of the sequence, and number of heads of attention.
    dim_feedforward : int
        Inner size of the feed-forward block.
    dropout : float
        Probability of dropout behind attention and in the feed-forward block.
    activation : str or callable
        Function between both maps of that block: "relu", "gelu" or a function.
    layer_norm_eps : float
        Added to variances.
    batch_first : bool
        Whether the batch is the first dimension, instead of the sequence.
    norm_first : bool
        Whether normalisation comes before attention and before the block, instead of behind.
    bias : bool
        Whether maps and normalisations have biases.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Input and output: (L, N, d_model), or (N, L, d_model) with `batch_first`.

    Examples
    --------
    >>> nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)(ingot.ones(3, 5, 8)).shape
    ingot.Size([3, 5, 8])
    """

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """Return the layer's output, like src."""
        def attend(x):
            return self._sa_block(x, src_mask, src_key_padding_mask, is_causal=is_causal)

        return self._residual_blocks(src, ((self.norm1, attend), (self.norm2, self._ff_block)))

    def _ff_block(self, x):
        return self.dropout2(self._feed_forward(x))


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward block.

    Parameters
    ----------
    d_model, nhead : int
        Size of an element of the sequence, and number of heads of attention.
    dim_feedforward : int
        Inner size of the feed-forward block.
    dropout : float
        Probability of dropout behind attention and in the feed-forward block.
    activation : str or callable
        Function between both maps of that block: "relu", "gelu" or a function.
    layer_norm_eps : float
        Added to variances.
    batch_first : bool
        Whether the batch is the first dimension, instead of the sequence.
    norm_first : bool
        Whether normalisation comes before attention and before the block, instead of behind.
    bias : bool
        Whether maps and normalisations have biases.
    device, dtype : optional
        Of the parameters; by default the current defaults.

    Shape
    -----
    Target: (L, N, d_model), encoder's output: (S, N, d_model); N first with `batch_first`.

    Examples
    --------
    >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ingot.ones(3, 5, 8), ingot.ones(3, 7, 8)).shape
    ingot.Size([3, 5, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=False, memory_is_causal=False):
        """Return the layer's output, like tgt."""
        def attend(x):
            return self._sa_block(x, tgt_mask, tgt_key_padding_mask, is_causal=tgt_is_causal)

        def look(x):
            return self._mha_block(x, memory, memory_mask, memory_key_padding_mask, is_causal=memory_is_causal)

        return self._residual_blocks(tgt, ((self.norm1, attend), (self.norm2, look), (self.norm3, self._ff_block)))

    def _mha_block(self, x, mem, attn_mask, key_padding_mask, is_causal=False):
        x = self.multihead_attn(x, mem, mem, key_padding_mask, False, attn_mask, is_causal=is_causal)[0]
        return self.dropout2(x)

    def _ff_block(self, x):
        return self.dropout3(self._feed_forward(x))


def _runs_nested(layer) -> bool:
    """Return whether PyTorch runs such a layer on nested tensors."""
    if not isinstance(layer, TransformerEncoderLayer) or layer.norm_first:
        return False
    attention, activation = layer.self_attn, layer.activation
    return (attention.batch_first and attention.in_proj_bias is not None
            and (activation in (F.relu, F.gelu) or isinstance(activation, (ReLU, GELU)))
            and layer.norm1.eps == layer.norm2.eps and attention.num_heads % 2 == 0)


class TransformerEncoder(Module):
    """A stack of encoder layers.

    As in PyTorch, common layers in inference (`eval()`, no gradients) give zeros where `src_key_padding_mask` marks the ends of
    samples. `enable_nested_tensor=False` and `backends.mha.set_fastpath_enabled(False)` turn this off.
    `mask_check` is ignored: masks of any form are taken as they are.

    Parameters
    ----------
    encoder_layer : Module
        A layer, of which copies are made.
    num_layers : int
        Number of copies.
    norm : Module, optional
        Normalisation of the result.
    enable_nested_tensor : bool
        Whether padded ends of samples may become zeros, as above.
    mask_check : bool
        Changes nothing.

    Shape
    -----
    Input and output: those of the layer.

    Examples
    --------
    >>> layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> nn.TransformerEncoder(layer, num_layers=2)(ingot.ones(3, 5, 8)).shape
    ingot.Size([3, 5, 8])
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        self.use_nested_tensor = enable_nested_tensor and _runs_nested(encoder_layer)

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """Return the output of the last layer."""
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, src_key_padding_mask=src_key_padding_mask,
                        is_causal=bool(is_causal) and mask is not None)
        if src_key_padding_mask is not None and mask is None and self._clears_padding(src):
            out = _zero_padding(out, src_key_padding_mask)
        return out if self.norm is None else self.norm(out)

    def _clears_padding(self, src):
        first = self.layers[0]
        if not (self.use_nested_tensor and get_fastpath_enabled()) or first.training or src.ndim != 3:
            return False
        if is_autocast_enabled("cuda"):
            return False
        return not is_grad_enabled() or not (src.requires_grad or any(p.requires_grad for p in first.parameters()))


def _zero_padding(out, padding):
    """Write zeros where samples have ended, if padding stands only at their ends."""
    ended = padding if padding.dtype is dt.bool_ else padding != 0
    at_ends = (ended[:, 1:] >= ended[:, :-1]).all()
    return out.masked_fill((ended & at_ends).unsqueeze(-1), 0.0)


class TransformerDecoder(Module):
    """A stack of decoder layers."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None, tgt_is_causal=None, memory_is_causal=False):
        """Return the output of the last layer."""
        for layer in self.layers:
            tgt = layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                        bool(tgt_is_causal) and tgt_mask is not None, memory_is_causal and memory_mask is not None)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):
        super().__init__()
        kinds = {"device": device, "dtype": dtype}
        each = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kinds)

        self.encoder = custom_encoder if custom_encoder is not None else TransformerEncoder(
            TransformerEncoderLayer(*each, **kinds), num_encoder_layers, norm())
        self.decoder = custom_decoder if custom_decoder is not None else TransformerDecoder(
            TransformerDecoderLayer(*each, **kinds), num_decoder_layers, norm())
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self._reset_parameters()

    def _reset_parameters(self):
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
                tgt_key_padding_mask=None, memory_key_padding_mask=None, src_is_causal=None, tgt_is_causal=None,
                memory_is_causal=False):
        """Return the decoder's output."""
        batch_dim = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise ShapeError(f"src and tgt must have one batch size, got {src.aval} and {tgt.aval}")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ShapeError(f"the last size of src and tgt must be d_model={self.d_model}, got {src.aval} and {tgt.aval}")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
                            memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """Return zeros where a step may attend, -inf elsewhere."""
        return causal_mask(sz, dtype, device)
