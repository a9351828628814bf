"""Fetching batches, and the random numbers that datasets see while they do."""

import random
from contextlib import contextmanager
from typing import Any

import numpy.random

from ...ir.errors import ArgumentError
from ..random import default_generator
from .collate import default_collate
from .dataset import several
from .rows import rows_at_once
from .sampler import drawn_seed

_WORD = 2 ** 64
numpy_random: Any = numpy.random     # its stub leaves out the functions about bit generators
_SPARE = numpy_random.MT19937(0)      # stands in for numpy's global bits while a batch is fetched


class Exhausted(Exception):
    """An iterable dataset has no more batches."""


class MapFetcher:
    """Batches of a dataset with indices."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.dataset, self.batched, self.collate_fn = dataset, batched, collate_fn

    def at_once(self, index):
        """The batch, where it is rows of tensors, so that no code of the user's has a part in it; None where it is not."""
        return rows_at_once(self.dataset, index) if self.batched and self.collate_fn is default_collate else None

    def fetch(self, index):
        """The batch of a list of indices, or the one sample of an index."""
        samples = several(self.dataset, index) if self.batched else self.dataset[index]
        if self.batched and self.collate_fn is default_collate and len(samples) != len(index):
            raise ArgumentError(f"{type(self.dataset).__name__}.__getitems__ returned {len(samples)} samples for {len(index)} "
                                "indices; what is a batch already needs a collate_fn of its own")
        return self.collate_fn(samples)


class IterableFetcher:
    """Batches of an iterable dataset."""

    def __init__(self, dataset, batched, collate_fn, drop_last):
        self.source = iter(dataset)
        self.batched, self.collate_fn, self.drop_last = batched, collate_fn, drop_last
        self.ended = False

    def at_once(self, index):
        """None: samples come as they come."""
        return

    def fetch(self, index):
        """The next batch, of as many samples as `index` is long; raises Exhausted behind the last."""
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
    """A seed of its own for each number (the finaliser of splitmix64)."""
    x = (base + (number + 1) * 0x9E3779B97F4A7C15) % _WORD
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % _WORD
    return x ^ (x >> 31)


class Seeds:
    """The seeds of one pass over a loader: batch number b has the same ones whichever process fetches it.

    One seed, drawn from ingot's generator, stands behind ingot's, Python's and numpy's global random numbers.
    """

    def __init__(self, generator=None):
        self.base = drawn_seed(generator)

    def plant(self, number: int):
        """Seeds the global generators of this process for one batch."""
        seed = _mixed(self.base, number)
        default_generator.manual_seed(seed)
        random.seed(seed)
        numpy_random.seed(seed >> 32)

    @contextmanager
    def planted(self, number: int):
        """Seeds for one batch inside; afterwards the generators go on as if nothing had been drawn."""
        ours, pythons, numpys = default_generator.get_state(), random.getstate(), numpy_random.get_bit_generator()
        numpy_random.set_bit_generator(_SPARE)
        self.plant(number)
        try:
            yield
        finally:
            default_generator.set_state(ours)
            random.setstate(pythons)
            numpy_random.set_bit_generator(numpys)
