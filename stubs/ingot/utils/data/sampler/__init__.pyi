"""Samplers: orders of a dataset's indices."""

# Made by `make stubs` from the live package; not edited by hand.

import builtins as _b
import typing as _t
from ingot import Generator as _Generator
from ingot.utils.data import BatchSampler as BatchSampler
from ingot.utils.data import RandomSampler as RandomSampler
from ingot.utils.data import Sampler as Sampler
from ingot.utils.data import SequentialSampler as SequentialSampler
from ingot.utils.data import SubsetRandomSampler as SubsetRandomSampler
from ingot.utils.data import WeightedRandomSampler as WeightedRandomSampler

T_co = _t.TypeVar("T_co")
def drawn_seed(generator: _Generator | None = None) -> _b.int:
    """Return a 64-bit seed from a generator (by default the default one)."""
