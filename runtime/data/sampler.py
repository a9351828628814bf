"""Samplers: orders of a dataset's indices."""

import itertools
from typing import Generic, TypeVar

from ...ir import dtype as dt
from ...ir.draw.tables import described, length_of
from ...ir.errors import ArgumentError, DTypeError
from ..api.register.register import FUNCTIONS
from ..core.random import Generator, draw_key

T_co = TypeVar("T_co", covariant=True)


def drawn_seed(generator=None) -> int:
    """Return a 64-bit seed from a generator (by default the default one)."""
    seed, call = draw_key(generator).tolist()        # (which a recorder hears of)
    return (seed * 0x9E3779B97F4A7C15 + (call + 1) * 0xD1B54A32D192ED03) % 2 ** 64


class Sampler(Generic[T_co]):
    """Base of samplers: iterables of indices (or lists of indices). `data_source` is ignored: subclasses keep what they
    need."""

    def __init__(self, data_source=None):
        pass

    def __repr__(self):
        return described(self, length=length_of(self))

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__()")


class SequentialSampler(Sampler):
    """Sampler of 0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """Sampler of all indices in random order, or of `num_samples` drawn with replacement."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise DTypeError(f"replacement must be a bool, got {replacement!r}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            why = ": the dataset has no samples" if num_samples is None else ""
            raise ArgumentError(f"num_samples must be a positive integer, got {self.num_samples!r}{why}")

    @property
    def num_samples(self) -> int:
        """Number of indices of one pass."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        generator = Generator().manual_seed(drawn_seed()) if self.generator is None else self.generator
        while left > 0:
            if self.replacement:
                drawn = FUNCTIONS["randint"](0, n, (min(left, 4096),), generator=generator).tolist()
            else:
                drawn = FUNCTIONS["randperm"](n, generator=generator).tolist()[:left]
            if not drawn:
                break
            yield from drawn
            left -= len(drawn)

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Sampler of the given indices in random order."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in FUNCTIONS["randperm"](len(self.indices), generator=self.generator).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Sampler of indices drawn with the given weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ArgumentError(f"num_samples must be a positive integer, got {num_samples!r}")
        if not isinstance(replacement, bool):
            raise ArgumentError(f"replacement must be a bool, got {replacement!r}")
        weights = FUNCTIONS["as_tensor"](weights, dtype=dt.float64)
        if weights.ndim != 1:
            raise ArgumentError(f"weights must be one row, got shape {list(weights.shape)}")
        self.weights, self.num_samples, self.replacement, self.generator = weights, num_samples, replacement, generator

    def __iter__(self):
        yield from FUNCTIONS["multinomial"](self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Sampler of lists of `batch_size` indices of another one."""

    def __init__(self, sampler, batch_size, drop_last):
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ArgumentError(f"batch_size must be a positive integer, got {batch_size!r}")
        if not isinstance(drop_last, bool):
            raise ArgumentError(f"drop_last must be a bool, got {drop_last!r}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
