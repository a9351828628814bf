"""`ingot.generation`: text from language models in GGUF files."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from ingot import Tensor as _Tensor
from ingot.nn import Module as _Module
from ingot.utils.gguf import GGUFWeights as _GGUFWeights
from ingot.utils.gguf import Tokenizer as _Tokenizer
from os import PathLike as _PathLike

class Decoder(_Module):
    """Tokens to logits of the next ones."""
    blk: _t.Any
    config: DecoderConfig
    output: _t.Any
    output_norm: _t.Any
    rope_freqs: _t.Any
    token_embd: _t.Any
    def __init__(self, config: DecoderConfig) -> None: ...
    def forward(self, tokens: _Tensor, cache: _KeyValueCache | None = None, slots: _Tensor | None = None,
                window_slots: _Tensor | None = None) -> _Tensor:
        """Return logits for tokens [..., tokens]. Those of a cache are the next ones of its text, and it takes them in."""
    def hidden(self, tokens: _Tensor, cache: _KeyValueCache | None = None, slots: _Tensor | None = None,
               window_slots: _Tensor | None = None) -> _Tensor:
        """Return the hidden states before the last norm."""
    def logits(self, x: _Tensor) -> _Tensor:
        """Return the logits of hidden states."""
    @_b.classmethod
    def of(cls, config: DecoderConfig, weights: _c.Mapping[_b.str, _Tensor]) -> Decoder:
        """Return a decoder over the tensors of a file, which stay as they are."""
    def rotation(self, positions: _Tensor, local: _b.bool) -> _b.tuple[_Tensor, _Tensor]:
        """Return cosines and sines of rotary positions, [tokens, rotated / 2]; `local` is for layers with a window."""

class DecoderConfig:
    """Sizes and choices of a decoder."""
    biases: _b.frozenset[_b.str]
    context: _b.int
    epsilon: _b.float
    gelu: _b.bool
    head_size: _b.int
    heads: _b.int
    hidden: _b.int
    kv_heads: _b.int
    layers: _b.int
    local_base: _b.float
    logit_cap: _b.float
    post_norm: _b.bool
    query_norm: _b.bool
    rope_base: _b.float
    rope_factor: _b.float
    rotated: _b.int
    rotates_pairs: _b.bool
    score_cap: _b.float
    score_scale: _b.float
    table_scale: _b.float
    tied: _b.bool
    vocabulary: _b.int
    width: _b.int
    windows: _b.tuple[_b.int, ...]
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, vocabulary: _b.int, width: _b.int, layers: _b.int, heads: _b.int, kv_heads: _b.int,
                 head_size: _b.int, hidden: _b.int, context: _b.int, epsilon: _b.float = 1e-06,
                 windows: _b.tuple[_b.int, ...] = (), rotated: _b.int = 0, rope_base: _b.float = 10000.0,
                 local_base: _b.float = 10000.0, rope_factor: _b.float = 1.0, score_scale: _b.float = 1.0,
                 score_cap: _b.float = 0.0, logit_cap: _b.float = 0.0, table_scale: _b.float = 1.0,
                 rotates_pairs: _b.bool = False, gelu: _b.bool = False, query_norm: _b.bool = False,
                 post_norm: _b.bool = False, biases: _b.frozenset[_b.str] = ..., tied: _b.bool = True) -> None: ...
    def window(self, layer: _b.int) -> _b.int:
        """Return the window of a layer, 0 for none."""

class LanguageModel:
    """Decoder, tokenizer, and a cache for one text at a time."""
    cache: _KeyValueCache
    chat_template: _b.str
    context: _t.Any
    decoder: Decoder
    tokenizer: Tokenizer
    def __init__(self, decoder: Decoder, tokenizer: Tokenizer | None = None, chat_template: _b.str | None = None,
                 context: _b.int | None = None) -> None: ...
    def encode(self, prompt: _b.str | _c.Sequence[_b.int] | _c.Sequence[_b.dict[_t.Any, _t.Any]],
               **variables: _t.Any) -> _b.list[_b.int]:
        """Return the tokens of a prompt: a text, messages of a chat such as {"role": "user", "content": "Hello"}, or tokens."""
    def generate(self, prompt: _b.str | _c.Sequence[_b.int] | _c.Sequence[_b.dict[_t.Any, _t.Any]],
                 max_tokens: _b.int | None = None, sampling: Sampling | None = None, seed: _b.int = 0) -> _c.Iterator[_b.str]:
        """Yield the text that follows a prompt, piece by piece, until the model ends it. A later call ends this text."""
    def stats(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the statistics of the traced functions by name."""
    def tokens(self, prompt: _c.Sequence[_b.int], sampling: Sampling | None = None, seed: _b.int = 0) -> _c.Iterator[_b.int]:
        """Yield the tokens that follow those of a prompt, until the context is full. A later call ends this text."""

class Sampling:
    """How tokens are drawn, in this order."""
    counted: _b.int
    frequency_penalty: _b.float
    min_p: _b.float
    presence_penalty: _b.float
    repetition_penalty: _b.float
    temperature: _b.float
    top_k: _b.int
    top_p: _b.float
    def __eq__(self, other: _t.Any) -> _t.Any: ...
    def __hash__(self) -> _b.int: ...
    def __init__(self, temperature: _b.float = 0.8, top_k: _b.int = 40, top_p: _b.float = 0.95,
                 min_p: _b.float = 0.05, repetition_penalty: _b.float = 1.0, frequency_penalty: _b.float = 0.0,
                 presence_penalty: _b.float = 0.0, counted: _b.int = 64) -> None: ...
    def __post_init__(self) -> None: ...
    @_b.property
    def form(self) -> _b.tuple[_t.Any, ...]:
        """The choices that change the operators of a step; the other numbers are tensors."""
    @_b.property
    def penalises(self) -> _b.bool:
        """Whether tokens before change logits."""

class Tokenizer:
    """A vocabulary, and the way to it."""
    begin: _t.Any
    by_merges: _t.Any
    end: _t.Any
    ends: _b.set[_t.Any]
    ids: _b.dict[_t.Any, _t.Any]
    tokens: _t.Any
    types: _t.Any
    unknown: _t.Any
    def __init__(self, fields: _Tokenizer) -> None: ...
    def bytes_of(self, token: _b.int) -> _b.bytes:
        """Return the text of a token as UTF-8, which may be a part of a character; nothing for control tokens."""
    def decode(self, tokens: _c.Iterable[_b.int]) -> _b.str:
        """Return the text of tokens from its start: without the space that was put before it, and without control tokens."""
    def encode(self, text: _b.str, special: _b.bool = True, begin: _b.bool = True) -> _b.list[_b.int]:
        """Return the tokens of a text."""
    def stream(self) -> _TextStream:
        """Return an object that turns the tokens after a prompt into text, one after the other."""

def config_of(weights: _GGUFWeights) -> DecoderConfig:
    """Return the config of a file's decoder; raise for an architecture without one, and for sizes that cannot be."""
def load(path: _b.str | _PathLike, context: _b.int | None = None) -> LanguageModel:
    """Return the language model of a GGUF file, over the mapped file."""

class _KeyValueCache:
    """Keys and values of all layers, for up to `context` tokens."""
    context: _b.int
    layers: _b.list[_t.Any]
    length: _t.Any
    numbers: _b.tuple[_t.Any, ...]
    window: _t.Any
    def __init__(self, config: DecoderConfig, context: _b.int) -> None: ...
    def slots(self, tokens: _b.int) -> _b.tuple[_Tensor, _Tensor]:
        """Return the slots to read for so many tokens: in layers that see all, and in those with a window."""

class _TextStream:
    """Text of tokens as they come. Bytes of a character that is not complete wait for the next token."""
    def __init__(self, tokenizer: Tokenizer) -> None: ...
    def add(self, token: _b.int) -> _b.str:
        """Return the text that a token completes."""
    def finish(self) -> _b.str:
        """Return a sign for bytes that make no character, or nothing."""
