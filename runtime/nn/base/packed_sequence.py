"""Batches of sequences of different lengths: padded, or packed without padding."""

from collections import namedtuple

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import expand, reshape
from ....ir.ops.index import indexing as ix
from ....ir.suggestions import unknown_choice
from ...api.register.register import FUNCTIONS
from ...api.register.type_promotion import to_dtype
from ...api.views.join_split import total_of
from ...api.views.tensor_factories import counted, on_arrays
from ...core.creation import as_array_tensor
from ...core.tensor import Tensor, shape_of
from ...state.mode import tls

_MANY = 1 << 40     # more steps than any batch has

_Fields = namedtuple("_Fields", ("data", "batch_sizes", "sorted_indices", "unsorted_indices"),
                     defaults=(None, None, None))


class PackedSequence(_Fields):
    """The steps of several sequences: all first steps, then all second ones. `batch_sizes` is the number of sequences per
    step."""

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if isinstance(batch_sizes, Tensor) and batch_sizes.device.type != "cpu":
            raise ArgumentError(f"PackedSequence takes batch_sizes on the CPU, got a tensor on {batch_sizes.device}")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """Move or cast the data, with the order of samples."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, self.batch_sizes, *(None if t is None else t.to(data.device)
                                                                                   for t in self[2:]))

    def float(self):
        return self.to(dt.float32)

    def double(self):
        return self.to(dt.float64)

    def half(self):
        return self.to(dt.float16)

    def long(self):
        return self.to(dt.int64)

    def int(self):
        return self.to(dt.int32)

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device="cuda", non_blocking=False):
        return self.to(device, non_blocking=non_blocking)

    def pin_memory(self):
        """Move the data to pinned memory."""
        return type(self)(self.data.pin_memory(), *self[1:])

    def is_pinned(self):
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Return whether the data is on a GPU."""
        return not str(self.data.device).startswith("cpu")


def invert_permutation(permutation):
    """Return the inverse of a permutation."""
    if permutation is None:
        return None
    count = shape_of(permutation)[0]
    return ix.scatter(permutation, permutation, counted(count, permutation.dtype).to(permutation.device), dim=0, mode="set")


def _is_longer(count, lengths, steps):
    """Return an array (steps, B): whether each sequence has more steps than 0, 1, ..."""
    return lengths > count(steps)[:, None]


def _rows_of(live):
    """Return for each place of a mask the number of true ones before it."""
    return (live.reshape(-1).cumsum(0) - 1).clip(0)


def _total(lengths, most, is_sorted):
    """Return the sum of lengths; a negative number if some are not from 1 to `most`, or rise where they must be sorted."""
    is_wrong = ew.logical_or(ew.lt(lengths, 1), ew.gt(lengths, most))
    if is_sorted and shape_of(lengths)[0] > 1:
        is_wrong = ew.logical_or(is_wrong, ew.gt(lengths, FUNCTIONS["cat"]([lengths[:1], lengths[:-1]])))
    return total_of(ew.where(is_wrong, -_MANY, lengths))


def _refuse(lengths, most, is_sorted):
    """Raise for lengths that have no total."""
    lengths = lengths.tolist()
    if is_sorted and lengths != sorted(lengths, reverse=True):
        raise ArgumentError("pack_padded_sequence takes lengths that fall; pass enforce_sorted=False for any order")
    raise ArgumentError(f"lengths must be from 1 to {most}, got {lengths}")


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack a padded batch (T, B, ...); lengths must be descending unless enforce_sorted=False."""
    lengths = to_dtype(lengths if isinstance(lengths, Tensor) else FUNCTIONS["tensor"](lengths), dt.int64).cpu().reshape(-1)
    if batch_first:
        input = input.transpose(0, 1)
    if input.ndim < 2 or shape_of(lengths)[0] != shape_of(input)[1]:
        raise ShapeError(f"pack_padded_sequence takes one length for each sequence, got {lengths.shape[0]} for {input.aval}")
    most, batch = shape_of(input)[:2]
    total, order = _total(lengths, most, enforce_sorted), None
    if total < 0:
        _refuse(lengths, most, enforce_sorted)
    if not enforce_sorted:
        lengths, order = FUNCTIONS["sort"](lengths, 0, True, stable=True)
    is_step, sizes = on_arrays(_steps_of, lengths, _longest(lengths))
    at, = ix.nonzero(is_step, count=total)
    if order is not None:
        at = on_arrays(_in_order, at, order if tls.m.special else order._a, batch)
    data = _take_rows(input.reshape(most * batch, *shape_of(input)[2:]), at)
    return PackedSequence(data, sizes, None if order is None else order.to(data.device))


def _steps_of(count, lengths, longest):
    """Return (whether each sequence has a step, as a vector (T * B,), how many have)."""
    is_step = _is_longer(count, lengths, longest)
    return is_step.reshape(-1), is_step.sum(1)


def _in_order(count, at, order, batch):
    """Return the positions in a batch (T, B) of those in a sorted one."""
    sequence = at % batch
    return at - sequence + order[sequence]


def _longest(lengths):
    """Return the largest of some lengths, as a number that Python has read; 0 of none."""
    return lengths.max().item() if shape_of(lengths)[0] else 0


def _take_rows(x, index):
    return FUNCTIONS["index_select"](x, 0, index if index.device == x.device else index.to(x.device))


def _live(packed):
    """Return (mask (T, B) of the real steps of a packed sequence, its packed row of each place)."""
    sizes, order = to_dtype(packed.batch_sizes, dt.int64), packed.sorted_indices
    return on_arrays(_mask_of_sizes, sizes, _longest(sizes) if order is None else shape_of(order)[0])


def _mask_of_sizes(count, sizes, batch):
    live = sizes[:, None] > count(batch)
    return live, _rows_of(live)


def _mask_of_lengths(count, lengths, steps):
    live = _is_longer(count, lengths, steps)
    return live, _rows_of(live)


def _spread(data, live, row):
    """Return rows as a padded batch of the two dims of a mask."""
    return _take_rows(data, row).reshape(*shape_of(live), *shape_of(data)[1:])


def padded_steps(packed):
    """Return (steps of a packed sequence as a padded batch (T, B, ...), mask (T, B) of real steps). Other steps are copies."""
    live, row = _live(packed)
    return _spread(packed.data, live, row), live


def packed_rows(padded, live, count):
    """Return the `count` real steps of a padded batch (T, B, ...)."""
    steps, batch = shape_of(live)
    at, = ix.nonzero(live.reshape(-1), count=count)
    return _take_rows(padded.reshape(steps * batch, *shape_of(padded)[2:]), at)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Return (padded batch, lengths): the inverse of pack_padded_sequence."""
    steps = shape_of(sequence.batch_sizes)[0]
    if total_length is not None and total_length < steps:
        raise ArgumentError(f"total_length must be at least the longest length {steps}, got {total_length}")
    (live, row), back = _live(sequence), sequence.unsorted_indices
    lengths = live.sum(0)
    if total_length is not None:
        live, row = on_arrays(_mask_of_lengths, lengths, total_length)
    padded = _spread(sequence.data, live, row)
    if back is not None:
        padded, lengths = FUNCTIONS["index_select"](padded, 1, back), _take_rows(lengths, back)
        live = on_arrays(_is_longer, lengths, shape_of(live)[0])
    padded = _with_padding(padded, live, padding_value)
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def _with_padding(padded, live, value):
    """Return a batch whose first two dims are those of `live`, with a value where this is false."""
    shape = shape_of(padded)
    mask = expand(reshape(live.to(padded.device), shape=(*shape[:2], *(1,) * (len(shape) - 2))), shape=shape)
    return ew.where(mask, padded, float(value) if padded.dtype.is_inexact else value)


def _mask_of_rows(count, lengths, longest, is_left):
    """Return (mask (B, T) of the real steps of padded sequences, the row of each place)."""
    position = longest - 1 - count(longest) if is_left else count(longest)
    live = lengths[:, None] > position
    return live, _rows_of(live)


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences (L, ...) of different lengths, padded with a value."""
    if isinstance(sequences, Tensor):
        sequences = list(sequences)
    if padding_side not in ("left", "right"):
        raise unknown_choice("padding_side", padding_side, ("left", "right"))
    lengths = FUNCTIONS["tensor"]([shape_of(s)[0] for s in sequences])
    longest = _longest(lengths)
    if not longest:
        return FUNCTIONS["stack"](sequences, 0 if batch_first else 1)
    live, row = on_arrays(_mask_of_rows, lengths, longest, padding_side == "left")
    padded = _with_padding(_spread(FUNCTIONS["cat"](sequences), live, row), live, padding_value)
    return padded if batch_first else padded.transpose(0, 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """Return the sequences of a padded batch."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [padded_sequences[i, :n] for i, n in enumerate(as_array_tensor(lengths).tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack sequences (L, ...) of different lengths."""
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """Return the sequences of a packed batch."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
