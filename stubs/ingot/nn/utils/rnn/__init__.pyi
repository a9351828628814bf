"""Batches of sequences of different lengths: padded, or packed without padding."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import device as _device

class PackedSequence(_t.NamedTuple):
    """The steps of several sequences: all first steps, then all second ones. `batch_sizes` is the number of sequences per
    step."""
    data: _t.Any
    batch_sizes: _t.Any
    sorted_indices: _t.Any
    unsorted_indices: _t.Any
    def cpu(self) -> _t.Any: ...
    def cuda(self, device: _device | _b.str | _b.int = 'cuda', non_blocking: _b.bool = False) -> _t.Any: ...
    def double(self) -> _t.Any: ...
    def float(self) -> _t.Any: ...
    def half(self) -> _t.Any: ...
    def int(self) -> _t.Any: ...
    @_b.property
    def is_cuda(self) -> _b.bool:
        """Return whether the data is on a GPU."""
    def is_pinned(self) -> _t.Any: ...
    def long(self) -> _t.Any: ...
    def pin_memory(self) -> _t.Any:
        """Move the data to pinned memory."""
    def to(self, *args: _t.Any, **kwargs: _t.Any) -> _t.Any:
        """Move or cast the data, with the order of samples."""

def invert_permutation(permutation: _t.Any) -> _t.Any:
    """Return the inverse of a permutation."""
def pack_padded_sequence(input: _t.Any, lengths: _t.Any, batch_first: _b.bool = False,
                         enforce_sorted: _b.bool = True) -> PackedSequence:
    """Pack a padded batch (T, B, ...); lengths must be descending unless enforce_sorted=False."""
def pack_sequence(sequences: _t.Any, enforce_sorted: _b.bool = True) -> _t.Any:
    """Pack sequences (L, ...) of different lengths."""
def packed_rows(padded: _t.Any, live: _t.Any, count: _t.Any) -> _t.Any:
    """Return the `count` real steps of a padded batch (T, B, ...)."""
def pad_packed_sequence(sequence: _t.Any, batch_first: _b.bool = False,
                        padding_value: _b.float = 0.0, total_length: _t.Any = None) -> _b.tuple[_t.Any, ...]:
    """Return (padded batch, lengths): the inverse of pack_padded_sequence."""
def pad_sequence(sequences: _t.Any, batch_first: _b.bool = False, padding_value: _b.float = 0.0,
                 padding_side: _b.str = 'right') -> _t.Any:
    """Stack sequences (L, ...) of different lengths, padded with a value."""
def padded_steps(packed: _t.Any) -> _b.tuple[_t.Any, ...]:
    """Return (steps of a packed sequence as a padded batch (T, B, ...), mask (T, B) of real steps). Other steps are
    copies."""
def unpack_sequence(packed_sequences: _t.Any) -> _t.Any:
    """Return the sequences of a packed batch."""
def unpad_sequence(padded_sequences: _t.Any, lengths: _t.Any, batch_first: _b.bool = False) -> _b.list[_t.Any]:
    """Return the sequences of a padded batch."""
