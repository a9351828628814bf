"""Datasets: collections of samples by index, or streams of samples."""

import bisect
import math
from typing import Generic, TypeVar

import numpy as np

from ...ir.draw.tables import COLUMNS, clipped, described, length_of
from ...ir.errors import ArgumentError, DTypeError
from ...ir.ops.core.shape import select
from ..api.register.register import FUNCTIONS
from ..core.dispatch import as_view
from ..core.tensor import Tensor
from ..state.messages import warn
from ..state.mode import tls

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base of datasets with samples by index; most also have a length. A sum of two joins them."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__()")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Base of datasets that yield samples in order."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")

    def __add__(self, other):
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Dataset of tuples: sample i has the i-th entries of some tensors."""

    def __init__(self, *tensors):
        if any(t.shape[:1] != tensors[0].shape[:1] for t in tensors):
            raise ArgumentError(f"TensorDataset takes tensors of one length, got {', '.join(str(t.aval) for t in tensors)}")
        self.tensors = tensors

    def __getitem__(self, index):
        if type(index) is int and not tls.m.special:
            return tuple([_entry(t, index) for t in self.tensors])
        return tuple([t[index] for t in self.tensors])

    def __len__(self):
        return self.tensors[0].shape[0]

    def __repr__(self):
        return clipped(f"TensorDataset({', '.join([repr(t.aval) for t in self.tensors])})", COLUMNS)


def _entry(t: Tensor, index: int) -> Tensor:
    """Return `t[index]` by a short path for tensors without a gradient."""
    a = t._a
    if type(t) is not Tensor or t._node is not None or a.__class__ is not np.ndarray or not a.ndim:
        return t[index]
    n = len(a)
    if not -n <= index < n:
        return t[index]
    return as_view(t, a[index, ...], (t._path, select, {"dim": 0, "index": index if index >= 0 else index + n}))


class StackDataset(Dataset):
    """Dataset of tuples (dicts for named datasets): sample i has the i-th samples of some datasets."""

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ArgumentError("StackDataset takes datasets either by position or by name, at least one")
        self.datasets = args or kwargs
        self._length = len(args[0] if args else next(iter(kwargs.values())))
        if any(len(d) != self._length for d in self._each()):
            raise ArgumentError(f"StackDataset takes datasets of one length, got {[len(d) for d in self._each()]}")

    def _each(self):
        return self.datasets if isinstance(self.datasets, tuple) else self.datasets.values()

    def _packed(self, parts):
        return tuple(parts) if isinstance(self.datasets, tuple) else dict(zip(self.datasets, parts))

    def __getitem__(self, index):
        return self._packed([d[index] for d in self._each()])

    def __getitems__(self, indices):
        """Return the samples of several indices."""
        found = [several(d, indices) for d in self._each()]
        if any(len(samples) != len(indices) for samples in found):
            raise ArgumentError(f"StackDataset: __getitems__ of its datasets returned {[len(samples) for samples in found]} "
                                f"samples for {len(indices)} indices")
        return [self._packed(parts) for parts in zip(*found)]

    def __len__(self):
        return self._length


def several(dataset, indices):
    """Return the samples of several indices; through the dataset's `__getitems__` if it has that."""
    at_once = getattr(dataset, "__getitems__", None)
    return [dataset[i] for i in indices] if not callable(at_once) else at_once(indices)


class ConcatDataset(Dataset[T_co]):
    """Datasets joined one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("ConcatDataset needs at least one dataset")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise DTypeError("ConcatDataset does not take iterable datasets; use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence) -> list:
        """Return the running sum of the lengths."""
        sums, total = [], 0
        for dataset in sequence:
            total += len(dataset)
            sums.append(total)
        return sums

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __repr__(self):
        return described(self, length=len(self), datasets=self.datasets)

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise IndexError(f"index {index} is out of range for {len(self)} samples")
            index += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, index)
        if which == len(self.datasets):
            raise IndexError(f"index {index} is out of range for {len(self)} samples")
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


class ChainDataset(IterableDataset):
    """Iterable datasets joined one after the other."""

    def __init__(self, datasets):
        super().__init__()
        self.datasets = datasets

    def _checked(self):
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise DTypeError(f"ChainDataset takes iterable datasets, got {type(d).__name__}; use ConcatDataset")
            yield d

    def __iter__(self):
        for d in self._checked():
            yield from d

    def __len__(self):
        return sum(len(d) for d in self._checked())


class Subset(Dataset[T_co]):
    """Samples of a dataset at some indices."""

    def __init__(self, dataset, indices):
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        """Return the samples of several indices."""
        return several(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)

    def __repr__(self):
        return described(self, length=length_of(self), dataset=self.dataset)


def random_split(dataset, lengths, generator=None) -> list:
    """Return random parts of a dataset without overlap; `lengths` are counts, or fractions that sum to 1."""
    total = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _counts(lengths, total)
    if sum(lengths) != total:
        raise ArgumentError(f"random_split: the lengths sum to {sum(lengths)}, but the dataset has {total} samples")
    order = FUNCTIONS["randperm"](total, generator=generator).tolist()
    ends = [sum(lengths[:i + 1]) for i in range(len(lengths))]
    return [Subset(dataset, order[end - n:end]) for end, n in zip(ends, lengths)]


def _counts(fractions, total) -> list:
    """Return whole numbers near the fractions; the remainder goes to the first ones."""
    if any(not 0 <= f <= 1 for f in fractions):
        raise ArgumentError(f"random_split takes fractions between 0 and 1, got {list(fractions)}")
    counts = [math.floor(total * f) for f in fractions]
    for i in range(total - sum(counts)):
        counts[i % len(counts)] += 1
    for i, n in enumerate(counts):
        if n == 0:
            warn(f"random_split: part {i} is empty")
    return counts
