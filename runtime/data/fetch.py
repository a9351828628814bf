"""Fetchers of batches, and the random state of datasets in workers."""

import random
from typing import Any

import numpy as np
import numpy.random

from ...ir.errors import ArgumentError
from ..core.random import default_generator
from ..core.tensor import Tensor, wrap
from ..state.mode import tls
from .collate import Memory, default_collate
from .dataset import Subset, TensorDataset, several
from .sampler import drawn_seed

_WORD = 2 ** 64


class Exhausted(Exception):
    """An iterable dataset has no more batches."""


class MapFetcher:
    """Fetcher of batches from a dataset with indices."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.dataset, self.batched, self.collate_fn = dataset, batched, collate_fn

    def at_once(self, index):
        """Return the batch if it is rows of tensors and no user code takes part; else None."""
        return rows_at_once(self.dataset, index) if self.batched and self.collate_fn is default_collate else None

    def fetch(self, index):
        """Return the batch of a list of indices, or the sample of one index."""
        samples = several(self.dataset, index) if self.batched else self.dataset[index]
        if self.batched and self.collate_fn is default_collate and len(samples) != len(index):
            raise ArgumentError(f"{type(self.dataset).__name__}.__getitems__ returned {len(samples)} samples for {len(index)} "
                                "indices; what is a batch already needs a collate_fn of its own")
        return self.collate_fn(samples)


class IterableFetcher:
    """Fetcher of batches from an iterable dataset."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.source = iter(dataset)
        self.batched, self.collate_fn, self.drop_last = batched, collate_fn, drop_last
        self.ended = False

    def at_once(self, index):
        """Return None: samples have no indices."""
        return

    def fetch(self, index):
        """Return the next batch, of len(index) samples; raise Exhausted after the last."""
        if self.ended:
            raise Exhausted
        return self.collate_fn(self._several(len(index)) if self.batched else self._one())

    def _one(self):
        try:
            return next(self.source)
        except StopIteration:
            raise Exhausted from None

    def _several(self, count):
        samples = []
        for _ in range(count):
            try:
                samples.append(next(self.source))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < count):
            raise Exhausted
        return samples


FETCHERS: dict[str, Any] = {"map": MapFetcher, "iterable": IterableFetcher}


def _mixed(base: int, number: int) -> int:
    """Return a distinct int64 seed for each number (the finaliser of splitmix64)."""
    x = (base + (number + 1) * 0x9E3779B97F4A7C15) % _WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % _WORD
    return (x ^ (x >> 31)) >> 1


class _IngotGenerator:
    """Access to ingot's default generator."""

    seed, place = default_generator.manual_seed, staticmethod(lambda: default_generator.place)
    word = staticmethod(drawn_seed)


class _PythonGenerator:
    """Access to the generator of the module random."""

    seed, place = random.seed, staticmethod(random.getstate)
    word = staticmethod(lambda: random.getrandbits(64))


class _NumpyGenerator:
    """Access to NumPy's global generator."""

    @staticmethod
    def seed(word):
        """Seed it; seeds have 32 bits."""
        numpy.random.seed(word % 2 ** 32)

    @staticmethod
    def place():
        """Return an identity of its state."""
        _, words, at, *rest = numpy.random.get_state()
        return words.tobytes(), at, *rest

    word = staticmethod(lambda: int(numpy.random.randint(2 ** 63)))


class WorkerSeeds:
    """Global random state of a worker: a batch gets the same numbers in any worker.

    Each of the three generators is seeded from a word mixed with the number of the batch. The word is that of the pass, which
    the parent drew from ingot's generator, or one drawn after `worker_init_fn` seeded the generator.
    """

    def __init__(self, seed: int):
        self.own: dict = {}              # generators that worker_init_fn has seeded -> their words
        for g in _GENERATORS:
            g.seed(seed)

    def initialised_by(self, init):
        """Run the user's init function, and note which generators it seeds."""
        before = [g.place() for g in _GENERATORS]
        init()
        self.own = {g: g.word() for g, place in zip(_GENERATORS, before) if g.place() != place}

    def plant(self, epoch: int, base: int, number: int):
        """Seed the generators for a batch of a pass with word `base`."""
        for g in _GENERATORS:
            g.seed(_mixed(_mixed(self.own[g], epoch) if g in self.own else base, number))


_GENERATORS: tuple[Any, ...] = (_IngotGenerator, _PythonGenerator, _NumpyGenerator)


def rows_at_once(dataset, indices) -> list | None:
    """Return `default_collate` of some samples of a TensorDataset, or of a Subset of one. Return None for other datasets, and
    if a sample would have a history, does not exist, or is recorded."""
    while type(dataset) is Subset:
        indices, dataset = [dataset.indices[i] for i in indices], dataset.dataset
    if type(dataset) is not TensorDataset or tls.m.special or not all(map(_is_plain, dataset.tensors)):
        return None
    at, length = np.array(indices), len(dataset)
    if at.ndim != 1 or at.dtype.kind != "i" or not at.size or at.min() < -length or at.max() >= length:
        return None
    return [wrap(_taken(t._a, at % length)) for t in dataset.tensors]


def _is_plain(t) -> bool:
    return type(t) is Tensor and t._node is None and t._a.__class__ is np.ndarray and t._a.ndim > 0


def _taken(a, at):
    out = Memory.empty((at.size, *a.shape[1:]), a.dtype)
    return np.take(a, at, axis=0, out=out, mode="clip")
