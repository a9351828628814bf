"""What users call: arguments as PyTorch has them, turned into calls of operator records."""

from .. import printing
from . import (
    autograd, context, conv, convert, creation, einsum, elementwise, gather, image, indexing, info, join, legacy,
    linalg, matrix, nn, norm, operators, order, pool, random, reduce, restride, scan, shape, sort, sparse, statistics,
)

__all__ = [
    "autograd", "context", "conv", "convert", "creation", "einsum", "elementwise", "gather", "image",
    "indexing", "info", "join", "legacy", "linalg", "matrix", "nn", "norm", "operators", "order", "pool", "printing",
    "random", "reduce", "restride", "scan", "shape", "sort", "sparse", "statistics",
]
