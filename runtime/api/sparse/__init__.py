"""Sparse tensors: what they are (`structure.py`, `compressed.py`), how they are made (`making.py`), what functions do to
them."""

from . import conversions, elementwise, shapes
from .compressed import CompressedTensor
from .coordinates import CooTensor
from .gapped import GAP, GappedRows
from .making import Invariants, sparse_coo_tensor, spdiags
from .products import addmm, hspmm, mm, sampled_addmm, smm, sspaddmm
from .reductions import log_softmax, softmax
from .structure import SparseTensor

__all__ = ["GAP", "CompressedTensor", "CooTensor", "GappedRows", "Invariants", "SparseTensor", "addmm", "conversions",
           "elementwise", "hspmm", "log_softmax", "mm", "sampled_addmm", "shapes", "smm", "softmax", "sparse_coo_tensor",
           "spdiags", "sspaddmm"]
