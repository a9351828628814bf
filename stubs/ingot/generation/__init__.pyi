"""`ingot.generation`: text from language models in GGUF files."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import collections.abc as _c
import typing as _t
from collections import deque as _deque
from ingot import Tensor as _Tensor
from ingot.nn import Module as _Module
from ingot.utils.gguf import GGUFWeights as _GGUFWeights
from ingot.utils.gguf import Tokenizer as _Tokenizer
from os import PathLike as _PathLike

class Batch:
    """Rows for texts: `start` one, `read` its prompt part by part, then `step` until it is ended."""
    cache: _t.Any
    context: _b.int
    decoder: Decoder
    rows: _b.int
    texts: _b.dict[_t.Any, _t.Any]
    def __init__(self, decoder: Decoder, context: _b.int, rows: _b.int = 1, cache: _b.str = 'f32') -> None: ...
    def end(self, row: _b.int) -> None:
        """Free a row."""
    def free_row(self) -> _b.int | None:
        """Return the first row without a text. Steps compute the rows up to the last one that is in use."""
    def read(self, row: _b.int) -> None:
        """Take in one part of the prompt of a text, if there is one left."""
    def start(self, row: _b.int, prompt: _b.list[_b.int], sampling: Sampling, seed: _b.int) -> None:
        """Begin a text in a row. Its prompt has at least one token, and fewer than the context."""
    def stats(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the statistics of the traced functions by name."""
    def step(self) -> _b.dict[_b.int, _b.int]:
        """Return the next token of each text that runs, by row. A text may not be longer than the context."""

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
                window_slots: _Tensor | None = None, rows: _Tensor | None = None) -> _Tensor:
        """Return logits for tokens [..., tokens]. With a cache they are [rows, tokens], the next ones of its texts, and it
        takes them in."""
    def hidden(self, tokens: _Tensor, cache: _KeyValueCache | None = None, slots: _Tensor | None = None,
               window_slots: _Tensor | None = None, rows: _Tensor | None = None) -> _Tensor:
        """Return the hidden states before the last norm."""
    def logits(self, x: _Tensor) -> _Tensor:
        """Return the logits of hidden states."""
    @_b.classmethod
    def of(cls, config: DecoderConfig, weights: _c.Mapping[_b.str, _Tensor]) -> Decoder:
        """Return a decoder over the tensors of a file, which stay as they are."""
    def rotation(self, positions: _Tensor, local: _b.bool) -> _b.tuple[_Tensor, _Tensor]:
        """Return cosines and sines of positions [rows, tokens]; `local` is for layers with a window."""

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
    """Decoder, tokenizer, and a cache for texts."""
    batch: Batch
    chat_template: _b.str
    context: _t.Any
    decoder: Decoder
    tokenizer: Tokenizer
    def __init__(self, decoder: Decoder, tokenizer: Tokenizer | None = None, chat_template: _b.str | None = None,
                 context: _b.int | None = None, rows: _b.int = 1, cache: _b.str = 'f32') -> None: ...
    def checked(self, tokens: _c.Sequence[_b.int]) -> _b.list[_b.int]:
        """Return the tokens of a prompt; raise for unknown ones, and for too many of them."""
    def encode(self, prompt: _b.str | _c.Sequence[_b.int] | _c.Sequence[_b.dict[_t.Any, _t.Any]],
               **variables: _t.Any) -> _b.list[_b.int]:
        """Return the tokens of a prompt: a text, messages of a chat such as {"role": "user", "content": "Hello"}, or tokens."""
    def generate(self, prompt: _b.str | _c.Sequence[_b.int] | _c.Sequence[_b.dict[_t.Any, _t.Any]],
                 max_tokens: _b.int | None = None, sampling: Sampling | None = None, seed: _b.int = 0) -> _c.Iterator[_b.str]:
        """Yield the text that follows a prompt, piece by piece, until the model ends it. A later call ends this text."""
    def generate_all(self, prompts: _c.Sequence[_t.Any], max_tokens: _b.int | None = None,
                     sampling: Sampling | _c.Sequence[Sampling] | None = None,
                     seed: _b.int | _c.Sequence[_b.int] = 0) -> _b.list[_b.str]:
        """Return the texts that follow several prompts. As many as the model has rows are written at a time, and each is the
        text that its prompt gives alone."""
    def stats(self) -> _b.dict[_t.Any, _t.Any]:
        """Return the statistics of the traced functions by name."""
    def tokens(self, prompt: _c.Sequence[_b.int], sampling: Sampling | None = None, seed: _b.int = 0) -> _c.Iterator[_b.int]:
        """Yield the tokens that follow those of a prompt, until the context is full. A later call ends this text."""

class Request:
    """A text to write."""
    count: _b.int
    ended: _b.str | None
    ends: _c.Collection[_b.int]
    max_tokens: _b.int | None
    prompt: _b.list[_b.int]
    sampling: Sampling
    seed: _b.int
    def __init__(self, prompt: _b.list[_b.int], sampling: Sampling = ..., seed: _b.int = 0,
                 max_tokens: _b.int | None = None, ends: _c.Collection[_b.int] = (), count: _b.int = 0,
                 ended: _b.str | None = None) -> None: ...

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
    def penalises(self) -> _b.bool:
        """Whether tokens before change logits."""
    @_b.property
    def way(self) -> _b.int:
        """The way to a token: its operators, but for penalties."""

class Scheduler:
    """Requests that wait, and those in rows of a batch. One thread calls it."""
    batch: Batch
    running: _b.dict[_t.Any, _t.Any]
    waiting: _deque
    def __init__(self, batch: Batch) -> None: ...
    def add(self, request: Request) -> None:
        """Let a request wait for a row."""
    def advance(self) -> _b.list[_b.tuple[Request, _b.int]]:
        """Give free rows to requests, take in one part of a prompt, and write one token of each text. Return these tokens."""
    def cancel(self, request: Request) -> None:
        """Drop a request; its row is free at once."""

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
def load(path: _b.str | _PathLike, context: _b.int | None = None, rows: _b.int = 1, cache: _b.str = 'f32') -> LanguageModel:
    """Return the language model of a GGUF file, over the mapped file."""

class _KeyValueCache:
    """Keys and values of all layers, for texts of up to `context` tokens."""
    context: _b.int
    layers: _b.list[_t.Any]
    length: _t.Any
    numbers: _b.tuple[_t.Any, ...]
    rows: _b.int
    window: _t.Any
    def __init__(self, config: DecoderConfig, context: _b.int, rows: _b.int = 1, format: _b.str = 'f32') -> None: ...
    def places(self, rows: _Tensor, positions: _Tensor, local: _b.bool) -> _Tensor:
        """Return the places in rows * slots of tokens at positions [rows, tokens], flat; `local` is for layers with a
        window."""
    def slots(self, tokens: _b.int) -> _b.tuple[_Tensor, _Tensor]:
        """Return the slots to read for so many tokens: in layers that see all, and in those with a window."""

class _TextStream:
    """Text of tokens as they come. Bytes of a character that is not complete wait for the next token."""
    def __init__(self, tokenizer: Tokenizer) -> None: ...
    def add(self, token: _b.int) -> _b.str:
        """Return the text that a token completes."""
    def finish(self) -> _b.str:
        """Return a sign for bytes that make no character, or nothing."""
