"""What users call: arguments as PyTorch has them, turned into calls of operator records."""

from . import autograd, context, convert, creation, einsum, elementwise, gather, indexing, join, linalg, operators, random, reduce, restride, shape

__all__ = ["autograd", "context", "convert", "creation", "einsum", "elementwise", "gather", "indexing", "join", "linalg", "operators", "random", "reduce", "restride", "shape"]
