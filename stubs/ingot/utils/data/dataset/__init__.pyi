"""Datasets: collections of samples by index, or streams of samples."""

# Made by `make stubs` from the live package; not edited by hand.

import typing as _t
from ingot.utils.data import ChainDataset as ChainDataset
from ingot.utils.data import ConcatDataset as ConcatDataset
from ingot.utils.data import Dataset as Dataset
from ingot.utils.data import IterableDataset as IterableDataset
from ingot.utils.data import StackDataset as StackDataset
from ingot.utils.data import Subset as Subset
from ingot.utils.data import TensorDataset as TensorDataset
from ingot.utils.data import random_split as random_split

T_co = _t.TypeVar("T_co")
def several(dataset: _t.Any, indices: _t.Any) -> _t.Any:
    """Return the samples of several indices; through the dataset's `__getitems__` if it has that."""
