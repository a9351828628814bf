"""Decoder of the Llama family: token numbers to logits of the next token.

Modules and parameters have the names of GGUF files, so a file is the decoder's state dict. RMSNorm before attention and
feed-forward, rotary positions, fewer heads of keys than of queries, a gated feed-forward; some architectures add sliding
windows, soft caps, norms of queries and keys, norms behind, and the table of embeddings as the head.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..ir import dtype as dt
from ..ir.errors import FileError
from ..runtime import nn
from ..runtime.api.views.join_split import cat, stack
from ..runtime.api.views.ranges import arange
from ..runtime.core.device import Device
from ..runtime.core.tensor import Tensor
from ..runtime.nn import functional as F
from ..runtime.stored_weights import StoredWeight
from .decoder_config import DecoderConfig
from .kv_cache import KeyValueCache, LayerCache

_STORED = {dt.float16: "F16", dt.bfloat16: "BF16"}       # names of the weight formats


class Tokens(NamedTuple):
    """Facts about the tokens of a call that all layers share.

    positions   positions of the tokens, [rows, tokens]; [1, tokens] without a cache
    rotations   {window?: (cosines, sines)} of the positions, each [rows, 1, tokens, rotated / 2]
    rows        rows of the cache, one for each text
    slots       {window?: the slots of the cache that are read}
    places      {window?: the places in the cache that are written}
    end         number of tokens stored in each row after the call; None without a cache
    """

    positions: Tensor
    rotations: dict
    rows: Tensor | None
    slots: dict
    places: dict
    end: Tensor | None


class Attention(nn.Module):
    """Attention of tokens over themselves and stored ones."""

    def __init__(self, config: DecoderConfig, window: int):
        super().__init__()
        c = self.config = config
        self.window = window
        self.attn_q = nn.Linear(c.width, c.heads * c.head_size, bias="attn_q" in c.biases)
        self.attn_k = nn.Linear(c.width, c.kv_heads * c.head_size, bias="attn_k" in c.biases)
        self.attn_v = nn.Linear(c.width, c.kv_heads * c.head_size, bias="attn_v" in c.biases)
        self.attn_output = nn.Linear(c.heads * c.head_size, c.width, bias="attn_output" in c.biases)
        if c.query_norm:
            self.attn_q_norm, self.attn_k_norm = (nn.RMSNorm(c.head_size, c.epsilon) for _ in range(2))

    def attend(self, x, tokens: Tokens, cache: LayerCache | None):
        """Return the results for tokens [rows, tokens, width]."""
        c = self.config
        q, k, v = (part(x).unflatten(-1, (-1, c.head_size)).transpose(-2, -3)
                   for part in (self.attn_q, self.attn_k, self.attn_v))
        if c.query_norm:
            q, k = self.attn_q_norm(q), self.attn_k_norm(k)
        cosines, sines = tokens.rotations[self.window > 0]
        q, k = (rotated(t, cosines, sines, c.rotates_pairs) for t in (q, k))
        k, v, key_positions = (k, v, tokens.positions) if cache is None else self.remember(k, v, tokens, cache)
        ages = tokens.positions[:, :, None] - key_positions[:, None]
        seen = (ages >= 0) & (key_positions >= 0)[:, None]
        if self.window:
            seen = seen & (ages < self.window)
        out = scores_and_sum(q, k, v, seen[:, None], c.score_scale, c.score_cap)
        return self.attn_output(out.transpose(-2, -3).flatten(-2))

    def remember(self, k, v, tokens: Tokens, cache: LayerCache):
        """Store keys and values; return all that the tokens may see, and their positions."""
        rows, slots, places, count = tokens.rows, tokens.slots[self.window > 0], tokens.places[self.window > 0], k.shape[-2]
        parts = (cache.keys, k), (cache.values, v)
        if count == 1:                  # the slot that it takes holds nothing that it sees, so all are read where they are
            cache.write(k, v, places)
            keys, values = (store.read(rows, slots.shape[0], in_place=True) for store, _ in parts)
            return keys, values, cache.positions(slots, tokens.end)
        positions = cat([cache.positions(slots, tokens.end - count), tokens.positions], 1)
        keys, values = (cat([store.read(rows, slots.shape[0], in_place=False), new], 2) for store, new in parts)
        cache.write(k, v, places)
        return keys, values, positions


class Block(Attention):
    """Attention and feed-forward, each added to its input."""

    def __init__(self, config: DecoderConfig, window: int):
        super().__init__(config, window)
        c = config
        self.attn_norm, self.ffn_norm = nn.RMSNorm(c.width, c.epsilon), nn.RMSNorm(c.width, c.epsilon)
        if c.post_norm:
            self.post_attention_norm, self.post_ffw_norm = (nn.RMSNorm(c.width, c.epsilon) for _ in range(2))
        self.ffn_gate, self.ffn_up = (nn.Linear(c.width, c.hidden, bias=name in c.biases) for name in ("ffn_gate", "ffn_up"))
        self.ffn_down = nn.Linear(c.hidden, c.width, bias="ffn_down" in c.biases)

    def forward(self, x, tokens: Tokens, cache: LayerCache | None):
        y = self.attend(self.attn_norm(x), tokens, cache)
        x = x + (self.post_attention_norm(y) if self.config.post_norm else y)
        y = self.ffn_norm(x)
        gate = self.ffn_gate(y)
        y = self.ffn_down((F.gelu(gate, approximate="tanh") if self.config.gelu else F.silu(gate)) * self.ffn_up(y))
        return x + (self.post_ffw_norm(y) if self.config.post_norm else y)


class Decoder(nn.Module):
    """Tokens to logits of the next ones."""

    def __init__(self, config: DecoderConfig):
        super().__init__()
        c = self.config = config
        self.token_embd = nn.Embedding(c.vocabulary, c.width)
        self.blk = nn.ModuleList([Block(c, c.window(i)) for i in range(c.layers)])
        self.output_norm = nn.RMSNorm(c.width, c.epsilon)
        if not c.tied:
            self.output = nn.Linear(c.width, c.vocabulary, bias=False)
        self.rope_freqs = None          # divisors of frequencies, of files that have them

    @classmethod
    def of(cls, config: DecoderConfig, weights: Mapping[str, Tensor]) -> "Decoder":
        """Return a decoder over the tensors of a file, which stay as they are."""
        with Device("meta"):
            model = cls(config).requires_grad_(False).eval()
        state = {name: in_float32(t) for name, t in weights.items()}
        model.rope_freqs = state.pop("rope_freqs.weight", None)
        try:
            model.load_state_dict(state, assign=True)
        except RuntimeError as e:
            raise FileError(" ".join(str(e).split())) from None
        return model

    def forward(self, tokens: Tensor, cache: KeyValueCache | None = None, slots: Tensor | None = None,
                window_slots: Tensor | None = None, rows: Tensor | None = None) -> Tensor:
        """Return logits for tokens [..., tokens]. With a cache they are [rows, tokens], the next ones of its texts, and it
        takes them in.

        slots         0, 1, ...: slots of the cache that hold all tokens of the longest text so far, with this one if it is one
        window_slots  the same for layers with a window
        rows          rows of the cache that hold the texts; all rows unless told. If each has one token, they are 0, 1, ...
        """
        return self.logits(self.hidden(tokens, cache, slots, window_slots, rows))

    def hidden(self, tokens: Tensor, cache: KeyValueCache | None = None, slots: Tensor | None = None,
               window_slots: Tensor | None = None, rows: Tensor | None = None) -> Tensor:
        """Return the hidden states before the last norm."""
        count = tokens.shape[-1]
        positions, end, places = arange(count)[None], None, {}
        if cache is not None:
            rows = arange(cache.rows) if rows is None else rows
            length = cache.length[rows]
            positions, end = positions + length[:, None], length + count
            places = {local: cache.places(rows, positions, local) for local in (False, True)}
            cache.length.index_copy_(0, rows, end)
        known = Tokens(positions, {local: self.rotation(positions, local) for local in (False, True)}, rows,
                       {False: slots, True: window_slots}, places, end)
        x = F.embedding(tokens.reshape(-1, count), self.token_embd.weight) * self.config.table_scale
        for i, block in enumerate(self.blk):
            x = block(x, known, None if cache is None else cache.layers[i])
        return x.reshape(*tokens.shape, -1)

    def logits(self, x: Tensor) -> Tensor:
        """Return the logits of hidden states."""
        head = self.token_embd if self.config.tied else self.output
        y = F.linear(self.output_norm(x), head.weight)
        cap = self.config.logit_cap
        return (y / cap).tanh() * cap if cap else y

    def rotation(self, positions: Tensor, local: bool) -> tuple[Tensor, Tensor]:
        """Return cosines and sines of positions [rows, tokens]; `local` is for layers with a window."""
        c = self.config
        base, factor = (c.local_base, 1.0) if local else (c.rope_base, c.rope_factor)
        divisors = base ** (arange(0, c.rotated, 2, dtype=dt.float32) / c.rotated) * factor
        if self.rope_freqs is not None:
            divisors = divisors * self.rope_freqs
        angles = positions[:, None, :, None] / divisors
        return angles.cos(), angles.sin()


def in_float32(t: Tensor) -> Tensor:
    """Return a tensor of a file as one that float32 is multiplied with: matrices of 16 bits stay as they are."""
    if isinstance(t, StoredWeight) or t.dtype is dt.float32:
        return t
    if t.ndim == 2 and t.dtype in _STORED:
        return StoredWeight(t.view(dt.uint8), _STORED[t.dtype], t.shape[-1])
    return t.to(dt.float32)


def rotated(x, cosines, sines, in_pairs: bool):
    """Turn pairs of numbers of each head by the angles of its position: neighbours, or numbers half the rotated part apart."""
    count = cosines.shape[-1]
    front, back = x[..., :2 * count], x[..., 2 * count:]
    if in_pairs:
        a, b = front.unflatten(-1, (count, 2)).unbind(-1)
        front = stack([a * cosines - b * sines, a * sines + b * cosines], -1).flatten(-2)
    else:
        a, b = front[..., :count], front[..., count:]
        front = cat([a * cosines - b * sines, a * sines + b * cosines], -1)
    return cat([front, back], -1) if back.shape[-1] else front


def scores_and_sum(q, k, v, seen, scale: float, cap: float):
    """Return softmax(scores) @ v over [rows, heads, tokens, size]; several heads of queries share one of keys.

    seen   which keys a token sees, [rows, 1, tokens, keys]
    """
    if not cap:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
    group = q.shape[1] // k.shape[1]
    grouped = q.unflatten(1, (-1, group)).flatten(2, 3)         # [rows, heads of keys, queries of each * tokens, size]
    scores = (grouped @ k.transpose(-1, -2)).unflatten(2, (group, -1)) * (scale / cap)
    weights = (scores.tanh() * cap).masked_fill(~seen.unsqueeze(2), float("-inf")).softmax(-1)
    return (weights.flatten(2, 3) @ v).reshape(q.shape)
