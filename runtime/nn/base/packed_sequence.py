"""Batches of sequences of different lengths: padded, or packed without padding."""

from collections import namedtuple

import numpy as np

from ....ir import dtype as dt
from ....ir.errors import ArgumentError, ShapeError
from ....ir.ops.core import elementwise as ew
from ....ir.ops.core.shape import expand, reshape
from ...api.register.register import FUNCTIONS
from ...api.views.tensor_factories import created
from ...core.creation import as_array_tensor
from ...core.tensor import Tensor, wrap

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
    order = permutation.numpy(force=True)
    inverse = np.empty_like(order)
    inverse[order] = np.arange(order.size)
    return created(wrap(inverse)).to(permutation.device)


def _batch_sizes(lengths):
    """Return the batch size of each step, for descending lengths."""
    steps = int(lengths[0]) if len(lengths) else 0
    return np.array([(lengths > t).sum() for t in range(steps)], np.int64)


def _lengths(batch_sizes):
    first = int(batch_sizes[0]) if len(batch_sizes) else 0
    return np.array([(batch_sizes > i).sum() for i in range(first)], np.int64)


def _take_rows(x, index):
    return FUNCTIONS["index_select"](x, 0, created(wrap(np.ascontiguousarray(index))).to(x.device))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack a padded batch (T, B, ...); lengths must be descending unless enforce_sorted=False."""
    lengths = np.asarray(lengths.numpy(force=True) if isinstance(lengths, Tensor) else lengths, np.int64).reshape(-1)
    order = None
    if not enforce_sorted:
        order = np.argsort(-lengths, kind="stable")
        lengths = lengths[order]
    elif (np.diff(lengths) > 0).any():
        raise ArgumentError("pack_padded_sequence takes lengths that fall; pass enforce_sorted=False for any order")
    if batch_first:
        input = input.transpose(0, 1)
    if input.ndim < 2 or len(lengths) != input.shape[1]:
        raise ShapeError(f"pack_padded_sequence takes one length for each sequence, got {len(lengths)} for {input.aval}")
    if (lengths <= 0).any() or (lengths > input.shape[0]).any():
        raise ArgumentError(f"lengths must be from 1 to {input.shape[0]}, got {lengths.tolist()}")
    sizes = _batch_sizes(lengths)
    picked = np.arange(input.shape[1]) if order is None else order
    at = np.concatenate([t * input.shape[1] + picked[:n] for t, n in enumerate(sizes)])
    data = _take_rows(input.reshape(input.shape[0] * input.shape[1], *input.shape[2:]), at)
    return PackedSequence(data, created(wrap(sizes)), None if order is None else created(wrap(order)).to(data.device))


def padded_steps(data, batch_sizes, total=None):
    """Return (steps as a padded batch (T, B, ...) with zeros, mask (T, B) of real steps as an array)."""
    sizes = np.asarray(batch_sizes, np.int64)
    batch = int(sizes[0]) if len(sizes) else 0
    steps = len(sizes) if total is None else total
    live = np.zeros((steps, batch), bool)
    live[:len(sizes)] = np.arange(batch) < sizes[:, None]
    at = np.zeros((steps, batch), np.int64)
    at[live] = np.arange(int(sizes.sum()))
    padded = _take_rows(data, at.reshape(-1)).reshape(steps, batch, *data.shape[1:])
    return padded, live


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """Return (padded batch, lengths): the inverse of pack_padded_sequence."""
    sizes = sequence.batch_sizes.numpy()
    if total_length is not None and total_length < len(sizes):
        raise ArgumentError(f"total_length must be at least the longest length {len(sizes)}, got {total_length}")
    padded, live = padded_steps(sequence.data, sizes, total_length)
    shape = padded.shape
    mask = expand(reshape(created(wrap(live)).to(padded.device), shape=(*live.shape, *(1,) * (len(shape) - 2))), shape=shape)
    padded = ew.where(mask, padded, float(padding_value) if padded.dtype.is_inexact else padding_value)
    lengths = _lengths(sizes)
    if sequence.unsorted_indices is not None:
        back = sequence.unsorted_indices
        padded, lengths = FUNCTIONS["index_select"](padded, 1, back), lengths[back.numpy(force=True)]
    return (padded.transpose(0, 1) if batch_first else padded), created(wrap(lengths))


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Stack sequences (L, ...) of different lengths, padded with a value."""
    if isinstance(sequences, Tensor):
        sequences = list(sequences)
    if padding_side not in ("left", "right"):
        raise ArgumentError(f"padding_side must be 'left' or 'right', got {padding_side!r}")
    longest = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        gap = longest - s.shape[0]
        if gap:
            filler = FUNCTIONS["full"]((gap, *s.shape[1:]), padding_value, dtype=s.dtype, device=s.device)
            s = FUNCTIONS["cat"]([s, filler] if padding_side == "right" else [filler, s])
        rows.append(s)
    return FUNCTIONS["stack"](rows, 0 if batch_first else 1)


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
