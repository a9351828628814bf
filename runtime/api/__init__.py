"""What users call: arguments as PyTorch has them, turned into calls of operator records."""

from .. import printing
from . import (
    autograd, context, conv, convert, creation, einsum, elementwise, gather, image, indexing, join, legacy,
    linalg, nn, norm, operators, pool, random, reduce, restride, scan, shape, sort, statistics,
)

__all__ = [
    "autograd", "context", "conv", "convert", "creation", "einsum", "elementwise", "gather", "image",
    "indexing", "join", "legacy", "linalg", "nn", "norm", "operators", "pool", "printing", "random", "reduce",
    "restride", "scan", "shape", "sort", "statistics",
]
