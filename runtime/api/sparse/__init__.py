"""Sparse tensors: classes (`sparse_tensor.py`, `compressed_rows.py`), factories (`sparse_factories.py`), and functions on
them."""

from . import compressed_rows as conversions
from . import sparse_elementwise as elementwise
from . import sparse_shapes as shapes
from .compressed_rows import CompressedTensor
from .coo import GAP, CooTensor, GappedRows
from .sparse_factories import checks_claims, sparse_coo_tensor, spdiags
from .sparse_products import addmm, hspmm, mm, sampled_addmm, smm, sspaddmm
from .sparse_reductions import log_softmax, softmax
from .sparse_tensor import SparseTensor

__all__ = ["GAP", "CompressedTensor", "CooTensor", "GappedRows", "SparseTensor", "addmm", "checks_claims", "conversions",
           "elementwise", "hspmm", "log_softmax", "mm", "sampled_addmm", "shapes", "smm", "softmax", "sparse_coo_tensor",
           "spdiags", "sspaddmm"]
