"""`ingot.sparse`: functions of sparse matrices."""

from .api.sparse import SparseTensor, addmm, mm, sum

__all__ = ["SparseTensor", "addmm", "mm", "sum"]
