"""What users call: arguments as PyTorch has them, turned into calls of operator records."""

from .. import printing
from . import autograd, context, convert, creation, einsum, elementwise, gather, indexing, join, linalg, nn, operators, random, reduce, restride, shape

__all__ = ["autograd", "context", "convert", "creation", "einsum", "elementwise", "gather", "indexing", "join", "linalg", "nn", "operators", "printing", "random", "reduce", "restride", "shape"]
