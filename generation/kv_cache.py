"""Preallocated keys and values of the tokens before, which a traced step writes in place.

A layer that sees all positions has a slot for each. A layer with a window has as many slots as its window, used in turn: the
token at position p is written over the one at p - slots, which no later token sees.
"""

from ..ir import dtype as dt
from ..runtime.api.views.ranges import arange
from ..runtime.api.views.tensor_factories import zeros
from ..runtime.core.tensor import Tensor
from .decoder_config import DecoderConfig

ROWS = 256          # slots are read in multiples of so many: a step is bound to new sizes once in so many tokens


class LayerCache:
    """Keys and values of one layer, each [heads of keys, slots, numbers of a head]."""

    def __init__(self, heads: int, slots: int, size: int):
        self.slots = slots
        self.keys = zeros(heads, slots, size)
        self.values = zeros(heads, slots, size)

    def write(self, keys, values, positions):
        """Store keys and values of tokens; more tokens than slots leave the last ones."""
        first = max(0, positions.shape[0] - self.slots)
        at = positions[first:] % self.slots
        self.keys.index_copy_(1, at, keys[:, first:])
        self.values.index_copy_(1, at, values[:, first:])

    def positions(self, slots, end):
        """Return the positions of the tokens in some slots when `end` tokens were written; below 0 for empty slots."""
        return end - 1 - (end - 1 - slots) % self.slots


class KeyValueCache:
    """Keys and values of all layers, for up to `context` tokens.

    length    number of tokens that are stored, an int64 tensor: a step adds to it, so that it needs no new recording
    """

    def __init__(self, config: DecoderConfig, context: int):
        self.context = context
        self.length: Tensor = zeros((), dtype=dt.int64)
        windows = [config.window(i) for i in range(config.layers)]
        self.window = min([context, *filter(None, windows)])
        self.numbers = arange(context), arange(self.window)      # of slots
        self.layers = [LayerCache(config.kv_heads, min(w, context) if w else context, config.head_size) for w in windows]

    def slots(self, tokens: int) -> tuple[Tensor, Tensor]:
        """Return the slots to read for so many tokens: in layers that see all, and in those with a window."""
        rows = -(-max(tokens, 1) // ROWS) * ROWS
        return self.numbers[0][:rows], self.numbers[1][:rows]
