"""Batches that are rows of tensors, taken at once instead of one sample after the other."""

import numpy as np

from ..core.state import tls
from ..core.tensor import Tensor, wrap
from .collate import Memory
from .dataset import Subset, TensorDataset


def rows_at_once(dataset, indices) -> list | None:
    """What `default_collate` makes of some samples of a TensorDataset, or of a Subset of one; None of any other, and where a
    sample would have a history, is not there, or is recorded."""
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
