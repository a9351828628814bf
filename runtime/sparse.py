"""`ingot.sparse`: functions of sparse matrices."""

from .api.sparse import SparseTensor, addmm, mm, sum
from .api.sparse_softmax import log_softmax, softmax

__all__ = ["SparseTensor", "addmm", "log_softmax", "mm", "softmax", "sum"]
