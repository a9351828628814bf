"""Preallocated keys and values of the tokens before, which a traced step writes in place.

A cache has rows, one for each text, of different lengths. A layer that sees all positions has a slot for each. A layer with a
window has as many slots as its window, used in turn: the token at position p is written over the one at p - slots, which no
later token sees.

Places of all writes are computed and checked before the first layer: then nothing may fail behind a write, and plans write in
place (`passes/schedule/inplace_updates.py`).
"""

from math import gcd

from ..ir import dtype as dt
from ..ir.errors import ArgumentError
from ..jit.errors.parameters import meant
from ..runtime.api.math.elementwise import where
from ..runtime.api.views.ranges import arange
from ..runtime.api.views.tensor_factories import zeros
from ..runtime.core.tensor import Tensor
from ..runtime.serialization.read_budget import shown
from .decoder_config import DecoderConfig

FORMATS = {"f32": dt.float32, "f16": dt.float16, "bf16": dt.bfloat16, "q8": dt.int8}      # of stored numbers
_BLOCK = 32         # numbers that share a scale in the format q8
_LARGEST = 127.0
ROWS = 256          # slots are read in multiples of so many: a step is bound to new sizes once in so many tokens


class StoredNumbers:
    """Keys or values of one layer: numbers of all slots of all rows, [heads, rows * slots, size].

    The rows 0, 1, ... of a step are read where they are; the row of a prompt is copied. Numbers of 16 bits are rounded; those
    of 8 bits have a scale for each block of 32, by the largest of them.
    """

    def __init__(self, heads: int, rows: int, slots: int, size: int, format: str = "f32"):
        self.rows, self.slots = rows, slots
        self.numbers = zeros(heads, rows * slots, size, dtype=FORMATS[format])
        self.block = gcd(size, _BLOCK)
        self.scales = zeros(heads, rows * slots, size // self.block) if format == "q8" else None

    def write(self, at, numbers):
        """Store numbers [heads, tokens, size] of the tokens at places in rows * slots."""
        if self.scales is not None:
            blocks = numbers.unflatten(-1, (-1, self.block))
            scales = blocks.abs().amax(-1) / _LARGEST
            self.scales.index_copy_(1, at, scales)
            numbers = (blocks / where(scales > 0, scales, 1.0)[..., None]).round().flatten(-2)
        self.numbers.index_copy_(1, at, numbers.to(self.numbers.dtype))

    def read(self, rows, count: int, in_place: bool):
        """Return the first `count` slots of rows, float32 [rows, heads, count, size]."""
        numbers = self._part(self.numbers, rows, count, in_place).to(dt.float32)
        if self.scales is None:
            return numbers
        scales = self._part(self.scales, rows, count, in_place)
        return (numbers.unflatten(-1, (-1, self.block)) * scales[..., None]).flatten(-2)

    def _part(self, numbers, rows, count, in_place):
        by_row = numbers.unflatten(1, (self.rows, self.slots))
        part = by_row[:, :rows.shape[0], :count] if in_place else by_row[:, :, :count].index_select(1, rows)
        return part.transpose(0, 1)


class LayerCache:
    """Keys and values of one layer."""

    def __init__(self, heads: int, rows: int, slots: int, size: int, format: str):
        self.slots = slots
        self.keys, self.values = (StoredNumbers(heads, rows, slots, size, format) for _ in range(2))

    def write(self, keys, values, places):
        """Store keys and values [rows, heads, tokens, size] at places, which are fewer if the last tokens alone are kept."""
        count, tokens = places.shape[0] // keys.shape[0], keys.shape[2]
        for store, numbers in ((self.keys, keys), (self.values, values)):
            store.write(places, numbers[:, :, tokens - count:].transpose(0, 1).flatten(1, 2))

    def positions(self, slots, end):
        """Return the positions [rows, slots] of tokens in some slots when `end` [rows] tokens were written; below 0 for empty
        slots."""
        last = end[:, None] - 1
        return last - (last - slots) % self.slots


class KeyValueCache:
    """Keys and values of all layers, for texts of up to `context` tokens.

    format    of the numbers, a key of `FORMATS`
    length    number of tokens stored in each row, int64 [rows]: a step adds to it, so that it needs no new recording
    """

    def __init__(self, config: DecoderConfig, context: int, rows: int = 1, format: str = "f32"):
        if format not in FORMATS:
            raise ArgumentError(f"a cache has the format {', '.join(FORMATS)}, got {shown(format)}{meant(format, FORMATS)}")
        self.context, self.rows = context, rows
        self.length: Tensor = zeros(rows, dtype=dt.int64)
        windows = [config.window(i) for i in range(config.layers)]
        self.window = min([context, *filter(None, windows)])
        self.numbers = arange(context), arange(self.window)      # of slots
        self.layers = [LayerCache(config.kv_heads, rows, min(w, context) if w else context, config.head_size, format)
                       for w in windows]

    def places(self, rows: Tensor, positions: Tensor, local: bool) -> Tensor:
        """Return the places in rows * slots of tokens at positions [rows, tokens], flat; `local` is for layers with a window.
        More tokens than slots leave the last ones."""
        slots = self.window if local else self.context
        last = positions[:, max(0, positions.shape[1] - slots):]
        return (rows[:, None] * slots + last % slots).flatten()

    def slots(self, tokens: int) -> tuple[Tensor, Tensor]:
        """Return the slots to read for so many tokens: in layers that see all, and in those with a window."""
        rows = -(-max(tokens, 1) // ROWS) * ROWS
        return self.numbers[0][:rows], self.numbers[1][:rows]
